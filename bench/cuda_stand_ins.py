# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for the CUDA libraries that PyPI's torch is linked against, so that it loads, and computes on the CPU, where
they are not: 0.4 MB in place of 2.5 GB. Each says that there is no device.

usage: cuda_stand_ins.py FOLDER, by the Python whose torch is meant; then run that Python with FOLDER in LD_LIBRARY_PATH.
"""

import re
import subprocess
import sys
import sysconfig
from pathlib import Path

SITE = Path(sysconfig.get_paths()["purelib"])
SYSTEM = [Path(p) for p in ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib")]
NO_DEVICE = 100
ASKED_FOR_DEVICES = ("cudaGetDeviceCount", "cudaGetDevice", "cuInit")
# Symbols without a version are placed by how their names begin.
PREFIXES = [("libcudart", ("cuda", "__cuda")), ("libcublasLt", ("cublasLt",)), ("libcublas", ("cublas",)),
            ("libcudnn", ("cudnn",)), ("libcusparseLt", ("cusparseLt",)), ("libcusparse", ("cusparse",)),
            ("libcusolver", ("cusolver",)), ("libcufft", ("cufft",)), ("libcufile", ("cuFile", "cufile")),
            ("libnvrtc", ("nvrtc",)), ("libnccl", ("nccl",)), ("libcupti", ("cupti",)), ("libnvshmem", ("nvshmem",)),
            ("libnvJitLink", ("nvJitLink",)), ("libcuda.", ("cu",))]


def lines(*argv):
    return subprocess.run([*map(str, argv)], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()


def needed(library):
    """Names of the libraries that it is linked against."""
    return re.findall(r"NEEDED.*\[(.*?)\]", "\n".join(lines("readelf", "-d", library)))


def versions_wanted(library):
    """(library's name, version) pairs."""
    name = None
    for line in lines("readelf", "-V", "-W", library):
        if found := re.search(r"File: (\S+)", line):
            name = found[1]
        if (found := re.search(r"Name: (\S+)\s+Flags", line)) and name:
            yield name, found[1]


def symbols(library, which):
    for line in lines("nm", "-D", which, library):
        name, _, version = line.split()[-1].partition("@")
        yield name, version.lstrip("@")


def is_there(name, own):
    return name in own or any((folder / name).exists() for folder in SYSTEM)


def home_of(name, version, by_version, missing):
    if version in by_version:
        return by_version[version]
    for library, prefixes in PREFIXES:
        if name.startswith(prefixes):
            return next((m for m in missing if m.startswith(library)), None)
    return None


def build(folder, name, functions, versions):
    """functions: {name: version}"""
    source, script = folder / f"{name}.c", folder / f"{name}.map"
    source.write_text("".join(
        f"long {f}(void) {{ return {NO_DEVICE if f in ASKED_FOR_DEVICES else 0}; }}\n" for f in sorted(functions)))
    script.write_text("".join(
        f"{v} {{ global: {' '.join(f + ';' for f in sorted(functions) if functions[f] == v)} }};\n" for v in sorted(versions)))
    subprocess.run(["cc", "-shared", "-fPIC", "-w", "-fno-builtin", f"-Wl,-soname,{name}", "-o", folder / name, source,
                    *([f"-Wl,--version-script={script}"] if versions else [])], check=True)


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    libraries = [*(SITE / "torch/lib").glob("*.so*"), *(SITE / "torch").glob("*.so")]
    own = {p.name for p in libraries}
    missing = sorted({n for p in libraries for n in needed(p) if not is_there(n, own)})
    users = [p for p in libraries if set(needed(p)) & set(missing)]
    by_version = {version: name for p in users for name, version in versions_wanted(p) if name in missing}
    defined = {name for p in libraries for name, _ in symbols(p, "--defined-only")}
    functions = {name: {} for name in missing}
    for name, version in {s for p in users for s in symbols(p, "--undefined-only")}:
        home = None if name in defined else home_of(name, version, by_version, missing)
        if home:
            functions[home][name] = version
    for name in missing:
        wanted = {v for v, home in by_version.items() if home == name} | set(filter(None, functions[name].values()))
        build(folder, name, functions[name], wanted)


if __name__ == "__main__":
    main()

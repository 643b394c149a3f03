# SPDX-License-Identifier: Apache-2.0
"""Lets PyPI's torch run without the 2.5 GB of CUDA libraries that it is linked with: cuda_stubs.py SITE-PACKAGES

Beside torch's libraries, where its RUNPATH finds them, lies then one for each that is missing, whose functions say that
there is no device. Which functions those are, and of which version, is read from torch's own libraries. Each file is
renamed into place, so a killed run is simply run again.
"""

import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

NO_DEVICE = 100  # cudaErrorNoDevice, CUDA_ERROR_NO_DEVICE
SAYS = re.compile(r"(Error|Status|Version)(String|Name)$|GetLastErrorString|nccl.*Error$")


def lines(*argv):
    return subprocess.run([str(a) for a in argv], stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()


def needed(library):
    """Names of the libraries that it is linked with."""
    return [found[1] for line in lines("readelf", "-d", library) if (found := re.search(r"\(NEEDED\).*\[(.*)\]", line))]


def versions(library):
    """{version: name of the library that has it}, of all that it wants."""
    result, name = {}, None
    for line in lines("readelf", "-V", "-W", library):
        if found := re.search(r"\bFile: (\S+)", line):
            name = found[1]
        elif name and (found := re.search(r"\bName: (\S+)", line)):
            result[found[1]] = name
    return result


def symbols(library, which):
    """(name, version or "") of its defined or undefined symbols; what it can do without is left out."""
    for line in lines("nm", "-D", which, library):
        *_, kind, symbol = line.split()
        if kind not in "wv":
            name, _, version = symbol.partition("@")
            yield name, version.lstrip("@")


def wanted(lib):
    """{name of a missing library: {(symbol, version)}}, and {name: all versions that must exist in it}."""
    all_of = sorted(lib.glob("*.so*"))
    here = {path.name for path in all_of}
    defined = {name for path in all_of for name, _ in symbols(path, "--defined-only")}
    system = {line.split()[0] for line in lines("/sbin/ldconfig", "-p") if "=>" in line}
    missing, by_version = defaultdict(set), defaultdict(set)
    for path in all_of:
        lacks = [name for name in needed(path) if name not in here | system]
        of = versions(path)
        for name in lacks:
            missing[name] |= set()
            by_version[name] |= {v for v, file in of.items() if file == name}
        for symbol, version in symbols(path, "--undefined-only"):
            # Without a version it may be in any; the interpreter has Py*.
            owner = of.get(version) if version else lacks and lacks[0]
            if owner in lacks and symbol not in defined and (version or not re.match("_?Py", symbol)):
                missing[owner].add((symbol, version))
    return missing, by_version


def make(lib, name, of_library, of_versions):
    source = "".join(f'const char *{s}(void) {{ return "no CUDA here"; }}\n' if SAYS.search(s) else
                     f"long {s}(void) {{ return {NO_DEVICE}; }}\n" for s, _ in sorted(of_library))
    script = "".join(f"{v} {{ global: {' '.join(s + ';' for s, of in sorted(of_library) if of == v)} }};\n"
                     for v in sorted(of_versions))
    with tempfile.TemporaryDirectory(dir=lib) as work:
        made, c, ld = (Path(work) / suffix for suffix in ("made.so", "stub.c", "stub.map"))
        c.write_text(source)
        ld.write_text(script)
        subprocess.run(["gcc", "-shared", "-fPIC", "-w", "-O1", "-fno-builtin", f"-Wl,-soname,{name}", "-o", made, c,
                        *([f"-Wl,--version-script,{ld}"] if script else [])], check=True)
        made.rename(lib / name)


def main():
    lib = Path(sys.argv[1]) / "torch/lib"
    for stub in lib.glob("tmp*"):
        subprocess.run(["rm", "-rf", stub], check=True)
    missing, by_version = wanted(lib)
    for name, of_library in missing.items():
        make(lib, name, of_library, by_version[name])
    print(f"cuda_stubs: {len(missing)} libraries, {sum(map(len, missing.values()))} functions", file=sys.stderr)


if __name__ == "__main__":
    main()

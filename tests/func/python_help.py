# SPDX-License-Identifier: Apache-2.0
"""For tests of the Python package: the package of a build, scripts that run with it, digests as `olddog read` makes them.

Tests import the package of a build without sanitizers (OLDDOG_BUILD_2 when OLDDOG_BUILD has them), with olddog-loader and
olddog-worker of OLDDOG_BUILD; scripts in processes of their own have all of OLDDOG_BUILD.
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import BUILD, ROOT, _no_reports
from test_read import add


def _sanitized(folder):
    program = folder / "olddog-loader"
    if not program.exists():
        return False
    return "libasan" in subprocess.run(["readelf", "-d", program], stdout=subprocess.PIPE, text=True, check=True).stdout


def _import():
    folders = [BUILD]
    if os.environ.get("OLDDOG_BUILD_2"):
        folders.append((ROOT / os.environ["OLDDOG_BUILD_2"]).resolve())
    for folder in folders:
        if (folder / "python/olddog/loader.py").exists() and not _sanitized(folder):
            sys.path.insert(0, str(folder / "python"))
            import olddog
            return olddog
    pytest.skip(f"no build without sanitizers has the Python package ({', '.join(map(str, folders))}): configure one with "
                "-Dpython=enabled and name it by OLDDOG_BUILD_2", allow_module_level=True)


for _name in ("OLDDOG_JOB", "SLURM_JOB_ID", "MASTER_ADDR", "MASTER_PORT"):
    os.environ.pop(_name, None)
os.environ["OLDDOG_LIBEXEC"] = str(BUILD)
olddog = _import()


def script_environment(**more):
    """For a process that imports the package of OLDDOG_BUILD."""
    env = {**os.environ, "PYTHONPATH": str(BUILD / "python"), "PYTHONUNBUFFERED": "1", "ASAN_OPTIONS": "detect_leaks=0",
           **more}
    if _sanitized(BUILD):
        # Python itself has no sanitizer, which must be the first library.
        env["LD_PRELOAD"] = subprocess.run(["gcc", "-print-file-name=libasan.so"], stdout=subprocess.PIPE, text=True,
                                           check=True).stdout.strip()
    return env


class Script:
    """A Python script under way; ended with the `scripts` fixture at the latest."""

    def __init__(self, text, *args, executable=sys.executable, **env):
        self.popen = subprocess.Popen([executable, "-c", text, *map(str, args)], env=script_environment(**env),
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def line(self):
        """The next line that it prints."""
        text = self.popen.stdout.readline()
        if not text:
            self.end()
            raise AssertionError("the script ended early")
        return text.rstrip("\n")

    def go(self):
        """Answers an input() of the script."""
        self.popen.stdin.write("\n")
        self.popen.stdin.flush()

    def end(self, rc=0):
        """The rest of what it prints."""
        out, err = self.popen.communicate(timeout=120)
        _no_reports(err)
        assert self.popen.returncode == rc, f"exit {self.popen.returncode}\n{out[-2000:]}\n{err[-4000:]}"
        return out


@pytest.fixture
def scripts():
    """scripts(text, *args, **env) starts one."""
    started = []

    def start(*args, **env):
        started.append(Script(*args, **env))
        return started[-1]
    yield start
    for script in started:
        script.popen.kill()
        script.popen.communicate()


def write_spec(path, data, more="", fields=None):
    """A spec with an image, a text and a label; its path."""
    fields = fields or """
  image: {from: jpg, decode: {mode: rgb}, random_resized_crop: 48, hflip: 0.5, normalize: imagenet, dtype: float32, layout: chw}
  text: {from: txt}
  label: {from: cls, as: int}"""
    path.write_text(f"""sources:
  - {{data: '{data}'}}
fields:{fields}
seed: 7
order: {{shuffle: {{window: 60, shards: 4}}}}
{more}
""")
    return path


def digests(batch):
    """{position: a line as of `olddog read --digest=sample`} of a batch's real samples (doc/design/0009)."""
    lines = {}
    for i, position in enumerate(batch.position.tolist()[:batch.n_real]):
        h = hashlib.sha256()
        for name, values in batch.items():
            v = values[i]
            if isinstance(v, str):
                add(h, name, "text", np.frombuffer(v.encode(), np.uint8))
            elif isinstance(v, memoryview):
                add(h, name, "bytes", np.frombuffer(v, np.uint8))
            else:
                v = np.asarray(v)
                add(h, name, "bfloat16" if name in batch.bfloat16 else v.dtype.name, v)
        lines[position] = f"position={position} sha256={h.hexdigest()}"
    return lines

# SPDX-License-Identifier: Apache-2.0
"""Memory does not grow with what is read and written. Of a build without sanitizers, which keep what was freed."""

import os
import subprocess
import sys

import pytest
from conftest import BUILD, ROOT
from hdfs_help import client_env

MB = 1 << 20
SMALL, LARGE = 64 * MB, 320 * MB
MOST, MORE = 48 * MB, 4 * MB  # in all, with two jobs of 8 MiB; for the larger file
# A child's peak counts what its parent had when it was forked, so that the parent is a small one.
PEAK = """
import os, sys
pid = os.fork()
if pid == 0:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.execv(sys.argv[1], sys.argv[1:])
_, status, used = os.wait4(pid, 0)
print(used.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.fixture(scope="module")
def program(sanitized):
    """The one of the two builds that has no sanitizer."""
    if not sanitized:
        return BUILD / "olddog"
    if not os.environ.get("OLDDOG_BUILD_2"):
        pytest.skip("OLDDOG_BUILD_2 is not set: no build without sanitizers")
    return ROOT / os.environ["OLDDOG_BUILD_2"] / "olddog"


def peak_of(program, env, *args):
    """Bytes."""
    done = subprocess.run([sys.executable, "-S", "-c", PEAK, str(program), *map(str, args)], env={**os.environ, **env},
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=300, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return 1024 * int(done.stdout)


@pytest.mark.parametrize("shortcircuit", ["true", "false"])
def test_memory_is_bounded_at_any_length(hdfs, hdfs_dir, tmp_path, program, shortcircuit):
    env = client_env(hdfs, tmp_path / "conf", dfs__replication=1, dfs__blocksize=32 * MB,
                     dfs__client__read__shortcircuit=shortcircuit)
    peaks = {}
    for n in (SMALL, LARGE):
        with open(tmp_path / "x", "wb") as f:
            f.truncate(n)
        url = hdfs_dir.url(f"x{n}")
        for what, args in {"in": ("cp", "-j2", tmp_path / "x", url), "cat": ("cat", url),
                           "out": ("cp", "-j2", url, tmp_path / f"y{n}")}.items():
            peaks[what, n] = peak_of(program, env, *args)
        assert (tmp_path / f"y{n}").stat().st_size == n
        (tmp_path / f"y{n}").unlink()
    assert max(peaks.values()) <= MOST, peaks
    assert all(peaks[what, LARGE] <= peaks[what, SMALL] + MORE for what in ("in", "cat", "out")), peaks

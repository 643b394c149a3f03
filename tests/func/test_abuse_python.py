# SPDX-License-Identifier: Apache-2.0
"""olddog.Loader in long lives: opened and closed over and over, as by notebooks, sweeps and evaluations."""

import os
import signal
from pathlib import Path

from process_help import stop
from python_help import scripts, write_spec  # noqa: F401 (fixture)

OPENING = """
import ctypes, gc, os, sys
import olddog

# Loaders that outlive their parent become children of this process, so that it knows when they have ended, and how.
ctypes.CDLL(None).prctl(36, 1)

def life(n):
    for i in range(n):
        loader = olddog.Loader(sys.argv[1], batch=4, workers=1)
        if i % 4:
            next(iter(loader))
        if i % 2:
            loader.close()
        del loader
        gc.collect()
    statuses = set()
    while True:
        try:
            statuses.add(os.wait()[1])
        except ChildProcessError:
            break
    memory = [int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("RssAnon:")]
    return len(os.listdir("/proc/self/fd")), memory[0], statuses

life(10)
first = life(10)
second = life(int(sys.argv[2]))
print(first[2] == second[2] == {0}, second[0] - first[0], second[1] - first[1])
"""


def test_loaders_that_are_opened_and_closed_leave_nothing(olddog, scripts, set_shards, tmp_path, sanitized):  # noqa: F811
    spec = write_spec(tmp_path / "spec.yaml", f"{set_shards[0]}/*.tar")
    olddog("plan", spec, "-o", "p.plan")
    times = 1000 if os.environ.get("OLDDOG_FULL") == "1" else 20
    ended_well, fds, kilobytes = scripts(OPENING, tmp_path / "p.plan", times).end().split()
    assert ended_well == "True"
    assert int(fds) == 0
    # A sanitizer keeps what was freed.
    assert sanitized or int(kilobytes) < 1024


def test_a_stopped_loader_is_named_while_python_waits_for_it(olddog, scripts, set_shards, tmp_path):  # noqa: F811
    spec = write_spec(tmp_path / "spec.yaml", f"{set_shards[0]}/*.tar")
    script = scripts("""
import ctypes, sys, warnings
import olddog
ctypes.CDLL(None).prctl(36, 1)
warnings.showwarning = lambda message, category, *rest: print(category.__name__, message)
loader = olddog.Loader(sys.argv[1], batch=10, workers=1, epochs=1)
print("opened")
input()
print(sum(len(b.key) for b in loader))
""", spec)
    assert script.line() == "opened"
    pid = script.popen.pid
    (loader,) = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
    stop(loader)
    script.go()
    said = script.line()
    assert said.startswith("Warning ") and f"olddog-loader (process {loader}) is stopped" in said
    os.kill(loader, signal.SIGCONT)
    assert script.end() == "100\n"

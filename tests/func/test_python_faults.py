# SPDX-License-Identifier: Apache-2.0
"""olddog.Loader in trouble: Ctrl-C, fork, killed loaders and workers, ranks that share a loader and leave."""

import json
import os
import select
import signal
import uuid
from pathlib import Path

import pytest
from process_help import is_confined
from python_help import digests, olddog, scripts, write_spec  # noqa: F401 (fixture)

FEW = "\n  label: {from: cls, as: int}"


@pytest.fixture
def spec(set_shards, tmp_path):
    return write_spec(tmp_path / "spec.yaml", f"{set_shards[0]}/*.tar")


@pytest.fixture
def job():
    """A name for a job of this test alone; its loader is ended with the test."""
    name = f"test-{uuid.uuid4()}"
    yield name
    for pid in loaders(name):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def loaders(job):
    """Pids of the job's olddog-loaders."""
    found = []
    for p in Path("/proc").glob("[0-9]*"):
        try:
            argv = (p / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if argv[0].endswith(b"olddog-loader") and job.encode() in argv:
            found.append(int(p.name))
    return found


def the_loader(job):
    """The pid of the one olddog-loader, also while another is being started."""
    while len(found := loaders(job)) != 1:
        pass
    return found[0]


def workers(pid):
    found = []
    for p in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = p.read_text()
        except OSError:
            continue
        if int(text[text.rindex(")") + 2:].split()[1]) == pid:
            found.append(int(p.parent.name))
    return found


def ended(pid_fds):
    """Waits until all have."""
    for fd in pid_fds:
        assert select.select([fd], [], [], 60)[0]
        os.close(fd)


INTERRUPTED = """
import olddog, sys
print("begin")
try:
    for batch in {loader}:
        print("batch", batch.position[0])
        input()
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_ends_the_opening_of_a_slow_store(scripts, set_shards, tmp_path, job):
    spec = write_spec(tmp_path / "slow.yaml", f"file://{set_shards[0]}/*.tar#fault=delay:3600s", fields=FEW)
    script = scripts(INTERRUPTED.format(loader="olddog.Loader(sys.argv[1], job=sys.argv[2])"), spec, job)
    assert script.line() == "begin"
    while not loaders(job):
        assert script.popen.poll() is None
    # One that came between two looks of the script is as good as one that came while it waited.
    script.popen.send_signal(signal.SIGINT)
    assert script.end() == "interrupted\n"


def test_ctrl_c_ends_the_waiting_for_a_batch_which_is_not_lost(scripts, spec, job):
    script = scripts("""
import os, signal, sys
import olddog
loader = olddog.Loader(sys.argv[1], batch=2, workers=1, job=sys.argv[2])
iterator = iter(loader)
print("opened")
input()
try:
    print("waiting")
    while True:
        next(iterator)
except KeyboardInterrupt:
    print("interrupted", loader.consumed)
input()
print(next(iterator).position[0])
""", spec, job)
    assert script.line() == "opened"
    pid = the_loader(job)
    os.kill(pid, signal.SIGSTOP)
    script.go()
    assert script.line() == "waiting"
    script.popen.send_signal(signal.SIGINT)
    said, consumed = script.line().split()
    assert said == "interrupted"
    os.kill(pid, signal.SIGCONT)
    script.go()
    assert script.end() == f"{consumed}\n"


def test_another_signals_handler_runs_and_the_waiting_goes_on(scripts, spec, job):
    script = scripts("""
import os, signal, sys
import olddog
loader = olddog.Loader(sys.argv[1], batch=2, workers=1, job=sys.argv[2])
signal.signal(signal.SIGUSR1, lambda *unused: print("handled"))
print("opened")
input()
print(sum(len(b.key) for b in loader))
""", spec, job)
    assert script.line() == "opened"
    pid = the_loader(job)
    os.kill(pid, signal.SIGSTOP)
    script.go()
    script.popen.send_signal(signal.SIGUSR1)
    assert script.line() == "handled"
    os.kill(pid, signal.SIGCONT)
    assert script.end() == "100\n"


def test_a_timeout_is_an_error_after_which_it_goes_on(spec, job):
    loader = olddog.Loader(spec, batch=2, workers=1, job=job)
    iterator = iter(loader)
    pid = the_loader(job)
    os.kill(pid, signal.SIGSTOP)
    # Only now: opening on a busy machine may take longer than this.
    loader._timeout_ms = 200
    with pytest.raises(olddog.TimedOut, match="timeout") as e:
        for _ in range(50):
            next(iterator)
    assert isinstance(e.value, TimeoutError)
    os.kill(pid, signal.SIGCONT)
    before = loader.consumed
    loader._timeout_ms = -1
    assert next(iterator).position[0] == before
    loader.close()


def test_a_forked_child_is_told_and_harms_nobody(scripts, spec):
    script = scripts("""
import os, sys
import olddog
loader = olddog.Loader(sys.argv[1], batch=10, workers=1)
iterator = iter(loader)
held = next(iterator)
if os.fork() == 0:
    try:
        next(iterator)
    except olddog.Forked as e:
        print("child:", e, held["image"].shape, flush=True)
    del held, iterator
    loader.close()
    os._exit(0)
assert os.wait()[1] == 0
print("parent:", sum(len(b.key) for b in loader))
""", spec)
    child, parent = script.end().splitlines()
    assert "before its fork()" in child and "(10, 3, 48, 48)" in child and parent == "parent: 90"


KILLING = """
import json, sys
sys.path.insert(0, sys.argv[3])
import olddog
from python_help import digests
loader = olddog.Loader(sys.argv[1], batch=2, workers=2, job=sys.argv[2], epochs=1)
for batch in loader:
    print(json.dumps(digests(batch)))
    input()
print("end")
"""


@pytest.mark.parametrize("what", ["loader", "workers"])
def test_kill_9_in_mid_epoch_loses_and_repeats_nothing(olddog, scripts, spec, job, what):
    script = scripts(KILLING, spec, job, Path(__file__).parent)
    got, killed = [], 0
    while (line := script.line()) != "end":
        got += json.loads(line).values()
        # Not oftener: a sample that three workers die of is taken for what kills them.
        if len(got) % 14 == 0:
            pid = the_loader(job)
            for victim in [pid] if what == "loader" else filter(is_confined, workers(pid)):
                os.kill(victim, signal.SIGKILL)
                killed += 1
        script.go()
    script.end()
    assert killed
    assert got == olddog.lines("read", spec, "--digest=sample")


def test_ranks_share_a_loader_that_outlives_the_first_and_ends_with_the_last(scripts, spec, job):
    text = """
import sys
import olddog
loader = olddog.Loader(sys.argv[1], global_batch=16, dp_rank=int(sys.argv[2]), dp_size=2, tail="short", workers=1)
print("opened")
input()
print(sorted(p for b in loader for p in b.position.tolist()))
input()
"""
    first, second = (scripts(text, spec, rank, OLDDOG_JOB=job) for rank in range(2))
    assert first.line() == second.line() == "opened"
    pid = the_loader(job)
    handle = os.pidfd_open(pid)
    first.go()
    positions = json.loads(first.line())
    first.go()
    # Not end(): the loader says what it has to say on the stderr of the rank that started it, and outlives it.
    assert first.popen.wait(60) == 0
    assert loaders(job) == [pid]
    second.go()
    positions += json.loads(second.line())
    assert loaders(job) == [pid]
    second.go()
    second.end()
    ended([handle])
    assert sorted(positions) == list(range(100))


def test_a_loader_of_its_own_ends_with_the_python_that_was_killed(scripts, spec, job):
    script = scripts(KILLING, spec, job, Path(__file__).parent)
    script.line()
    pid = the_loader(job)
    handles = [os.pidfd_open(p) for p in (pid, *workers(pid))]
    assert len(handles) == 3
    script.popen.kill()
    ended(handles)


def test_a_missing_loader_program_is_named(scripts, spec, tmp_path):
    script = scripts("""
import sys
import olddog
try:
    olddog.Loader(sys.argv[1])
except olddog.NotFound as e:
    print(e)
""", spec, OLDDOG_LIBEXEC=str(tmp_path))
    assert "olddog-loader is not in OLDDOG_LIBEXEC=" in script.end()

# SPDX-License-Identifier: Apache-2.0
"""Any process may be stopped (SIGSTOP, a debugger, a container that is paused), and go on later or never. Time limits are
a day here, so that what ends these tests is what is meant to."""

import os
import signal

import pytest
from process_help import has_ended, is_confined, stop
from test_loader import ranks, spec  # noqa: F401 (fixtures)

A_DAY = ("--time-limit", 86400)


def workers_of(process):
    """Those that have come so far as to take work."""
    while not (found := [p for p in process.children("olddog-worker") if is_confined(p)]):
        assert process.popen.poll() is None
    return found


def rest_of(process, first):
    lines = [first]
    while line := process.read_line():
        lines.append(line.rstrip("\n"))
    rc, _, said = process.wait()
    assert rc == 0, said
    return lines


@pytest.mark.parametrize("n_workers", [1, 3])
def test_stopped_workers_are_replaced_and_every_position_comes(olddog, spec, n_workers):  # noqa: F811
    want = olddog.lines("read", spec, "--epochs", 12, "--digest=sample")
    reader = olddog.start("read", spec, "--epochs", 12, "--digest=sample", "--workers", n_workers, *A_DAY)
    first = reader.read_line().rstrip("\n")
    # It waits for its lines to be read, so there is work left. Those that never come on are ended for good.
    stopped = workers_of(reader)
    for pid in stopped:
        stop(pid)
    handles = [os.pidfd_open(pid) for pid in stopped]
    assert rest_of(reader, first) == want
    assert all(map(has_ended, handles))


def test_a_reader_that_was_stopped_goes_on_with_the_workers_that_it_had(olddog, spec):  # noqa: F811
    want = olddog.lines("read", spec, "--epochs", 12, "--digest=sample")
    reader = olddog.start("read", spec, "--epochs", 12, "--digest=sample", "--workers", 2, *A_DAY)
    first = reader.read_line().rstrip("\n")
    workers = workers_of(reader)
    for pid in (reader.pid, *workers):
        stop(pid)
    for pid in (reader.pid, *workers):
        os.kill(pid, signal.SIGCONT)
    assert set(workers) <= set(reader.children("olddog-worker"))
    assert rest_of(reader, first) == want


def test_a_stopped_rank_stops_no_other(olddog, ranks, spec):  # noqa: F811
    stopped = ranks.start("-i", "-e", 0, "-r", 0, "-w", 2, spec)
    other = ranks.start("-i", "-e", 36, "-r", 1, "-w", 2, spec)
    for p in (stopped, other):
        assert p.stdout.readline().startswith("open")
    stopped.stdin.write("\n\n")
    stopped.stdin.flush()
    assert stopped.stdout.readline().startswith("position=")
    stop(stopped.pid)
    (loader,) = ranks.loaders()

    # 35 epochs, of 7 batches each.
    other.stdin.write("\n" * 245)
    other.stdin.flush()
    lines = [other.stdout.readline().rstrip("\n") for _ in range(1750)]
    # Slots of at most 64 batches ahead for each rank, and what else a loader has open.
    assert len(os.listdir(f"/proc/{loader}/fd")) < 2 * 64 + 64
    other.stdin.write("\n" * 200)
    lines += ranks.end(other)[0]
    want = olddog.lines("read", spec, "--epochs", 36, "--dp-rank", 1, "--dp-size", 2, "--digest=sample")
    assert lines == want
    os.kill(stopped.pid, signal.SIGCONT)
    for _ in range(15):
        assert stopped.stdout.readline().startswith("position=")


@pytest.mark.parametrize("when", ["opening", "reading"])
def test_a_stopped_loader_is_named_and_may_be_killed(olddog, ranks, spec, when):  # noqa: F811
    want = olddog.lines("read", spec, "--digest=sample")
    first = ranks.start("-i", spec)
    assert first.stdout.readline().startswith("open")
    (loader,) = ranks.loaders()
    stop(loader)
    if when == "opening":
        waiting = ranks.start(spec)
    else:
        waiting = first
        # What was made ahead is still to be had.
        waiting.stdin.write("\n" * 8)
        waiting.stdin.flush()
    said = waiting.stderr.readline()
    assert f"olddog-loader (process {loader}) is stopped" in said and f"kill -CONT {loader}" in said
    os.kill(loader, signal.SIGKILL)
    assert ranks.end(waiting)[0] == want

# SPDX-License-Identifier: Apache-2.0
"""What the kernel says of processes, for tests that stop and kill them."""

import os
import select
import signal
import time
from pathlib import Path


def wait_for(condition, what, seconds=60):
    """What condition() gives once it is true; meanwhile others have the processor. `what` is told when it never is."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"after {seconds} seconds still not: {what}"
        select.select([], [], [], 0.002)
    return found


def state_of(pid):
    """The letter of proc(5), or None when there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return text[text.rindex(")") + 2]


def is_confined(pid):
    """Whether it has come so far as to take work: one that is killed before counts as one that cannot be started."""
    try:
        return "\nSeccomp:\t2\n" in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def stop(pid):
    """Stops it, and waits until it has."""
    os.kill(pid, signal.SIGSTOP)
    wait_for(lambda: state_of(pid) in ("T", None), f"process {pid} is stopped")


def has_ended(handle):
    """Waits for the end of the process of a pidfd, which it closes."""
    try:
        return bool(select.select([handle], [], [], 60)[0])
    finally:
        os.close(handle)

# SPDX-License-Identifier: Apache-2.0
"""What the kernel says of processes, for tests that stop and kill them."""

import os
import select
import signal
import time
from pathlib import Path


def wait_until(happens, seconds=60):
    """Asks now and then, and leaves the processor to those who are waited for."""
    end = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < end, f"what is waited for did not happen within {seconds} s"
        time.sleep(0.001)


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
    wait_until(lambda: state_of(pid) in ("T", None))


def has_ended(handle):
    """Waits for the end of the process of a pidfd, which it closes."""
    try:
        return bool(select.select([handle], [], [], 60)[0])
    finally:
        os.close(handle)

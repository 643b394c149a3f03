# SPDX-License-Identifier: Apache-2.0
"""Where clusters of scripts/hdfs_cluster.py run, and their processes, by files that hold pid and start time.

Everything of a run lies in a folder that is named after the process that owns it. A run that was killed leaves its folder
and its processes; the next one finds that the owner is gone, ends those processes and no others, and removes the folder.
"""

import contextlib
import os
import random
import shutil
import signal
import socket
import stat
import subprocess
import time
from pathlib import Path

from hdfs_install import cache, locked

# Ports below those that the kernel gives to callers; a cluster has 100 from its base on.
BASES = range(20000, 32000, 100)
# The process records itself before it becomes what was asked for, so that none is unknown, whenever we are killed.
RECORD = 'echo "$$ $(cut -d" " -f22 "/proc/$$/stat")" >"$0.new" && mv "$0.new" "$0" && exec "$@"'


def start_time(pid):
    """Clock ticks since boot, which with the pid name a process; None when there is none, or a zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    rest = text[text.rindex(")") + 2:].split()
    return None if rest[0] in "ZX" else int(rest[19])


def own_name():
    return f"{os.getpid()}-{start_time(os.getpid())}"


def spawn(record, argv, env, log):
    """Starts argv in a session of its own; record is the file that will hold who it is."""
    with open(log, "ab") as out:
        child = subprocess.Popen(["sh", "-c", RECORD, record, *argv], env=env, stdin=subprocess.DEVNULL, stdout=out,
                                 stderr=out, start_new_session=True)
    while not record.exists() and child.poll() is None:
        time.sleep(0.01)
    return child


def pid_of(record):
    """The pid, while that process lives."""
    try:
        pid, began = map(int, record.read_text().split())
    except (OSError, ValueError):
        return None
    return pid if start_time(pid) == began else None


def is_stopped(record):
    """By SIGSTOP, and each thread of it: one that runs on may still answer."""
    pid, texts = pid_of(record), []
    for path in Path(f"/proc/{pid}/task").glob("*/stat"):
        with contextlib.suppress(OSError):
            texts.append(path.read_text())
    return bool(texts) and all(text[text.rindex(")") + 2] in "TXZ" for text in texts)


def send(record, sig):
    pid = pid_of(record)
    if pid is None:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, sig)
    return True


def end(records, grace_s=0):
    """Ends the processes: asks first, when there is a time of grace."""
    records = [r for r in records if pid_of(r)]
    if grace_s:
        for r in records:
            send(r, signal.SIGCONT)
            send(r, signal.SIGTERM)
    until = time.monotonic() + grace_s
    while records:
        if time.monotonic() >= until:
            for r in records:
                send(r, signal.SIGKILL)
        time.sleep(0.02)
        records = [r for r in records if pid_of(r)]


# --- folders

def is_private(path):
    """libhadoop refuses a domain socket that others could put another in the place of."""
    path = path.resolve()
    for p in (path, *path.parents):
        if not p.exists():
            continue
        s = p.stat()
        if s.st_mode & (stat.S_IWGRP | stat.S_IWOTH) or s.st_uid not in (0, os.getuid()):
            return False
    return True


def root():
    """The folder of all runs; made when it is not there."""
    places = [cache() / "run", Path.home() / ".olddog-test", Path("/var/lib/olddog-test")]
    for place in places:
        # A socket's name has 107 bytes: place/OWNER/NAME/sock/PORT.
        if is_private(place) and len(str(place)) < 60:
            with contextlib.suppress(OSError):
                place.mkdir(mode=0o755, parents=True, exist_ok=True)
                return place
    raise RuntimeError("no folder for clusters that nobody else can write to: not "
                     + ", ".join(map(str, places)) + "; set OLDDOG_CACHE to one (not below /tmp)")


def remove(folder):
    """Ends what runs in a folder of clusters, and removes it."""
    end(list(folder.glob("*/pid/*")))
    shutil.rmtree(folder, ignore_errors=True)


def sweep():
    """Removes what runs left that were killed; their names."""
    gone = []
    for folder in root().glob("*-*"):
        pid, _, began = folder.name.partition("-")
        if pid.isdigit() and began.isdigit() and start_time(int(pid)) != int(began):
            remove(folder)
            gone.append(folder.name)
    return gone


# --- ports

def is_free(port, host="127.0.0.1"):
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind((host, port))
        except OSError:
            return False
    return True


def reserve_ports(folder, n):
    """A base whose n ports are free, and reserved for the cluster of that folder as long as the folder exists."""
    ports = root() / "ports"
    with locked(ports / "lock"):
        for base in random.sample(BASES, len(BASES)):
            taken = ports / str(base)
            if taken.exists() and Path(taken.read_text()).exists():
                continue
            if all(is_free(p) for p in range(base, base + n)):
                taken.write_text(str(folder))
                return base
    raise RuntimeError("no free ports between 20000 and 32000")

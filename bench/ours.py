# SPDX-License-Identifier: Apache-2.0
"""olddog.Loader over a plan, timed as bench/peer_torchvision.py times its peer. Prints one line of JSON.

host_cpu_ms_per_sample is what runs on a training host even where decoding would run elsewhere: this process and
olddog-loader. It and worker_cpu_ms_per_sample are taken between two batches of the run, without its start: the first
tenth fills the slots with fresh pages.
"""

import argparse
import ctypes
import json
import os
import time
from pathlib import Path

import olddog

LIBC = ctypes.CDLL(None, use_errno=True)


def cpu_ms(pid):
    """CPU of all threads of a process; 0 of one that has just gone."""
    clock = ctypes.c_int()
    if LIBC.clock_getcpuclockid(pid, ctypes.byref(clock)) != 0:
        return 0.0
    try:
        return time.clock_gettime_ns(clock.value) / 1e6
    except OSError:
        return 0.0


def processes_below(ancestor):
    """[(pid, name)] of what it started, and of what they started."""
    parent, name = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        pid = int(stat.parent.name)
        parent[pid] = int(text[text.rindex(")") + 2:].split()[1])
        name[pid] = text[text.index("(") + 1:text.rindex(")")]

    def below(pid):
        while pid in parent and pid != ancestor:
            pid = parent[pid]
        return pid == ancestor
    return [(pid, name[pid]) for pid in name if below(pid)]


def cpu_now():
    """{name: ms so far} of this process and the two programs that load for it."""
    cpu = {"olddog-loader": 0.0, "olddog-worker": 0.0}
    for pid, name in processes_below(int(os.environ.get("BENCH_PID", os.getpid()))):
        if name in cpu:
            cpu[name] += cpu_ms(pid)
    return {"own": 1000 * time.process_time(), **cpu}


def take(loader, n):
    """Waits for n batches, in seconds."""
    waits, last = [], time.perf_counter()
    while len(waits) < n:
        for _ in loader:
            now = time.perf_counter()
            waits.append(now - last)
            last = now
            if len(waits) == n:
                break
    return waits


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plan")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--batches", type=int, default=1000)
    args = parser.parse_args()
    before_cpu_ms = 1000 * time.process_time()
    n_warm, began = args.batches // 10, time.perf_counter()
    loader = olddog.Loader(args.plan, batch=args.batch)
    waits = [time.perf_counter() - began]
    waits += take(loader, n_warm)
    warm = cpu_now()
    waits += take(loader, args.batches - n_warm)
    wall, n, n_steady = time.perf_counter() - began, args.batch * args.batches, args.batch * (args.batches - n_warm)
    end = cpu_now()
    used = {name: (end[name] - warm[name]) / n_steady for name in end}
    waits[1] += waits.pop(0)
    waits.sort()
    print(json.dumps({
        "samples": n, "samples_per_s": n / wall, "before_cpu_ms": before_cpu_ms,
        "host_cpu_ms_per_sample": used["own"] + used["olddog-loader"], "own_cpu_ms_per_sample": used["own"],
        "worker_cpu_ms_per_sample": used["olddog-worker"],
        "wait_p50_ms": 1000 * waits[len(waits) // 2], "wait_p99_ms": 1000 * waits[len(waits) * 99 // 100]}))


if __name__ == "__main__":
    main()

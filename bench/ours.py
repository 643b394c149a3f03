# SPDX-License-Identifier: Apache-2.0
"""olddog.Loader over a plan, timed as bench/peer_torchvision.py times its peer. Prints one line of JSON."""

import argparse
import json
import os
import time
from pathlib import Path

import olddog

TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")


def worker_cpu_ms(ancestor):
    """CPU that decoding processes below the ancestor have used so far."""
    parent, cpu = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        pid, rest = int(stat.parent.name), text[text.rindex(")") + 2:].split()
        parent[pid] = int(rest[1])
        if text[text.index("(") + 1:text.rindex(")")] == "olddog-worker":
            cpu[pid] = (int(rest[11]) + int(rest[12])) * TICK_MS

    def below(pid):
        while pid in parent and pid != ancestor:
            pid = parent[pid]
        return pid == ancestor
    return sum(ms for pid, ms in cpu.items() if below(pid))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plan")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--batches", type=int, default=1000)
    args = parser.parse_args()
    before_cpu_ms = 1000 * time.process_time()
    waits, began = [], time.perf_counter()
    last = began
    loader = olddog.Loader(args.plan, batch=args.batch)
    while len(waits) < args.batches:
        for _ in loader:
            now = time.perf_counter()
            waits.append(now - last)
            last = now
            if len(waits) == args.batches:
                break
    wall, n = last - began, args.batch * args.batches
    worker_ms = worker_cpu_ms(int(os.environ.get("BENCH_PID", os.getpid())))
    waits.sort()
    print(json.dumps({
        "samples": n, "samples_per_s": n / wall, "before_cpu_ms": before_cpu_ms, "worker_cpu_ms_per_sample": worker_ms / n,
        "wait_p50_ms": 1000 * waits[len(waits) // 2], "wait_p99_ms": 1000 * waits[len(waits) * 99 // 100]}))


if __name__ == "__main__":
    main()

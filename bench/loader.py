# SPDX-License-Identifier: Apache-2.0
"""What does loading pictures for training cost, and how long does a trainer wait?

olddog.Loader beside torch's DataLoader with torchvision on Pillow: the same files, random resized crop to 224, flip,
normalised float32. Each draws its own boxes. Runs alternate; the median of the rounds is printed, with its spread. Files
are read once before, so the page cache is warm. CPU is of all processes together (ours embedded: all on this host),
without starting the interpreter. The limit is what libjpeg-turbo alone needs for such boxes (bench/jpeg_limit.c).
"""

import argparse
import ctypes
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PR_SET_CHILD_SUBREAPER = 36

SPEC = """sources:
  - {data: 'FOLDER'}
fields:
  image: {from: jpg, decode: {mode: rgb}, random_resized_crop: 224, hflip: 0.5, normalize: imagenet, dtype: float32, layout: chw}
seed: 7
order: shuffle
tail: carry
"""


def children_cpu_ms():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (used.ru_utime + used.ru_stime)


def measure(argv):
    """What argv printed as JSON, and cpu_ms_per_sample of it and of all that it started, orphans included."""
    before = children_cpu_ms()
    env = {**os.environ, "BENCH_PID": str(os.getpid()), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    env.pop("OLDDOG_JOB", None)
    out = subprocess.run([str(a) for a in argv], env=env, stdout=subprocess.PIPE, check=True, text=True).stdout
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        pass
    result = json.loads(out)
    result["cpu_ms_per_sample"] = (children_cpu_ms() - before - result["before_cpu_ms"]) / result["samples"]
    return result


def take_rounds(args, plan):
    """{name: [result of each round]}; ours and theirs take turns."""
    many = ["--batch", args.batch, "--batches", args.batches]
    pictures = args.media / "set"
    peer = ["/usr/bin/python3", ROOT / "bench/peer_torchvision.py", pictures]
    limit = [ROOT / "build/bench/jpeg_limit", 2400, *sorted(pictures.glob("*.jpg"))]
    rounds = {"ours": [], "peer": [], "inline": [], "limit": []}
    for _ in range(args.rounds):
        rounds["ours"].append(measure([sys.executable, ROOT / "bench/ours.py", plan, *many]))
        rounds["peer"].append(measure([*peer, *many, "--workers", len(os.sched_getaffinity(0))]))
        rounds["inline"].append(measure([*peer, "--inline", "--batch", args.batch, "--batches", max(1, 1600 // args.batch)]))
        floor = subprocess.run([str(a) for a in limit], stdout=subprocess.PIPE, check=True, text=True).stdout
        rounds["limit"].append({"cpu_ms_per_sample": float(floor)})
    return rounds


def rows_of(rounds):
    """(what, ours, peer, limit), each a list over the rounds."""
    def of(name, key, factor=1.0):
        return [factor * r[key] for r in rounds[name]]
    floor = of("limit", "cpu_ms_per_sample")
    return [
        ("samples/s", of("ours", "samples_per_s"), of("peer", "samples_per_s"), None),
        ("wait p50, ms", of("ours", "wait_p50_ms"), of("peer", "wait_p50_ms"), None),
        ("wait p99, ms", of("ours", "wait_p99_ms"), of("peer", "wait_p99_ms"), None),
        ("host CPU, s per 1,000", of("ours", "cpu_ms_per_sample"), of("peer", "cpu_ms_per_sample"), floor),
        ("total CPU, s per 1,000", of("ours", "cpu_ms_per_sample"), of("peer", "cpu_ms_per_sample"), floor),
        ("CPU ms per image, decoding alone", of("ours", "worker_cpu_ms_per_sample"), of("inline", "cpu_ms_per_sample"), floor)]


def show(rounds, args):
    print(f"{args.batches} batches of {args.batch}, {args.rounds} alternating rounds, page cache warm, "
          f"{len(os.sched_getaffinity(0))} cores; peer: {rounds['peer'][0]['peer']}")
    print(f"{'':34} {'olddog':>16} {'torchvision':>16} {'ours/peer':>10} {'limit':>7} {'ours/limit':>10}")
    for what, ours, peer, limit in rows_of(rounds):
        a, b = statistics.median(ours), statistics.median(peer)
        line = f"{what:34} {spread(ours):>16} {spread(peer):>16} {a / b:>10.2f}"
        if limit:
            line += f" {statistics.median(limit):>7.2f} {a / statistics.median(limit):>10.2f}"
        print(line)


def spread(values):
    """Median, and how far the rounds lay apart."""
    m = statistics.median(values)
    digits = 0 if m >= 100 else 2
    half = f" +-{(max(values) - min(values)) / 2:.{digits}f}" if len(values) > 1 else ""
    return f"{m:.{digits}f}{half}"


def main():
    parser = argparse.ArgumentParser(prog="bench/loader", description=__doc__)
    parser.add_argument("media", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--batches", type=int, default=1000)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    # What a measured process leaves behind is ours to wait for, so its CPU is counted.
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise SystemExit("bench: this kernel does not let us wait for orphans")
    for picture in (args.media / "set").iterdir():
        picture.read_bytes()
    with tempfile.TemporaryDirectory() as work:
        spec = Path(work) / "set.yaml"
        spec.write_text(SPEC.replace("FOLDER", str(args.media / "set")))
        plan = Path(work) / "set.plan"
        subprocess.run([ROOT / "build/olddog", "plan", spec, "-o", plan], check=True, stdout=subprocess.DEVNULL)
        print(f"bench: {args.rounds} rounds of {args.batches} batches of {args.batch}, minutes each; --batches 100 is a rough "
              "figure", file=sys.stderr, flush=True)
        rounds = take_rounds(args, plan)
    if args.json:
        print(json.dumps(rounds))
    else:
        show(rounds, args)


if __name__ == "__main__":
    main()

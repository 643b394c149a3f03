# SPDX-License-Identifier: Apache-2.0
"""How long does a trainer wait when samples are uneven: a few large pictures, a store that is slow now and then?

A step of 60 ms that only sleeps, batches of 32, 2 % of the pictures 4000x3000 (real photographs, about 1.5 MB), a store of
5-30 ms latency of which 1 % take 300 ms more. olddog.Loader meets the delays by #fault=; torch's DataLoader, at several
numbers of workers, by sleeping exactly as long for each file (delays.py) before it is read. Both have the same pictures
in the same batches, in our order. Random resized crop to 224, flip, normalised float32; page cache warm. A wait is the time
between asking for a batch and having it; the first, which includes starting, is told apart. CPU is of all processes.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import PIL.Image

from delays import Delays
from loader import SPEC
from rounds import ROOT, measure, read_all

N_PICTURES = 2400
N_LARGE = 48
LARGE = (4000, 3000)
QUALITY = 88
DELAYS = Delays(seed=7, min_ns=5_000_000, max_ns=30_000_000, slow_p=0.01, slow_ns=300_000_000)


def make_pictures(media, folder):
    """A folder of N_PICTURES files, of which every fiftieth is large. Kept, when it is whole."""
    done = folder / "done"
    if done.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    photos = []
    for path in sorted((media / "photos").glob("*.jpg")):
        with PIL.Image.open(path) as picture:
            if min(picture.size) >= 1000:
                photos.append(picture.convert("RGB").resize(LARGE, PIL.Image.Resampling.LANCZOS))
    for i, path in enumerate(sorted((media / "set").glob("*.jpg"))[:N_PICTURES]):
        to = folder / path.name
        if i % (N_PICTURES // N_LARGE) == 17:
            photos[i // (N_PICTURES // N_LARGE) % len(photos)].save(to, quality=QUALITY)
        else:
            to.write_bytes(path.read_bytes())
    done.touch()


def make_plan(folder, work):
    spec, plan = work / "waiting.yaml", work / "waiting.plan"
    spec.write_text(SPEC.replace("'FOLDER'", f"'file://{folder}/*.jpg{DELAYS.suffix()}'"))
    # The store is as slow for indexing.
    subprocess.run([ROOT / "build/olddog", "plan", spec, "-o", plan], check=True, stdout=subprocess.DEVNULL)
    return plan


def take_rounds(args, folder, work):
    """{name: [result of each round]}; all take turns."""
    plan, order = make_plan(folder, work), work / "order.json"
    many = ["--batch", args.batch, "--batches", args.batches, "--step-ms", args.step_ms, "--order", order]
    peer = [args.peer_python, ROOT / "bench/waiting_peer.py", folder, *many, "--delays", json.dumps(vars(DELAYS))]
    rounds = {}
    for _ in range(args.rounds):
        for name, argv in [("olddog", [sys.executable, ROOT / "bench/waiting_ours.py", plan, *many])] + [
                (f"DataLoader, {n} workers, prefetch {p}", [*peer, "--workers", n, "--prefetch", p])
                for n in args.workers for p in args.prefetch]:
            result = measure(argv)
            rounds.setdefault(name, []).append(result)
            print(f"waiting: {name}: {json.dumps(summary(result['waits_ms']))}", file=sys.stderr, flush=True)
    return rounds


def summary(waits_ms):
    """Of all but the first; the sum is of all."""
    first, rest = waits_ms[0], sorted(waits_ms[1:])
    return {"first": round(first, 1), "p50": round(rest[len(rest) // 2], 2), "p99": round(rest[len(rest) * 99 // 100], 2),
            "max": round(rest[-1], 1), "sum_s": round(sum(waits_ms) / 1000, 2)}


def rows_of(rounds):
    """{name: {what: [value of each round]}}."""
    rows = {}
    for name, results in rounds.items():
        each = [summary(r["waits_ms"]) | {"cpu_s_per_1000": r["cpu_ms_per_sample"], "samples_per_s": r["samples_per_s"]}
                for r in results]
        rows[name] = {what: [e[what] for e in each] for what in each[0]}
    return rows


def show(rows, args, peer):
    print(f"{args.batches} batches of {args.batch}, a step of {args.step_ms} ms, {100 * N_LARGE / N_PICTURES:.0f} % of "
          f"{LARGE[0]}x{LARGE[1]}, {DELAYS.suffix()}, {args.rounds} rounds in turn, {len(os.sched_getaffinity(0))} cores; {peer}")
    print(f"{'waits in ms; median of rounds':36} {'first':>8} {'p50':>8} {'p99':>8} {'max':>8} {'sum, s':>8} "
          f"{'CPU s/1000':>10} {'samples/s':>9}")
    for name, row in rows.items():
        m = {what: statistics.median(values) for what, values in row.items()}
        print(f"{name:36} {m['first']:8.0f} {m['p50']:8.2f} {m['p99']:8.2f} {m['max']:8.1f} {m['sum_s']:8.2f} "
              f"{m['cpu_s_per_1000']:10.2f} {m['samples_per_s']:9.0f}")
    best = min(statistics.median(row["p99"]) for name, row in rows.items() if name != "olddog")
    ours = statistics.median(rows["olddog"]["p99"])
    print(f"p99: {ours:.2f} of {best:.2f} ms, {ours / best:.4f} of the DataLoader's best")


def numbers(text):
    return [int(n) for n in text.split(",")]


def main():
    parser = argparse.ArgumentParser(prog="bench/waiting", description=__doc__)
    parser.add_argument("media", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--batches", type=int, default=1000)
    parser.add_argument("--step-ms", type=float, default=60)
    parser.add_argument("--workers", type=numbers, default=[2, 4, 8, 16])
    parser.add_argument("--prefetch", type=numbers, default=[2])
    parser.add_argument("--peer-python", default="/usr/bin/python3")
    parser.add_argument("--pictures", type=Path, help="where the pictures are kept for the next time; default: not at all")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        folder = (args.pictures or Path(work) / "pictures").resolve()
        make_pictures(args.media, folder)
        read_all(folder.glob("*.jpg"))
        rounds = take_rounds(args, folder, Path(work))
    rows = rows_of(rounds)
    if args.json:
        print(json.dumps({"rows": rows, "rounds": rounds}))
    else:
        show(rows, args, next(r[0]["what"] for name, r in rounds.items() if name != "olddog"))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""What does loading pictures for training cost, and how long does a trainer wait?

olddog.Loader beside torch's DataLoader with torchvision on Pillow: the same files, random resized crop to 224, flip,
normalised float32. Each draws its own boxes. Files are read once before, so the page cache is warm. CPU is of all
processes together (ours embedded: all on this host), without starting the interpreter. The limit is what libjpeg-turbo
alone needs for such boxes (bench/jpeg_limit.c).
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import rounds
from rounds import ROOT, Measure, Question, measure

SPEC = """sources:
  - {data: 'FOLDER'}
fields:
  image: {from: jpg, decode: {mode: rgb}, random_resized_crop: 224, hflip: 0.5, normalize: imagenet, dtype: float32, layout: chw}
seed: 7
order: shuffle
tail: carry
"""

QUESTION = Question("loader", "What does loading pictures for training cost, and how long does a trainer wait?", {
    "cpu": Measure("CPU of all processes, s per 1,000", "cpu_ms_per_sample"),
    "samples_per_s": Measure("samples/s", "samples_per_s"),
    "p50": Measure("wait p50, ms", "wait_p50_ms"),
    "p99": Measure("wait p99, ms", "wait_p99_ms"),
    "decoding": Measure("CPU of decoding processes, s per 1,000", "worker_cpu_ms_per_sample", absolute=True)})


def limit(pictures):
    argv = [ROOT / "build/bench/jpeg_limit", len(pictures), *pictures]
    out = subprocess.run([str(a) for a in argv], stdout=subprocess.PIPE, check=True, text=True).stdout
    return {"cpu_ms_per_sample": float(out)}


def make_plan(folder, work):
    spec, plan = Path(work) / "set.yaml", Path(work) / "set.plan"
    spec.write_text(SPEC.replace("FOLDER", str(folder)))
    subprocess.run([ROOT / "build/olddog", "plan", spec, "-o", plan], check=True, stdout=subprocess.DEVNULL)
    return plan


def subjects(args, plan, pictures):
    many = ["--batch", args.batch, "--batches", args.batches]
    peer = ["/usr/bin/python3", ROOT / "bench/peer_torchvision.py", args.media / "set", *many]
    return {
        "olddog": lambda: measure([sys.executable, ROOT / "bench/ours.py", plan, *many]) | {"what": rounds.olddog_version()},
        "DataLoader, torchvision on Pillow": lambda: measure([*peer, "--workers", len(os.sched_getaffinity(0))]),
        "limit: libjpeg-turbo alone": lambda: limit(pictures)}


def main():
    parser = rounds.options("loader", __doc__, n_rounds=3)
    parser.add_argument("media", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--batches", type=int, default=1000)
    args = parser.parse_args()
    pictures = sorted((args.media / "set").glob("*.jpg"))
    rounds.read_all(pictures)
    print(f"bench: {args.rounds} rounds of {args.batches} batches of {args.batch}, minutes each; --batches 100 is a rough "
          "figure", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory() as work:
        record = QUESTION.take(subjects(args, make_plan(args.media / "set", work), pictures), args.rounds,
                               {"page cache": "warm", "batch": args.batch, "batches": args.batches})
    rounds.finish(record, args)


if __name__ == "__main__":
    main()

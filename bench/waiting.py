# SPDX-License-Identifier: Apache-2.0
"""How long does a trainer wait when samples are uneven: a few large pictures, a store that is slow now and then?

A step of 60 ms that only sleeps, batches of 32, 2 % of the pictures 4000x3000 (real photographs, about 1.5 MB), a store
of 5-30 ms latency of which 1 % take 300 ms more. olddog.Loader meets the delays by #fault=; torch's DataLoader, at several
numbers of workers and by the best recipe that was found (peer_torchvision.py), by sleeping exactly as long for each file
(delays.py) before it is read. Both have the same pictures in the same batches, in our order. Random resized crop to 224,
flip, normalised float32; page cache warm. A wait is the time between asking for a batch and having it; the first, which
includes starting, is told apart. CPU is of all processes.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import PIL.Image

import rounds
from delays import Delays
from loader import SPEC
from rounds import ROOT, Measure, Question, Target, measure

N_PICTURES = 2400
N_LARGE = 48
LARGE = (4000, 3000)
QUALITY = 88
QUESTION = Question("waiting", "How long does a trainer wait for batches, when samples are uneven and the store is slow?", {
    "first": Measure("first wait, ms", "first_ms"),
    "p50": Measure("p50, ms", "p50_ms"),
    "p99": Measure("p99, ms", "p99_ms"),
    "max": Measure("max, ms", "max_ms"),
    "sum": Measure("sum of waits, s", "sum_s"),
    "cpu": Measure("CPU, s per 1,000", "cpu_ms_per_sample"),
    "samples_per_s": Measure("samples/s", "samples_per_s")})
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


def figures(result):
    """Of all waits but the first, which includes starting; the sum is of all."""
    first, rest = result["waits_ms"][0], sorted(result["waits_ms"][1:])
    return result | {"first_ms": first, "p50_ms": rest[len(rest) // 2], "p99_ms": rest[len(rest) * 99 // 100],
                     "max_ms": rest[-1], "sum_s": sum(result["waits_ms"]) / 1000}


def run(argv, env=None, what=None):
    result = figures(measure(argv, env))
    return result | {"what": what or result["what"]}


def subjects(args, folder, work, python, recipe):
    plan, order = make_plan(folder, work), work / "order.json"
    many = ["--batch", args.batch, "--batches", args.batches, "--step-ms", args.step_ms, "--order", order]
    ours = [sys.executable, ROOT / "bench/waiting_ours.py", plan, *many]
    peer = [python, ROOT / "bench/waiting_peer.py", folder, *many, "--delays", json.dumps(vars(DELAYS)),
            "--recipe", recipe]
    # The first of a round says what the others' batches are.
    return {"olddog": lambda: run(ours, what=rounds.olddog_version())} | {
        f"DataLoader, {n} workers" + (f", prefetch {ahead}" if len(args.prefetch) > 1 else ""):
            lambda n=n, ahead=ahead: run([*peer, "--workers", n, "--prefetch", ahead])
        for n in args.workers for ahead in args.prefetch}


def aim(record):
    """The target is the peer's best: known when it has run."""
    peers = [name for name in record.values if name != "olddog"]
    best = min(peers, key=lambda name: record.median(name, "p99"))
    record.targets.append(asdict(Target("p99", "olddog", best, at_most=0.1)))


def numbers(text):
    return [int(n) for n in text.split(",")]


def main():
    parser = rounds.options("waiting", __doc__, n_rounds=1)
    parser.add_argument("media", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--batches", type=int, default=1000)
    parser.add_argument("--step-ms", type=float, default=60)
    parser.add_argument("--workers", type=numbers, default=[2, 4, 8, 16], help="of the DataLoader: 2,4,8,16")
    parser.add_argument("--prefetch", type=numbers, default=[2], help="of each of them: 2")
    parser.add_argument("--recipe", default="late", help="of the DataLoader: see peer_torchvision.py")
    parser.add_argument("--pictures", type=Path, help="where the pictures are kept for the next time; default: nowhere")
    args = parser.parse_args()
    n_loaders = 1 + len(args.workers) * len(args.prefetch)
    print(f"waiting: {args.rounds} rounds of {args.batches} batches by {n_loaders} loaders, minutes each; --batches 200 is a "
          "rough figure", file=sys.stderr, flush=True)
    python, missing = rounds.peers()
    recipe = args.recipe if python else "pillow"
    with tempfile.TemporaryDirectory() as work:
        folder = (args.pictures or Path(work) / "pictures").resolve()
        make_pictures(args.media, folder)
        rounds.read_all(folder.glob("*.jpg"))
        of = subjects(args, folder, Path(work), python or "/usr/bin/python3", recipe)
        record = QUESTION.take(of, args.rounds, {
            "step": f"{args.step_ms:g} ms", "batch": args.batch, "batches": args.batches, "page cache": "warm",
            "pictures": f"{100 * N_LARGE / N_PICTURES:g} % of {LARGE[0]}x{LARGE[1]}", "store": DELAYS.suffix(),
            "recipe": recipe}, missing)
    aim(record)
    rounds.finish(record, args)


if __name__ == "__main__":
    main()

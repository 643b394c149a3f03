# SPDX-License-Identifier: Apache-2.0
"""What does loading pictures for training cost, and how long does a trainer wait?

olddog.Loader beside torch's DataLoader, TurboLoader and DALI: the same pictures, random resized crop to 224 (bilinear,
antialiased), flip, normalised float32 CHW, shuffled. Each draws its own boxes, of the same distribution. Files and the
tar are read once before, so the page cache is warm. CPU is of all processes together (ours embedded: all on this host),
without starting the interpreter. The limit is what libjpeg-turbo alone needs for such boxes (bench/jpeg_limit.c).
What each peer was given, and what else was tried: doc/design/0017-benchmarks.md; --all measures that, too.
"""

import argparse
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import rounds
from rounds import ROOT, Measure, Question, Target, measure

SPEC = """sources:
  - {data: 'FOLDER'}
fields:
  image: {from: jpg, decode: {mode: rgb}, random_resized_crop: 224, hflip: 0.5, normalize: imagenet, dtype: float32,
    layout: chw}
seed: 7
order: shuffle
tail: carry
"""

TURBO, FAST, BEST = "TurboLoader, tar", "DataLoader, decode_jpeg and v2", "DataLoader, decode_jpeg and v2, uint8"
QUESTION = Question("loader", "What does loading pictures for training cost, and how long does a trainer wait?", {
    "cpu": Measure("CPU of all processes, s per 1,000", "cpu_ms_per_sample"),
    "samples_per_s": Measure("samples/s", "samples_per_s"),
    "p50": Measure("wait p50, ms", "wait_p50_ms"),
    "p99": Measure("wait p99, ms", "wait_p99_ms"),
    "host": Measure("host CPU outside decoding processes, s per 1,000", "host_cpu_ms_per_sample", absolute=True),
}, [
    Target("cpu", "olddog, tar", TURBO, at_least=1.4),
    Target("cpu", "olddog", FAST, at_least=2.15),
    Target("cpu", "olddog", BEST, at_least=2.15),
    Target("host", "olddog", at_most=0.17),
    Target("samples_per_s", "olddog, tar", TURBO),
    Target("samples_per_s", "olddog", BEST)])

# Not among bench/peers.
NOT_HERE = {"FFCV": "no wheel of 1.0.2, its sources want OpenCV's headers; it reads only files of its own format"}


def limit(pictures, pin=()):
    argv = [*pin, ROOT / "build/bench/jpeg_limit", len(pictures), *pictures]
    out = subprocess.run([str(a) for a in argv], stdout=subprocess.PIPE, check=True, text=True).stdout
    return {"cpu_ms_per_sample": float(out)}


def make_tar(pictures, path):
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for picture in pictures:
            tar.add(picture, picture.name)
    return path


def make_plan(data, plan):
    spec = plan.with_suffix(".yaml")
    spec.write_text(SPEC.replace("FOLDER", str(data)))
    subprocess.run([ROOT / "build/olddog", "plan", spec, "-o", plan], check=True, stdout=subprocess.DEVNULL)
    return plan


def torch_subjects(python, folder, many, every):
    """The best recipe that was found, and the one that everybody has; with every: all that were tried."""
    def run(*options):
        argv = [python, ROOT / "bench/peer_torchvision.py", folder, *many, *options]
        return lambda: measure(argv)
    result = {FAST: run("--recipe", "v2", "--workers", 2), BEST: run("--recipe", "late", "--workers", 2),
              "DataLoader, Pillow": run("--recipe", "pillow", "--workers", 2)}
    if every:
        result |= {f"DataLoader, {recipe}, {workers} workers, prefetch {ahead}":
                   run("--recipe", recipe, "--workers", workers, "--prefetch", ahead)
                   for recipe in ("v2", "late-new", "late", "pillow")
                   for workers, ahead in ((1, 2), (2, 2), (2, 4), (4, 2))}
    return result


def subjects(args, pictures, work):
    folder, many = args.media / "set", ["--batch", args.batch, "--batches", args.batches]
    tar = make_tar(pictures, work / "set.tar")
    python, missing = rounds.peers() if not args.no_peers else (None, {})

    def ours(data, name):
        argv = [sys.executable, ROOT / "bench/ours.py", make_plan(data, work / name), *many]
        return lambda: measure(argv) | {"what": rounds.olddog_version()}

    def turbo(*options):
        return lambda: measure([python, ROOT / "bench/peer_turboloader.py", tar, *many, *options])
    result = {"olddog": ours(folder, "set.plan"), "olddog, tar": ours(tar, "tar.plan")}
    if python:
        result |= {TURBO: turbo()} | torch_subjects(python, folder, many, args.all) | {
            "DALI on the CPU": lambda: measure([python, ROOT / "bench/peer_dali.py", folder, *many])}
    if python and args.all:
        result |= {"TurboLoader, memory used again": turbo("--again"),
                   "TurboLoader, no antialias": turbo("--no-antialias")}
    debian = ["/usr/bin/python3", ROOT / "bench/peer_torchvision.py", folder, *many, "--workers", 2]
    return result | {"DataLoader, Pillow, Debian's": lambda: measure(debian),
                     "libjpeg-turbo alone": lambda: limit(pictures)}, missing


def main():
    parser = rounds.options("loader", __doc__, n_rounds=3)
    parser.add_argument("media", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--batches", type=int, default=500)
    parser.add_argument("--all", action="store_true", help="every recipe of the peers that was tried, too")
    parser.add_argument("--no-peers", action="store_true", help="without the peers that bench/peers fetches")
    args = parser.parse_args()
    pictures = sorted((args.media / "set").glob("*.jpg"))
    rounds.read_all(pictures)
    print(f"loader: {args.rounds} rounds of {args.batches} batches of {args.batch}, minutes each; --batches 100 is a "
          "rough figure", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory() as work:
        of, missing = subjects(args, pictures, Path(work))
        record = QUESTION.take(rounds.only(of, args.only), args.rounds,
                               {"page cache": "warm", "batch": args.batch, "batches": args.batches}, missing | NOT_HERE)
    rounds.finish(record, args)


if __name__ == "__main__":
    main()

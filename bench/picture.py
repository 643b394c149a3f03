# SPDX-License-Identifier: Apache-2.0
"""What does one picture cost on one core, with nothing around it?

Decode, random resized crop to 224, flip, normalised float32 CHW; the same pictures, their bytes in memory, one thread.
olddog's own code (bench/picture.c: media/ and worker/finish) beside torchvision on Pillow, torchvision's decode_jpeg
with transforms.v2 on uint8, and the bare program (bench/bare.c), which makes the same bytes with nothing around it. The
limit is libjpeg-turbo decoding what such crops look at, and no more (bench/jpeg_limit.c). CPU is of the work alone.
"""

import argparse
import os
import sys
from pathlib import Path

import rounds
from loader import limit
from rounds import ROOT, Measure, Question, Target, measure

V2, PILLOW, BARE = "torchvision decode_jpeg and v2", "torchvision on Pillow", "bare C, the same bytes"
LIMIT = "libjpeg-turbo alone"
QUESTION = Question("picture", "What does one picture cost on one core, with nothing around it?", {
    "cpu": Measure("CPU, ms per picture", "cpu_ms_per_sample"),
}, [
    Target("cpu", "olddog", PILLOW, at_least=2.3),
    Target("cpu", "olddog", V2, at_least=1.4),
    Target("cpu", "olddog", BARE, at_most=1.05),
    Target("cpu", "olddog", LIMIT)])


def main():
    parser = rounds.options("picture", __doc__, n_rounds=5)
    parser.add_argument("media", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--times", type=int, default=1, help="how often the 2400 pictures are taken in a round")
    args = parser.parse_args()
    pictures = sorted((args.media / "set").glob("*.jpg"))
    core = max(os.sched_getaffinity(0))
    python, missing = rounds.peers()

    digests = set()

    def c(name, what):
        argv = [ROOT / "build/bench" / name, args.times * len(pictures), *pictures]

        def run():
            result = measure(argv, core=core)
            digests.add(result["digest"])
            if len(digests) > 1:
                raise SystemExit("picture: olddog and the bare program made other bytes; their figures say nothing")
            return result | {"what": what}
        return run

    def torch(recipe):
        argv = [python, ROOT / "bench/peer_torchvision.py", args.media / "set", "--recipe", recipe, "--inline",
                "--batch", len(pictures), "--batches", args.times]
        return lambda: measure(argv, core=core)
    subjects = {"olddog": c("picture", rounds.olddog_version()), BARE: c("bare", "")}
    if python:
        subjects |= {V2: torch("v2"), PILLOW: torch("pillow")}
    subjects[LIMIT] = lambda: limit(pictures, ["taskset", "-c", core])
    told = {"pictures": len(pictures), "bytes": "in memory", "threads": 1}
    record = QUESTION.take(rounds.only(subjects, args.only), args.rounds, told, missing)
    rounds.finish(record, args)


if __name__ == "__main__":
    main()

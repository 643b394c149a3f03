# SPDX-License-Identifier: Apache-2.0
"""The peer: DALI on the CPU over a folder of pictures: decodes a random crop, resizes it (antialiased, as is its
default for shrinking), flips, normalises to float32 CHW, shuffled. Prints one line of JSON."""

import argparse
import json
import time
from pathlib import Path

import nvidia.dali as dali
from nvidia.dali import fn, types

MEAN, STD = [255 * x for x in (0.485, 0.456, 0.406)], [255 * x for x in (0.229, 0.224, 0.225)]


@dali.pipeline_def
def pipeline(files):
    encoded, _ = fn.readers.file(files=files, random_shuffle=True, name="reader")
    pictures = fn.decoders.image_random_crop(encoded, device="cpu", output_type=types.RGB, random_area=[0.08, 1.0],
                                             random_aspect_ratio=[3 / 4, 4 / 3])
    pictures = fn.resize(pictures, size=[224, 224], interp_type=types.INTERP_LINEAR, antialias=True)
    return fn.crop_mirror_normalize(pictures, dtype=types.FLOAT, output_layout="CHW", mean=MEAN, std=STD,
                                    mirror=fn.random.coin_flip(probability=0.5))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--batches", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    before_cpu_ms, waits = 1000 * time.process_time(), []
    began = last = time.perf_counter()
    pipe = pipeline([str(p) for p in sorted(args.folder.glob("*.jpg"))], batch_size=args.batch,
                    num_threads=args.threads, device_id=None, seed=7)
    pipe.build()
    for _ in range(args.batches):
        pipe.run()
        now = time.perf_counter()
        waits.append(now - last)
        last = now
    wall, n = last - began, args.batch * args.batches
    waits.sort()
    print(json.dumps({
        "what": f"DALI {dali.__version__}", "samples": n, "samples_per_s": n / wall, "before_cpu_ms": before_cpu_ms,
        "wait_p50_ms": 1000 * waits[len(waits) // 2], "wait_p99_ms": 1000 * waits[len(waits) * 99 // 100]}))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""The peer: TurboLoader over a tar of pictures: its random resized crop and flip while decoding, resized with
antialiasing as torchvision and we do, normalised float32 CHW, shuffled. Prints one line of JSON.

--again: into a ring of buffers that are used again (its pin_memory), as ours are, not into new memory for each batch.
"""

import argparse
import json
import time

import turboloader


def loader_of(args):
    return turboloader.DataLoader(
        args.tar, batch_size=args.batch, shuffle=True, image_size=224, output_format="pytorch",
        transform=turboloader.ImageNetNormalize(), train_aug=True, antialias=not args.no_antialias,
        pin_memory=args.again, drop_last=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tar")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--batches", type=int, default=1000)
    parser.add_argument("--no-antialias", action="store_true")
    parser.add_argument("--again", action="store_true")
    args = parser.parse_args()
    if args.again:
        import torch
        torch.set_num_threads(1)
    before_cpu_ms, waits, epoch = 1000 * time.process_time(), [], 0
    began = last = time.perf_counter()
    loader = loader_of(args)
    while len(waits) < args.batches:
        loader.set_epoch(epoch)
        epoch += 1
        for images, _ in loader:
            if images.shape != (args.batch, 3, 224, 224):
                raise SystemExit(f"a batch of {images.shape}")
            now = time.perf_counter()
            waits.append(now - last)
            last = now
            if len(waits) == args.batches:
                break
    wall, n = last - began, args.batch * args.batches
    waits.sort()
    print(json.dumps({
        "what": f"turboloader {turboloader.version()}", "samples": n, "samples_per_s": n / wall,
        "before_cpu_ms": before_cpu_ms, "wait_p50_ms": 1000 * waits[len(waits) // 2],
        "wait_p99_ms": 1000 * waits[len(waits) * 99 // 100]}))


if __name__ == "__main__":
    main()

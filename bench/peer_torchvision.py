# SPDX-License-Identifier: Apache-2.0
"""The peer: torch's DataLoader with torchvision's usual training recipe on Pillow, over a folder of pictures.

Run by Debian's /usr/bin/python3 (python3-torchvision). Prints one line of JSON. With --inline: one picture after
another in this process, without DataLoader: what the work itself costs there.
"""

import argparse
import json
import time
from pathlib import Path

import PIL
import torch
import torchvision
from PIL import Image
from torchvision import transforms


class Pictures(torch.utils.data.Dataset):
    def __init__(self, folder, size):
        self.paths = sorted(Path(folder).glob("*.jpg"))
        self.transform = transforms.Compose([
            transforms.RandomResizedCrop(size), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
            transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        with Image.open(self.paths[i]) as picture:
            return self.transform(picture.convert("RGB"))


def batches(data, args):
    """Indices of each batch: the whole set, shuffled, as often as it takes."""
    generator, order, i = torch.Generator().manual_seed(7), [], 0
    for _ in range(args.batches):
        while len(order) - i < args.batch:
            order = order[i:] + torch.randperm(len(data), generator=generator).tolist()
            i = 0
        yield order[i:i + args.batch]
        i += args.batch


def by_loader(data, args):
    """Seconds that each batch was waited for."""
    loader = torch.utils.data.DataLoader(data, batch_sampler=list(batches(data, args)), num_workers=args.workers)
    waits, began = [], time.perf_counter()
    for _ in loader:
        now = time.perf_counter()
        waits.append(now - began)
        began = now
    return waits


def inline(data, args):
    waits = []
    for indices in batches(data, args):
        began = time.perf_counter()
        torch.stack([data[i] for i in indices])
        waits.append(time.perf_counter() - began)
    return waits


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--batches", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--inline", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(7)
    data = Pictures(args.folder, args.size)
    before_cpu_ms, began = 1000 * time.process_time(), time.perf_counter()
    waits = (inline if args.inline else by_loader)(data, args)
    wall = time.perf_counter() - began
    n = args.batch * args.batches
    waits.sort()
    print(json.dumps({
        "what": f"torchvision {torchvision.__version__}, torch {torch.__version__}, Pillow {PIL.__version__}",
        "samples": n, "samples_per_s": n / wall, "before_cpu_ms": before_cpu_ms,
        "wait_p50_ms": 1000 * waits[len(waits) // 2], "wait_p99_ms": 1000 * waits[len(waits) * 99 // 100]}))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""The peer: torch's DataLoader with torchvision, over a folder of pictures. Prints one line of JSON.

Recipes, each random resized crop to 224, flip, normalised float32:
    pillow   what everybody has: Pillow decodes, transforms of pictures, ToTensor, Normalize
    v2       decode_jpeg and transforms.v2 on uint8 tensors, resized as uint8, then float32
    late     the same, but workers give batches of uint8, and the trainer's process normalises a batch at once, into
             memory that it has touched before
    late-new as late, but each batch into new memory

Run by Debian's /usr/bin/python3 (python3-torchvision: pillow only) or the environment of bench/peers. With --inline:
one picture after another in this process, its bytes in memory, without DataLoader: what the work itself costs there.
"""

import argparse
import io
import json
import time
from pathlib import Path

import PIL
import torch
import torchvision
from PIL import Image

RECIPES = ["pillow", "v2", "late", "late-new"]
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def pillow_recipe(size):
    from torchvision import transforms
    chain = transforms.Compose([
        transforms.RandomResizedCrop(size), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
        transforms.Normalize(MEAN, STD)])

    def prepare(source):
        with Image.open(source) as picture:
            return chain(picture.convert("RGB"))
    return prepare


def v2_recipe(size, late):
    from torchvision.io import ImageReadMode, decode_jpeg, read_file
    from torchvision.transforms import v2
    finish = [] if late else [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
    chain = v2.Compose([v2.RandomResizedCrop(size, antialias=True), v2.RandomHorizontalFlip(), *finish])

    def prepare(source):
        encoded = read_file(str(source)) if isinstance(source, Path) else source
        return chain(decode_jpeg(encoded, mode=ImageReadMode.RGB))
    return prepare


def recipe_of(name, size):
    """What makes a tensor of a path, or of bytes."""
    return pillow_recipe(size) if name == "pillow" else v2_recipe(size, name.startswith("late"))


def versions(recipe):
    return (f"torchvision {torchvision.__version__}, torch {torch.__version__}"
            + (f", Pillow {PIL.__version__}" if recipe == "pillow" else ""))


class Normalize:
    """Of a batch of uint8, in place in one buffer, or in new memory."""

    def __init__(self, again):
        self.mean, self.std = (255 * torch.tensor(x).view(1, 3, 1, 1) for x in (MEAN, STD))
        self.again, self.buffer = again, None

    def __call__(self, batch):
        if self.buffer is None or not self.again:
            self.buffer = torch.empty(batch.shape, dtype=torch.float32)
        return self.buffer.copy_(batch).sub_(self.mean).div_(self.std)


class Pictures(torch.utils.data.Dataset):
    def __init__(self, paths, prepare):
        self.paths, self.prepare = paths, prepare

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        return self.prepare(self.paths[i])


def batches(n_pictures, args):
    """Indices of each batch: the whole set, shuffled, as often as it takes."""
    generator, order, i = torch.Generator().manual_seed(7), [], 0
    for _ in range(args.batches):
        while len(order) - i < args.batch:
            order = order[i:] + torch.randperm(n_pictures, generator=generator).tolist()
            i = 0
        yield order[i:i + args.batch]
        i += args.batch


def by_loader(data, args):
    """Seconds that each batch was waited for; normalising late is part of it. One long epoch, so workers start once."""
    finish = Normalize(args.recipe == "late") if args.recipe.startswith("late") else None
    loader = torch.utils.data.DataLoader(data, batch_sampler=list(batches(len(data), args)), num_workers=args.workers,
                                         prefetch_factor=args.prefetch)
    waits, began = [], time.perf_counter()
    for batch in loader:
        if finish:
            finish(batch)
        now = time.perf_counter()
        waits.append(now - began)
        began = now
    return waits


def inline(paths, prepare, args):
    """CPU milliseconds of a picture."""
    encoded = [path.read_bytes() for path in paths]
    if args.recipe != "pillow":
        encoded = [torch.frombuffer(bytearray(b), dtype=torch.uint8) for b in encoded]
    n, began = args.batch * args.batches, time.process_time()
    for i in range(n):
        source = encoded[i % len(encoded)]
        prepare(io.BytesIO(source) if args.recipe == "pillow" else source)
    return 1000 * (time.process_time() - began) / n


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--recipe", choices=RECIPES, default="pillow")
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--batches", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--prefetch", type=int, default=2)
    parser.add_argument("--inline", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(7)
    paths = sorted(args.folder.glob("*.jpg"))
    prepare = recipe_of(args.recipe, args.size)
    result = {"what": versions(args.recipe), "samples": args.batch * args.batches}
    if args.inline:
        print(json.dumps(result | {"cpu_ms_per_sample": inline(paths, prepare, args)}))
        return
    before_cpu_ms, began = 1000 * time.process_time(), time.perf_counter()
    waits = by_loader(Pictures(paths, prepare), args)
    wall = time.perf_counter() - began
    waits.sort()
    print(json.dumps(result | {
        "samples_per_s": result["samples"] / wall, "before_cpu_ms": before_cpu_ms,
        "wait_p50_ms": 1000 * waits[len(waits) // 2], "wait_p99_ms": 1000 * waits[len(waits) * 99 // 100]}))


if __name__ == "__main__":
    main()

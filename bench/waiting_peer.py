# SPDX-License-Identifier: Apache-2.0
"""The peer of bench/waiting.py: torch's DataLoader with torchvision, by a recipe of peer_torchvision.py, in a given
order, each file as late as delays.py says. Prints one line of JSON."""

import argparse
import json
import time
from pathlib import Path

import torch

from delays import Delays
from peer_torchvision import RECIPES, Normalize, recipe_of, versions


class Pictures(torch.utils.data.Dataset):
    def __init__(self, folder, keys, delays, prepare):
        self.paths = [folder / f"{key}.jpg" for key in keys]
        self.delays_s = [delays.of(path) / 1e9 for path in self.paths]
        self.prepare = prepare

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        time.sleep(self.delays_s[i])
        return self.prepare(self.paths[i])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--batches", type=int, required=True)
    parser.add_argument("--step-ms", type=float, required=True)
    parser.add_argument("--order", type=Path, required=True)
    parser.add_argument("--delays", required=True)
    parser.add_argument("--recipe", choices=RECIPES, required=True)
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--prefetch", type=int, required=True)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(7)
    batches = json.loads(args.order.read_text())[:args.batches]
    keys = sorted({key for batch in batches for key in batch})
    number = {key: i for i, key in enumerate(keys)}
    data = Pictures(args.folder, keys, Delays(**json.loads(args.delays)), recipe_of(args.recipe, 224))
    finish = Normalize(args.recipe == "late") if args.recipe.startswith("late") else None
    before_cpu_ms, began = 1000 * time.process_time(), time.perf_counter()
    loader = torch.utils.data.DataLoader(data, batch_sampler=[[number[key] for key in batch] for batch in batches],
                                         num_workers=args.workers, prefetch_factor=args.prefetch)
    waits, asked = [], began
    for batch in loader:
        if finish:
            finish(batch)
        waits.append(1000 * (time.perf_counter() - asked))
        if len(waits) < len(batches):
            time.sleep(args.step_ms / 1000)
        asked = time.perf_counter()
    n, wall = sum(map(len, batches)), time.perf_counter() - began
    print(json.dumps({"what": versions(args.recipe), "waits_ms": waits, "samples": n, "samples_per_s": n / wall,
                      "before_cpu_ms": before_cpu_ms}))


if __name__ == "__main__":
    main()

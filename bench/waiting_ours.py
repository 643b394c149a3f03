# SPDX-License-Identifier: Apache-2.0
"""olddog.Loader's side of bench/waiting.py: writes which samples its batches had, prints one line of JSON."""

import argparse
import json
import time
from pathlib import Path

import olddog


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plan")
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--batches", type=int, required=True)
    parser.add_argument("--step-ms", type=float, required=True)
    parser.add_argument("--order", type=Path, required=True)
    args = parser.parse_args()
    before_cpu_ms = 1000 * time.process_time()
    waits, keys, began = [], [], time.perf_counter()
    asked = began
    loader = olddog.Loader(args.plan, batch=args.batch)
    while len(waits) < args.batches:
        for batch in loader:
            waits.append(1000 * (time.perf_counter() - asked))
            keys.append(batch.key)
            if len(waits) == args.batches:
                break
            time.sleep(args.step_ms / 1000)
            asked = time.perf_counter()
    n, wall = args.batch * args.batches, time.perf_counter() - began
    args.order.write_text(json.dumps(keys))
    print(json.dumps({"waits_ms": waits, "samples": n, "samples_per_s": n / wall, "before_cpu_ms": before_cpu_ms}))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""A peer that is given the delays of bench/delays.py meets those of a store with #fault=."""

import importlib.util
import subprocess
from pathlib import Path

DELAYS = Path(__file__).resolve().parent.parent.parent / "bench/delays.py"


def delays_module():
    spec = importlib.util.spec_from_file_location("delays", DELAYS)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_peer_repeats_the_delays_exactly(build):
    plan = delays_module().Delays(seed=7 + 2**40, min_ns=5_000_000, max_ns=30_000_000, slow_p=0.1, slow_ns=300_000_000)
    places = [(path, offset) for path in ("a", "data/set/000017.jpg", "//x/./y/ä.jpg") for offset in
              (0, 1, 512, 2**32 - 1, 2**32, 2**40 + 3, 2**62, *range(10**6, 10**6 + 100))]
    asked = "".join(f"{path}\t{offset}\n" for path, offset in places)
    value = plan.suffix().removeprefix("#fault=")
    out = subprocess.run([build / "tests/fault-dump", value], input=asked, stdout=subprocess.PIPE, text=True, check=True)
    got = [int(line) for line in out.stdout.split()]
    assert got == [plan.of(path, offset) for path, offset in places]
    slow = sum(ns >= 300_000_000 for ns in got)
    assert 0.04 * len(got) < slow < 0.2 * len(got) and len(set(got)) > len(got) * 0.9

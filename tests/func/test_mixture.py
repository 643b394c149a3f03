# SPDX-License-Identifier: Apache-2.0
"""Two sources of very unequal size, half and half: the shares of each block of draws, on any number of ranks, resumed."""

import hashlib
import re

import numpy as np
import pytest
from test_read import add, position

BLOCK = 4096
SPEC = """
sources:
  - {{data: '{few}', weight: 0.5, on_end: repeat}}
  - {{data: '{many}', weight: 0.5, on_end: repeat}}
fields:
  txt: {{from: txt, as: text}}
seed: 3
order: {order}
global_batch: 24
"""


@pytest.fixture(scope="module")
def sources(tar, tmp_path_factory):
    """Tars of 10 and of 1,000 texts; ({digest: text}, the tars)"""
    folder = tmp_path_factory.mktemp("sources")
    texts = {}
    for name, n in (("few", 10), ("many", 1000)):
        tar(folder / f"{name}.tar", [(f"{i:04d}.txt", f"{name} {i}".encode()) for i in range(n)])
        for i in range(n):
            h = hashlib.sha256()
            add(h, "txt", "text", np.frombuffer(f"{name} {i}".encode(), np.uint8))
            texts[h.hexdigest()] = f"{name} {i}"
    return texts, {name: folder / f"{name}.tar" for name in ("few", "many")}


@pytest.fixture(params=["sequential", "shuffle"])
def spec(request, sources, tmp_path):
    path = tmp_path / "mixture.yaml"
    path.write_text(SPEC.format(order=request.param, **sources[1]))
    return path


def texts_of(lines, sources):
    return [sources[0][re.search("sha256=([0-9a-f]+)", line).group(1)] for line in lines]


def test_two_blocks_have_their_shares(olddog, spec, sources):
    lines = olddog.lines("read", spec, "--epochs", 0, "--samples", 2 * BLOCK, "--digest=sample")
    assert [position(line) for line in lines] == list(range(2 * BLOCK))
    texts = texts_of(lines, sources)
    for block in (texts[:BLOCK], texts[BLOCK:]):
        assert abs(sum(t.startswith("few ") for t in block) - BLOCK // 2) <= 1
    assert abs(sum(t.startswith("few ") for t in texts) - BLOCK) <= 1
    assert len(set(texts)) == 1010
    # Read again and again, as evenly as it goes, but for the block's order at its end.
    few = [t for t in texts if t.startswith("few ")]
    assert {few.count(t) for t in set(few)} <= set(range(BLOCK // 10 - 1, BLOCK // 10 + 3))


def test_ranks_and_resumes_have_the_same_mixture(olddog, spec, tmp_path):
    whole = olddog.lines("read", spec, "--epochs", 0, "--samples", 2 * BLOCK, "--digest=sample")
    assert olddog.lines("read", spec, "--epochs", 0, "--from", 137, "--samples", 2 * BLOCK - 137, "--digest=sample") == whole[137:]
    for size in (3, 8):
        # Global batches of 24, the last one whole: somewhat more than two blocks.
        n = -(-2 * BLOCK // 24) * 24 // size
        ranks = [olddog.lines("read", spec, "--epochs", 0, "--dp-rank", r, "--dp-size", size, "--samples", n, "--digest=sample")
                 for r in range(size)]
        assert sorted(sum(ranks, []), key=position)[:2 * BLOCK] == whole


def test_an_epoch_ends_when_the_longest_source_was_read_once(olddog, spec, sources):
    lines = olddog.lines("read", spec, "--digest=sample")
    texts = texts_of(lines, sources)
    assert {t for t in texts if t.startswith("many ")} == {f"many {i}" for i in range(1000)}
    assert len(texts) in range(1999, 2002)
    # Stops and goes on across the ends of epochs.
    state = spec.parent / "state.json"
    parts = [olddog.lines("read", spec, "--epochs", 3, "--samples", n, "--state", state, "--digest=sample") for n in (137, 2400, 999)]
    assert sum(parts, []) == olddog.lines("read", spec, "--epochs", 3, "--samples", 3536, "--digest=sample")

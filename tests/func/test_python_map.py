# SPDX-License-Identifier: Apache-2.0
"""olddog.Loader(map=) and olddog.Key: Python of one's own, with random numbers that follow from the position."""

import hashlib

import numpy as np
import pytest
from python_help import digests, olddog
from test_python_loader import load, mapping_of, spec  # noqa: F401 (fixtures)

# Those that a test expects, it catches; pytest-xdist cannot hand on warnings of a class that it cannot import.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def philox(seed, position, draw):
    """Philox4x32-10 as doc/design has it, in plain integers."""
    digest = hashlib.sha256(seed.to_bytes(8, "little") + b"map").digest()
    k0, k1 = int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:8], "little")
    c0, c1, c2, c3 = position & 0xFFFFFFFF, position >> 32, 0, draw
    for _ in range(10):
        a, b = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (b >> 32) ^ c1 ^ k0, b & 0xFFFFFFFF, (a >> 32) ^ c3 ^ k1, a & 0xFFFFFFFF
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return [c0, c1, c2, c3]


def test_a_keys_numbers_are_philox_of_seed_and_position():
    for seed, position in ((0, 0), (7, 5), (2**64 - 1, 2**40 + 3)):
        key, want = olddog.Key(seed, position), [x for d in range(5) for x in philox(seed, position, d)]
        got = [int(x) for n in (1, 0, 5, 2, 12) for x in key.random(n)]
        assert got == want and key.random(0).dtype == np.uint32
        assert olddog.Key(seed, position).uniform(3).tolist() == [(w + 0.5) / 2**32 for w in want[:3]]
    a, b = olddog.Key(7, 5), olddog.Key(7, 6)
    assert a.generator().random() == olddog.Key(7, 5).generator().random() != b.generator().random()
    assert a.generator("other").random() != a.generator().random()


def augment(sample, key):
    return {"noise": sample["image"] + key.uniform(1)[0].astype(np.float32), "tokens": sample["text"].split(),
            "position": key.position, "order": key.generator().permutation(5)}


def test_map_gives_the_same_on_every_rank_count(load):
    found = {}
    for size in (1, 3):
        for rank in range(size):
            for batch in load(global_batch=16, tail="short", dp_rank=rank, dp_size=size, map=augment):
                assert list(batch) == ["noise", "tokens", "position", "order"]
                assert batch["position"].tolist() == batch.position.tolist() and batch["order"].shape[1] == 5
                for i, p in enumerate(batch.position.tolist()):
                    found.setdefault(p, []).append((batch["noise"][i].tobytes(), batch["order"][i].tobytes(), batch["tokens"][i]))
    assert sorted(found) == list(range(100)) and all(len(v) == 2 and v[0] == v[1] for v in found.values())


def test_a_field_that_map_passes_on_is_not_copied(load):
    def tokenize(sample):
        sample["tokens"] = [len(sample["text"])] * 3
        del sample["text"]
        return sample
    batch = next(iter(load(batch=4, map=tokenize)))
    assert "memfd:" in mapping_of(batch["image"]) and list(batch) == ["image", "label", "tokens"]
    assert batch["tokens"] == [[9 + len(str(int(k)))  - 1] * 3 for k in batch.key] and batch["label"].dtype == np.int64


def test_unequal_shapes_stay_a_list(load):
    batch = next(iter(load(batch=4, map=lambda s: {"a": np.zeros(s["label"] + 1), "f": 0.5, "s": "x"})))
    assert [len(a) for a in batch["a"]] == [int(k) % 7 + 1 for k in batch.key]
    assert batch["f"].dtype == np.float64 and batch["s"] == ["x"] * 4


def test_a_batch_whose_map_raised_comes_again(load):
    calls = []

    def once(sample, key):
        calls.append(key.position)
        if len(calls) == 7:
            raise RuntimeError("seventh")
        return sample
    loader, found = load(batch=4, map=once), {}
    iterator = iter(loader)
    found.update(digests(next(iterator)))
    with pytest.raises(RuntimeError, match="seventh"):
        next(iterator)
    assert loader.consumed == 4 and loader.state_dict()["consumed"] == 4 and loader.n_batches_left == 24
    for batch in loader:
        found.update(digests(batch))
    assert sorted(found) == list(range(100)) and calls[:11] == [0, 1, 2, 3, 4, 5, 6, 4, 5, 6, 7]


@pytest.mark.parametrize("function, words", [
    (lambda sample: None, "gave a NoneType for position 0; it must give a dict"),
    (lambda sample, key: {"a": 1} if key.position < 2 else {"b": 1}, r"\['b'\] for position 2"),
])
def test_what_map_must_give(load, function, words):
    with pytest.raises((TypeError, ValueError), match=words):
        next(iter(load(batch=4, map=function)))

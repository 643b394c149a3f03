# SPDX-License-Identifier: Apache-2.0
"""olddog.Loader: what batches are, whose memory they show, and where a Loader is."""

import gc
import json
import pickle
import re
import threading
import warnings

import numpy as np
import pytest
from python_help import digests, olddog, write_spec
from olddog.batch import batch_of

IMAGE = "{from: jpg, decode: {mode: rgb}, resize: [32, 40], dtype: %s, layout: chw}"

# Those that a test expects, it catches; pytest-xdist cannot hand on warnings of a class that it cannot import.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture
def spec(set_shards, tmp_path):
    return write_spec(tmp_path / "spec.yaml", f"{set_shards[0]}/*.tar")


@pytest.fixture
def load(spec):
    """Makes Loaders with two workers, of the test's spec when no path is given; closed with the test."""
    made = []

    def make(path=spec, **kw):
        made.append(olddog.Loader(path, **{"workers": 2, **kw}))
        return made[-1]
    yield make
    for loader in made:
        loader.close()


def lines(batches):
    """Digest lines by position."""
    found = {}
    for batch in batches:
        found.update(digests(batch))
    return found


@pytest.fixture
def whole(olddog, spec):
    """Digest lines of an epoch, as `olddog read` prints them."""
    return olddog.lines("read", spec, "--digest=sample")


# --- what a batch is

def test_arrays_texts_numbers_and_who_they_are(load):
    batches = list(load(batch=8))
    assert len(batches) == 13
    for b in batches[:12]:
        assert isinstance(b, dict) and list(b) == ["image", "text", "label"]
        assert b["image"].dtype == np.float32 and b["image"].shape == (8, 3, 48, 48)
        assert b["label"].dtype == np.int64 and b["label"].tolist() == [int(k) % 7 for k in b.key]
        assert b["text"] == [f"picture {int(k)}" for k in b.key]
        assert b.position.dtype == np.uint64 and b.epoch == 0 and b.n_real == 8 and not b.substituted and not b.sizes
    assert np.concatenate([b.position for b in batches]).tolist() == list(range(100))
    assert sorted(k for b in batches for k in b.key) == [f"{i:06d}" for i in range(100)]
    assert [b.number for b in batches] == list(range(13)) and [b.last for b in batches] == [False] * 12 + [True]
    assert batches[-1]["image"].shape[0] == 4 and batches[-1].consumed == 100


def test_the_bytes_are_those_that_read_digests(load, whole):
    assert list(lines(load(batch=7)).values()) == whole


@pytest.mark.parametrize("name, numpy_name", [("uint8", "uint8"), ("float16", "float16"), ("bfloat16", "uint16"), ("float32", "float32")])
def test_dtypes(load, set_shards, tmp_path, olddog, name, numpy_name):
    spec = write_spec(tmp_path / "dtype.yaml", f"{set_shards[0]}/00000.tar", fields="\n  image: " + IMAGE % name)
    batch = next(iter(load(spec, batch=10)))
    assert batch["image"].dtype.name == numpy_name and batch["image"].shape == (10, 3, 32, 40)
    assert batch.bfloat16 == ({"image"} if name == "bfloat16" else frozenset())
    assert list(digests(batch).values()) == olddog.lines("read", spec, "--digest=sample")


def test_bytes_and_json(load, tar, tmp_path):
    tar(tmp_path / "a.tar", [m for i in range(5) for m in ((f"{i}.bin", b"\xff" * i), (f"{i}.json", b'{"n": [%d, null]}' % i))])
    spec = write_spec(tmp_path / "b.yaml", tmp_path / "a.tar", fields="\n  a: {from: bin, as: bytes}\n  b: {from: json, as: json}")
    batch = next(iter(load(spec, batch=5)))
    i = [int(k) for k in batch.key]
    assert [bytes(v) for v in batch["a"]] == [b"\xff" * k for k in i] and all(v.readonly for v in batch["a"])
    assert batch["b"] == [{"n": [k, None]} for k in i]


def test_pad_tells_the_samples_own_sizes(load, set_shards, tmp_path, olddog):
    fields = "\n  image: {from: jpg, decode: {mode: rgb}, resize: 40, collate: pad}"
    spec = write_spec(tmp_path / "pad.yaml", f"{set_shards[0]}/0000[0-2].tar", fields=fields)
    batch = next(iter(load(spec, batch=30)))
    sizes = batch.sizes["image"]
    assert sizes.shape == (30, 3) and len({tuple(s) for s in sizes.tolist()}) > 1
    assert batch["image"].shape == (30, *sizes.max(0))
    for padded, (h, w, c) in zip(batch["image"], sizes.tolist()):
        assert not padded[h:].any() and not padded[:, w:].any()
    batch["image"] = [padded[:h, :w] for padded, (h, w, c) in zip(batch["image"], sizes.tolist())]
    assert list(digests(batch).values()) == olddog.lines("read", spec, "--digest=sample")


@pytest.mark.parametrize("chain", ["", ", resize: 40, layout: chw", ", resize: [32, 40], dtype: bfloat16"])
def test_ragged_gives_each_picture_its_own_shape(load, set_shards, tmp_path, olddog, chain):
    """As many bytes as are there, and the digests of a field that is not collated, whether a step fixes the shape or not."""
    data = f"{set_shards[0]}/0000[0-2].tar"
    fields = "\n  text: txt\n  image: {from: jpg%s, collate: %s}"
    spec = write_spec(tmp_path / "ragged.yaml", data, fields=fields % (chain, "ragged"))
    batch = next(iter(load(spec, batch=30)))
    assert [list(a.shape) for a in batch["image"]] == batch.sizes["image"].tolist() and len(batch["image"]) == 30
    found = list(digests(batch).values())
    for collate in ("ragged", "pad"):
        assert found == olddog.lines("read", write_spec(tmp_path / "a.yaml", data, fields=fields % (chain, collate)), "--digest=sample")
    got = next(iter(load(spec, batch=30, map=lambda s: {"image": s["image"], "n": s["image"].size})))
    assert [a.shape for a in got["image"]] == [a.shape for a in batch["image"]]
    assert got["n"].tolist() == [a.size for a in batch["image"]]


def test_ragged_pictures_are_a_list_of_views():
    """As libolddog describes them: elements one after another, offsets, sizes."""
    class Raw:
        data, offsets = np.arange(22, dtype=np.float32), np.array([0, 4, 10, 22], np.uint64)
        sizes = np.array([[2, 2, 1], [1, 2, 3], [3, 4, 1]], np.uint32)

        def info(self):
            return {"n_real": 3, "epoch": 0, "number": 0, "end": 3, "last": False, "n_fields": 1}

        def field(self, i):
            return {"name": "image", "kind": 1, "dtype": 5, "shape": (22,), "data": self.data, "offsets": self.offsets,
                    "sizes": self.sizes}
    batch = batch_of(Raw())
    assert [a.shape for a in batch["image"]] == [(2, 2, 1), (1, 2, 3), (3, 4, 1)]
    assert np.concatenate([a.ravel() for a in batch["image"]]).tolist() == list(range(22))
    assert all(np.shares_memory(a, Raw.data) for a in batch["image"])


def test_a_substitute_says_for_whom_it_stands(load, set_shards, tar, tmp_path):
    pictures = set_shards[1]
    members = [(f"{i}.jpg", pictures[i].read_bytes() if i != 3 else b"\xff\xd8 no picture") for i in range(10)]
    tar(tmp_path / "a.tar", members)
    field = "\n  image: " + IMAGE % "uint8"
    skips = write_spec(tmp_path / "skips.yaml", tmp_path / "a.tar", "on_error: {decode: skip}", field)
    batch = next(iter(load(skips, batch=10)))
    assert len(batch.substituted) == 1 and list(batch.substituted.values()) == ["3"] and "3" not in batch.key
    stops = write_spec(tmp_path / "stops.yaml", tmp_path / "a.tar", "", field)
    with pytest.raises(olddog.BadSample, match="3"):
        list(load(stops, batch=5))


def test_a_rank_without_samples_keeps_step_and_is_told_of(load):
    """100 = 3 x 33 + 1, and the one is the last rank's."""
    with pytest.warns(olddog.Warning, match="no sample"):
        batches = list(load(global_batch=33, tail="short", dp_rank=0, dp_size=4))
    assert [len(b.key) for b in batches] == [8, 8, 8, 0] and batches[3]["image"].shape == (0, 3, 48, 48)


def test_pad_tells_what_is_real(load):
    batch = list(load(batch=8, tail="pad"))[-1]
    assert batch.n_real == 4 and batch["image"].shape[0] == 8 and len(batch.key) == 8


# --- whose memory it is

def mapping_of(array):
    """The line of /proc/self/maps that an array's first byte lies in."""
    address = array.ctypes.data
    for line in open("/proc/self/maps"):
        begin, end = (int(x, 16) for x in line.split(" ", 1)[0].split("-"))
        if begin <= address < end:
            return line
    raise AssertionError("not mapped")


def test_pixels_are_views_of_the_loaders_memory(load):
    batch = next(iter(load(batch=8)))
    assert "memfd:" in mapping_of(batch["image"]) and not batch["image"].flags.owndata
    assert batch["image"].ctypes.data % 64 == 0 and batch["image"].flags.writeable


def test_memory_is_used_again_when_the_last_view_is_gone(load):
    loader, seen = load(batch=1), []
    for _ in range(4):
        for batch in loader:
            seen.append(batch["image"].ctypes.data)
            del batch
    # As many as are made ahead for whoever takes them at once, 64, and those on their way.
    assert len(seen) == 400 and len(set(seen)) <= 75


def test_a_view_keeps_its_bytes_whatever_else_goes(load, whole):
    loader = load(batch=10)
    held = [b["image"][i:i + 1] for b in [next(iter(loader))] for i in range(10)]
    before = [h.tobytes() for h in held]
    for batch in loader:
        del batch
    loader.close()
    del loader
    gc.collect()
    assert [h.tobytes() for h in held] == before


def test_labels_and_texts_hold_no_memory(load):
    kept = []
    for epoch in range(2):
        for batch in load(batch=10, max_bytes=3_000_000):
            kept.append((batch["label"], batch["text"], batch.position, batch.key))
            del batch
    assert len(kept) == 20


def test_holding_all_memory_is_an_error_that_names_the_limit_and_passes(load, whole):
    loader, held = load(batch=10, max_bytes=2_000_000), []
    iterator = iter(loader)
    with pytest.raises(olddog.Held, match="2000000"):
        for batch in iterator:
            held.append(batch)
    found = lines(held)
    assert 0 < len(held) < 10 and loader.consumed == 10 * len(held)
    del batch, held
    found.update(lines(iter(loader)))
    assert list(found.values()) == whole


def test_batches_may_be_dropped_by_other_threads(load, whole):
    loader, found, held = load(batch=2, max_bytes=4_000_000), {}, []
    for batch in loader:
        found.update(digests(batch))
        held.append(batch)
        del batch
        if len(held) == 5:
            thread = threading.Thread(target=held.clear)
            thread.start()
            thread.join()
    assert list(found.values()) == whole


# --- epochs, lengths, states

def test_iter_is_the_rest_of_the_epoch_and_then_the_next(load):
    loader = load(batch=8)
    assert len(loader) == 13 and loader.n_batches_left == 13 and loader.consumed == 0
    for n, batch in enumerate(loader):
        if n == 2:
            break
    assert len(loader) == 13 and loader.n_batches_left == 10 and loader.consumed == 24
    rest = [b.position[0] for b in loader]
    assert rest == list(range(24, 100, 8)) and loader.epoch == 1 and loader.consumed == 100
    iterator = iter(loader)
    assert {b.epoch for b in iterator} == {1} and next(iterator, None) is None
    assert loader.epoch == 2


def test_epochs_end(load):
    loader = load(batch=10, epochs=2)
    assert [len(list(loader)) for _ in range(4)] == [10, 10, 0, 0]


def test_drop_and_carry(load):
    drop = load(batch=8, tail="drop")
    assert len(drop) == 12 and [len(list(drop)) for _ in range(2)] == [12, 12]
    carry = load(batch=8, tail="carry")
    positions = [p for _ in range(2) for b in carry for p in b.position.tolist()]
    assert positions == list(range(200))


def test_saved_twice_and_resumed_equals_uninterrupted(load, whole):
    loader, found = load(batch=2), []
    for _, batch in zip(range(5), loader):
        found.append(digests(batch))
    for n in (3, 3):
        state = json.loads(json.dumps(loader.state_dict()))
        loader.close()
        loader = load(batch=2, state=state)
        iterator = iter(loader)
        found += [digests(next(iterator)) for _ in range(n)]
    assert [line for d in found for line in d.values()] == whole[:22] and loader.consumed == 22


def test_what_is_prepared_ahead_is_not_consumed(load):
    loader = load(batch=5)
    iterator = iter(loader)
    for n in range(1, 4):
        next(iterator)
        assert loader.state_dict()["consumed"] == 5 * n


def test_load_state_dict_goes_back_and_forth(load, whole):
    loader = load(batch=4)
    iterator = iter(loader)
    first = [digests(next(iterator)) for _ in range(3)]
    state = loader.state_dict()
    second = digests(next(iterator))
    loader.load_state_dict(state)
    assert digests(next(iter(loader))) == second
    loader.load_state_dict({**state, "consumed": 0})
    assert [digests(b) for _, b in zip(range(3), loader)] == first


@pytest.mark.parametrize("size", [1, 3, 8])
def test_all_ranks_together_are_the_epoch(load, whole, size):
    found = {}
    for rank in range(size):
        found.update(lines(load(global_batch=16, tail="short", dp_rank=rank, dp_size=size)))
    assert [found[p] for p in sorted(found)] == whole


def test_resumed_on_other_rank_counts(load, whole):
    found, state = {}, None
    for size, n in ((1, 1), (3, 2), (8, 2), (2, 2)):
        states = []
        for rank in range(size):
            loader = load(global_batch=16, tail="short", dp_rank=rank, dp_size=size, state=state)
            for _, batch in zip(range(n), loader):
                found.update(digests(batch))
            states.append(loader.state_dict())
            loader.close()
        assert all(s == states[0] for s in states)
        state = states[0]
    assert [found[p] for p in sorted(found)] == whole and state["consumed"] == 100


def test_other_fields_warn_and_another_order_is_refused(load, set_shards, tmp_path):
    state = load(batch=4).state_dict()
    with pytest.warns(olddog.Warning, match="fields"):
        load(batch=4, fields=["label"], state=state)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(batch=8, state=state)
    other = load(write_spec(tmp_path / "other.yaml", f"{set_shards[0]}/0000[0-4].tar"), batch=4)
    first = next(iter(other)).position.tolist()
    with pytest.raises(olddog.OtherOrder, match=state["order_id"][:8]):
        other.load_state_dict(state)
    assert first == [0, 1, 2, 3] and next(iter(other)).position.tolist() == [4, 5, 6, 7]


def test_fields_in_the_order_asked_and_a_transform_of_ones_own(load):
    batch = next(iter(load(batch=3, fields=["label", "image"], transform="{resize: [20, 30], dtype: uint8}")))
    assert list(batch) == ["label", "image"] and batch["image"].shape == (3, 20, 30, 3) and batch["image"].dtype == np.uint8


def test_several_paths_and_a_bare_folder(load, set_shards):
    both = load([set_shards[0] / "00000.tar", str(set_shards[0] / "00001.tar")], batch=10, fields=["txt", "cls"])
    assert both.n_samples == 20 and next(iter(both))["txt"][0] == "picture 0"
    assert load(set_shards[0], batch=10, fields=["txt"]).n_samples == 100


def test_what_a_loader_tells_of_itself(load):
    loader = load(batch=4, dp_rank=1, dp_size=2)
    assert re.fullmatch(r"[0-9a-f]{64}", loader.order_id) and loader.seed == 7 and loader.epoch_len == 100
    assert loader.global_batch == 8 and loader.order_id[:8] in repr(loader) and "rank 1 of 2" in repr(loader)
    assert set(loader.state_dict()) == {"v", "order_id", "fields_id", "consumed"}
    assert "image: float32 (4, 3, 48, 48)" in repr(next(iter(loader)))


# --- misuse

@pytest.mark.parametrize("kw, error, words", [
    (dict(path="/no/such/thing.tar"), olddog.Error, "/no/such/thing.tar"),
    (dict(path=7), TypeError, "is not a path"),
    (dict(path=[]), ValueError, "no path"),
    (dict(batch=0), ValueError, "batch=0; it must be 1"),
    (dict(batch=2.5), TypeError, "batch=2.5 is a float"),
    (dict(batch=8, global_batch=16), ValueError, "give one of them"),
    (dict(fields="image"), TypeError, r"fields=\['image'\]"),
    (dict(fields=["imaeg"]), olddog.BadSpec, "imaeg"),
    (dict(transform="imagenet_trian"), olddog.BadSpec, "imagenet_trian"),
    (dict(transform=lambda x: x), TypeError, "map="),
    (dict(map="f"), TypeError, "must be a function"),
    (dict(map=lambda a, b, c: a), TypeError, "must take"),
    (dict(dp_rank=4, dp_size=4), ValueError, "ranks go from 0"),
    (dict(tail="dropp"), ValueError, "short, drop, pad, carry"),
    (dict(state={"v": 1}), ValueError, "order_id"),
    (dict(state={"v": 9, "order_id": "0" * 64, "consumed": 0}), ValueError, "version"),
    (dict(state=5), TypeError, "state_dict"),
    (dict(timeout=0), ValueError, "timeout=0"),
    (dict(global_batch=1000, tail="drop"), ValueError, "leaves none"),
])
def test_wrong_arguments_are_named(load, kw, error, words):
    with pytest.raises(error, match=words):
        load(**kw)


def test_a_closed_loader_and_one_that_is_pickled_say_so(load):
    loader = load(batch=4)
    with pytest.raises(TypeError, match="cannot be pickled.*state_dict"):
        pickle.dumps(loader)
    with loader:
        batch = next(iter(loader))
    with pytest.raises(ValueError, match="closed"):
        next(iter(loader))
    assert pickle.loads(pickle.dumps(batch))["text"] == batch["text"]

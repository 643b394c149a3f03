# SPDX-License-Identifier: Apache-2.0
"""A batch as Python sees it: from the parts that libolddog names to arrays, texts and objects."""

import json

import numpy as np

IMAGE, BYTES, TEXT, INT, FLOAT, JSON = range(1, 7)

# bfloat16 is uint16 holding the bits: numpy has no such type.
BFLOAT16 = 4
_DTYPES = {1: np.uint8, 2: np.int64, 3: np.float16, BFLOAT16: np.uint16, 5: np.float32, 6: np.float64}


class Batch(dict):
    """Fields by name. Pixels and `bytes` are views of the loader's memory, which is used again when the last is gone;
    numbers, texts and JSON are Python's own.

    position     uint64, one a sample
    key          the samples' keys
    substituted  {index: key of the bad sample that this one stands for}
    sizes        {field: (n, 3) int64}, the samples' own shapes, of fields with `collate: pad` or `ragged`
    n_real       samples from here on repeat others (`tail: pad`)
    epoch, number (of the global batch), consumed (position behind it), last (of its epoch)
    bfloat16     names of the fields whose uint16 are bfloat16's bits
    """

    def __init__(self, *args, **kw):
        super().__init__(*args, **kw)
        self.position, self.key, self.substituted = np.empty(0, np.uint64), [], {}
        self.sizes, self.bfloat16 = {}, frozenset()
        self.n_real = self.epoch = self.number = self.consumed = 0
        self.last = False

    def __missing__(self, name):
        raise KeyError(f"there is no field {name!r}; the batch has {', '.join(self)}")

    def __len__(self):
        return super().__len__()

    def __repr__(self):
        def told(v):
            return f"{v.dtype} {tuple(v.shape)}" if hasattr(v, "dtype") else f"{type(v).__name__} of {len(v)}"
        fields = ", ".join(f"{k}: {told(v)}" for k, v in self.items())
        return f"olddog.Batch({fields}; {len(self.key)} samples, epoch {self.epoch}, number {self.number})"


def _pieces(field):
    """Each sample's part of a ragged field, as memoryviews that nobody writes to."""
    at = np.frombuffer(field["offsets"], np.uint64).tolist()
    data = memoryview(field["data"]).toreadonly()
    return [data[a:b] for a, b in zip(at, at[1:])]


def _texts(field):
    return [str(piece, "utf-8") for piece in _pieces(field)]


def _array(field):
    return np.ndarray(field["shape"], _DTYPES[field["dtype"]], buffer=field["data"])


def _ragged_images(field, sizes):
    at = np.frombuffer(field["offsets"], np.uint64).tolist()
    flat = _array(field)
    return [flat[a:b].reshape(shape) for a, b, shape in zip(at, at[1:], sizes)]


def _image(field, batch):
    name = field["name"]
    if field["sizes"] is not None:
        batch.sizes[name] = np.frombuffer(field["sizes"], np.uint32).reshape(-1, 3).astype(np.int64)
    if field["dtype"] == BFLOAT16:
        batch.bfloat16 |= {name}
    return _array(field) if field["offsets"] is None else _ragged_images(field, batch.sizes[name].tolist())


def _value(field, batch):
    kind = field["kind"]
    if kind == IMAGE:
        return _image(field, batch)
    if kind in (INT, FLOAT):
        return _array(field).copy()  # a few bytes, for which nobody should hold a slot
    if kind == TEXT:
        return _texts(field)
    if kind == JSON:
        return [json.loads(piece.tobytes()) for piece in _pieces(field)]
    return _pieces(field)


def batch_of(raw):
    """A Batch of what _olddog gave."""
    info, batch = raw.info(), Batch()
    batch.n_real, batch.epoch, batch.number = info["n_real"], info["epoch"], info["number"]
    batch.consumed, batch.last = info["end"], info["last"]
    for i in range(info["n_fields"]):
        field = raw.field(i)
        if field["name"] == ".position":
            batch.position = _array(field).astype(np.uint64)
        elif field["name"] == ".key":
            batch.key = _texts(field)
        elif field["name"] == ".for":
            batch.substituted = {i: key for i, key in enumerate(_texts(field)) if key}
        elif not field["name"].startswith("."):
            batch[field["name"]] = _value(field, batch)
    return batch

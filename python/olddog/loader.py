# SPDX-License-Identifier: Apache-2.0
"""olddog.Loader: a rank's batches as numpy arrays."""

import json
import os
import warnings

from . import _olddog
from . import mapping
from .batch import batch_of
from .errors import Warning, call

_TAILS = {None: 0, "short": 1, "drop": 2, "pad": 3, "carry": 4}
_U32, _U64 = (1 << 32) - 1, (1 << 63) - 1


def _integer(name, value, least, most=_U64):
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name}={value!r} is a {type(value).__name__}; it must be an integer")
    value = value.__index__()
    if not least <= value <= most:
        raise ValueError(f"{name}={value}; it must be {least} to {most}")
    return value


def _paths(given):
    paths = [given] if isinstance(given, (str, bytes, os.PathLike)) else given
    try:
        paths = [os.fsdecode(p) for p in paths]
    except TypeError:
        raise TypeError(f"{given!r} is not a path; give a plan's directory, a spec's file, a path or glob of data, or a "
                        "list of these") from None
    if not paths:
        raise ValueError("no path was given: a plan's directory, a spec's file, or paths of data")
    return paths


def _names(fields):
    if fields is None:
        return []
    if isinstance(fields, (str, bytes)):
        raise TypeError(f"fields={fields!r} is one text; write a list of names, fields=[{fields!r}]")
    fields = list(fields)
    if not fields or not all(isinstance(f, str) for f in fields):
        raise TypeError(f"fields={fields!r}; it must be a list of names, or None for all of the plan")
    return fields


def _batch(batch, global_batch):
    if batch is not None and global_batch is not None:
        raise ValueError(f"batch={batch} (of this rank) and global_batch={global_batch} (of all ranks): give one of them")
    if global_batch is not None:
        return _integer("global_batch", global_batch, 1), True
    return (0 if batch is None else _integer("batch", batch, 1)), False


def _timeout_ms(timeout):
    if timeout is None:
        return -1
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 < timeout <= 2e6:
        raise ValueError(f"timeout={timeout!r}; it must be seconds, above 0 and up to 2,000,000, or None for no limit")
    return max(1, round(timeout * 1000))


def _state_text(state):
    if state is None or isinstance(state, str):
        return state
    if not isinstance(state, dict):
        raise TypeError(f"a state is what state_dict() gave, a dict (or its JSON), not a {type(state).__name__}")
    try:
        return json.dumps(state)
    except (TypeError, ValueError) as e:
        raise TypeError(f"a state is what state_dict() gave; this dict is not of JSON's types: {e}") from None


class _Epoch:
    """An iterator over the rest of an epoch: the one in which the Loader is when the first batch is asked for."""

    def __init__(self, loader):
        self._loader, self._epoch, self._over = loader, None, False

    def __iter__(self):
        return self

    def __next__(self):
        loader = self._loader
        if self._epoch is None:
            self._epoch = loader.epoch
        if self._over or loader.epoch != self._epoch:
            raise StopIteration
        batch = loader._next()
        self._over = batch is None or batch.last
        if batch is None:
            raise StopIteration
        return batch

    def __length_hint__(self):
        return 0 if self._over else self._loader.n_batches_left


class Loader:
    """Batches of a plan, for one data-parallel rank.

    plan_or_path  a plan's directory, a spec's file, or data as it is: a folder, a path, a glob, a brace range, a list
    batch         samples a rank (default: the plan's); global_batch: of all ranks together
    fields        names, in this order (default: all of the plan)
    transform     for images, in place of the plan's: "imagenet_train", "imagenet_val", or a chain in YAML
    map           a function (sample) or (sample, key) -> dict, called here for each sample; key: olddog.Key
    dp_rank       of dp_size data-parallel ranks. What is read does not depend on dp_size, only who gets what
    tail          the last batch of an epoch: "short", "drop", "pad" or "carry" (default: the plan's)
    epochs        how many to read, the rest of the first one counting as one (default: no end)
    workers       decoding processes of this host; the first rank decides (default: one a processor)
    state         of state_dict(): where to go on
    job           name of the job whose ranks share one olddog-loader (default: OLDDOG_JOB, SLURM_JOB_ID, MASTER_ADDR:PORT)
    max_bytes     of all batches of the plan on this host, held ones too (default: 4 GiB, or half of the memory)
    timeout       seconds that opening, or waiting for a batch, may take (default: no limit)

    iter() is the rest of the epoch, and the next epoch after that. Only what __next__ returned is consumed; batches that
    are prepared ahead are not. The man page olddog-python(3) tells more.
    """

    def __init__(self, plan_or_path, batch=None, fields=None, transform=None, map=None, dp_rank=0, dp_size=1, *,
                 global_batch=None, tail=None, epochs=None, workers=None, state=None, job=None, max_bytes=None,
                 timeout=None):
        self._raw = self._kept = None
        self._told_empty = False
        self._timeout_ms = _timeout_ms(timeout)
        self._map, self._with_key = map, map is not None and self._takes_key(map)
        self.dp_size = _integer("dp_size", dp_size, 1, _U32)
        self.dp_rank = _integer("dp_rank", dp_rank, 0, _U32)
        if self.dp_rank >= self.dp_size:
            raise ValueError(f"dp_rank={dp_rank} of dp_size={dp_size}; ranks go from 0 to dp_size - 1")
        if tail not in _TAILS:
            raise ValueError(f"tail={tail!r}; it must be one of {', '.join(t for t in _TAILS if t)}")
        if transform is not None and not isinstance(transform, str):
            raise TypeError(f"transform={transform!r}; it must be the name of a chain or one in YAML (map= takes functions)")
        n, is_global = _batch(batch, global_batch)
        self._conf = {
            "paths": _paths(plan_or_path), "fields": _names(fields), "transform": transform, "batch": n,
            "batch_is_global": is_global, "tail": _TAILS[tail], "dp_rank": self.dp_rank, "dp_size": self.dp_size,
            "n_epochs": 0 if epochs is None else _integer("epochs", epochs, 1),
            "n_workers": 0 if workers is None else _integer("workers", workers, 1, 1024),
            "max_bytes": 0 if max_bytes is None else _integer("max_bytes", max_bytes, 1),
            "job": None if job is None else os.fsdecode(job)}
        self._open(_state_text(state))

    @staticmethod
    def _takes_key(function):
        if not callable(function):
            raise TypeError(f"map={function!r} is a {type(function).__name__}; it must be a function of a sample")
        return mapping.takes_key(function)

    def _open(self, state):
        raw = _olddog.Loader()
        try:
            call(raw.open, state=state, timeout_ms=self._timeout_ms, **self._conf)
        finally:
            self._warn(raw)
        self._raw, self._kept, before = raw, None, self._raw
        info = raw.info()
        self.order_id, self.fields_id = info["order_id"].hex(), info["fields_id"].hex()
        self.n_samples, self.epoch_len = info["n_samples"], info["epoch_len"]
        self.global_batch, self.seed = info["global_batch"], info["seed"]
        if before:
            before.close()

    @staticmethod
    def _warn(raw):
        for words in raw.take_warnings():
            warnings.warn(words, Warning, stacklevel=4)

    def _info(self, name):
        return call(self._raw.info)[name]

    @property
    def consumed(self):
        """The next position: everything before it was returned, to this rank or another, or is skipped."""
        return self._kept.info()["begin"] if self._kept else self._info("consumed")

    @property
    def epoch(self):
        """Of the next batch."""
        return self._kept.info()["epoch"] if self._kept else self._info("epoch")

    @property
    def n_batches_left(self):
        """Batches of this rank until the end of the epoch."""
        if not self._kept:
            return self._info("n_batches_left")
        return 1 if self._kept.info()["last"] else 1 + self._info("n_batches_left")

    def __len__(self):
        """Batches of this rank in a whole epoch (the current one), wherever in it the Loader is."""
        return self._info("n_batches")

    def __iter__(self):
        return _Epoch(self)

    def _next(self):
        try:
            # What was not returned, because `map` raised or was interrupted, is given again.
            self._kept = self._kept or call(self._raw.next, self._timeout_ms)
        finally:
            self._warn(self._raw)
        if self._kept is None:
            return None
        batch = batch_of(self._kept)
        if not batch.key and not self._told_empty:
            self._told_empty = True
            warnings.warn(f"rank {self.dp_rank} of {self.dp_size} gets no sample of batch {batch.number}, which is shorter "
                          "than there are ranks (tail: short); its arrays are empty, so that all ranks keep step", Warning,
                          stacklevel=3)
        batch = self._convert(batch)
        self._kept = None
        return batch

    def _convert(self, batch):
        return batch if self._map is None else mapping.apply(self._map, self._with_key, self.seed, batch)

    def state_dict(self):
        """Where this Loader is. The same for all ranks after the same number of batches, and good for any dp_size."""
        return {**json.loads(call(self._raw.state)), "consumed": self.consumed}

    def load_state_dict(self, state):
        """Goes on where the state was taken. Iterators of another epoch are over. (Loader(state=) opens only once.)"""
        if state is None:
            raise TypeError("a state is what state_dict() gave, not None")
        self._open(_state_text(state))

    def close(self):
        """Ends the preparing. Batches that were returned stay good."""
        if self._raw is not None:
            self._raw.close()
            self._kept = None

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def __del__(self):
        raw = getattr(self, "_raw", None)
        if raw is not None:
            raw.close()

    def __reduce__(self):
        raise TypeError("an olddog.Loader cannot be pickled or sent to another process: it prepares batches in processes of "
                        "its own already. Use it in place of torch's DataLoader, not inside one; keep state_dict()")

    def __repr__(self):
        return (f"{type(self).__module__}.{type(self).__qualname__}({self._conf['paths'][0]!r}, order {self.order_id[:8]}, "
                f"rank {self.dp_rank} of {self.dp_size}, global batch {self.global_batch})")

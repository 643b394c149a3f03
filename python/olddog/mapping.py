# SPDX-License-Identifier: Apache-2.0
"""`map=`: a Python function over samples, and how what it gives becomes a batch again."""

import inspect
import numbers

import numpy as np

from .key import Key


def takes_key(function):
    """Whether to call function(sample, key) or function(sample)."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return False  # of C, like json.loads: they take one
    for args, answer in (((0, 0), True), ((0,), False)):
        try:
            signature.bind(*args)
            return answer
        except TypeError:
            pass
    raise TypeError(f"map={function!r} must take (sample) or (sample, key)")


def _own(value):
    """A sample's number as Python's, all else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def _stack(values):
    first = values[0]
    if all(isinstance(v, (bool, numbers.Number, np.generic)) for v in values):
        return np.array(values)
    if isinstance(first, np.ndarray) and all(
            isinstance(v, np.ndarray) and v.shape == first.shape and v.dtype == first.dtype for v in values):
        return np.stack(values)
    return values


def _check(names, result, position):
    if not isinstance(result, dict):
        raise TypeError(f"map gave a {type(result).__name__} for position {position}; it must give a dict of fields")
    if list(result) != names:
        raise ValueError(f"map gave the fields {list(result)} for position {position}, but {names} for the first "
                         "sample of the batch; all samples need the same, in the same order")


def apply(function, with_key, seed, batch, stack=_stack):
    """Replaces the batch's fields by those that function gives. One that it passes on untouched stays without a copy."""
    if not batch.key:
        return batch
    given, results = [], []
    for i, position in enumerate(batch.position.tolist()):
        sample = {name: _own(values[i]) for name, values in batch.items()}
        given.append(dict(sample))
        try:
            results.append(function(sample, Key(seed, position)) if with_key else function(sample))
        except Exception as e:
            e.add_note(f"olddog: raised by map= for position {position}, sample {batch.key[i]}")
            raise
        _check(list(results[0]) if isinstance(results[0], dict) else [], results[-1], position)
    fields = {}
    for name in results[0]:
        values = [r[name] for r in results]
        same = name in batch and all(v is g[name] for v, g in zip(values, given))
        fields[name] = batch[name] if same else stack(values)
    for name in [n for n in batch if n not in fields or fields[n] is not batch[n]]:
        batch.sizes.pop(name, None)
        batch.bfloat16 -= {name}
    batch.clear()
    batch.update(fields)
    return batch

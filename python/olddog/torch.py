# SPDX-License-Identifier: Apache-2.0
"""olddog.torch.Loader: olddog.Loader with tensors in place of arrays, by DLPack: no copy, no pickle, no torch workers."""

import numpy as np
import torch

from . import loader, mapping


def tensor(array, bfloat16=False):
    """A tensor over the array's own memory. bfloat16: the array is uint16 holding the bits."""
    if bfloat16:
        return torch.from_dlpack(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_dlpack(array)


def _stack(values):
    first = values[0]
    if isinstance(first, torch.Tensor):
        same = all(isinstance(v, torch.Tensor) and v.shape == first.shape and v.dtype == first.dtype for v in values)
        return torch.stack(values) if same else values
    stacked = mapping._stack(values)
    return tensor(stacked) if isinstance(stacked, np.ndarray) else stacked


def _tensors(value, bfloat16):
    if isinstance(value, np.ndarray):
        return tensor(value, bfloat16)
    if isinstance(value, list) and value and all(isinstance(v, np.ndarray) for v in value):
        return [tensor(v, bfloat16) for v in value]
    return value


class Loader(loader.Loader):
    """See olddog.Loader. Images and numbers are tensors on the CPU (bfloat16 too); `map` gets and gives tensors, and
    those of equal shapes are stacked. A tensor holds its batch's memory as long as it lives."""

    def _convert(self, batch):
        for name in list(batch):
            batch[name] = _tensors(batch[name], name in batch.bfloat16)
        batch.sizes = {name: tensor(sizes) for name, sizes in batch.sizes.items()}
        if self._map is None:
            return batch
        return mapping.apply(self._map, self._with_key, self.seed, batch, _stack)

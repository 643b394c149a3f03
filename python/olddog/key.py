# SPDX-License-Identifier: Apache-2.0
"""Random numbers of a position: the same on every rank, in every run, after every resume."""

import functools
import hashlib

import numpy as np

_U32 = 0xFFFFFFFF


@functools.lru_cache(maxsize=64)
def _key(seed, purpose):
    """doc/design/0003: SHA-256 of the seed (u64, little-endian) and the purpose, its first 8 bytes."""
    digest = hashlib.sha256(seed.to_bytes(8, "little") + purpose.encode("ascii")).digest()
    return int.from_bytes(digest[:8], "little")


def _philox(key, position, draw):
    """Four numbers of 32 bits: Philox4x32-10 at the counter (position, field 0, draw). For a few numbers plain integers
    cost a twentieth of what numpy does."""
    k0, k1 = key & _U32, key >> 32
    c0, c1, c2, c3 = position & _U32, position >> 32, 0, draw
    for _ in range(10):
        a, b = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (b >> 32) ^ c1 ^ k0, b & _U32, (a >> 32) ^ c3 ^ k1, a & _U32
        k0, k1 = (k0 + 0x9E3779B9) & _U32, (k1 + 0xBB67AE85) & _U32
    return c0, c1, c2, c3


class Key:
    """What `map` gets beside a sample. Numbers follow from the plan's seed and the position alone.

    random() and uniform() go on where the last call ended; generator() is a fresh numpy Generator every time.
    """

    __slots__ = ("position", "seed", "_used")

    def __init__(self, seed, position):
        self.seed, self.position, self._used = int(seed), int(position), 0

    def __repr__(self):
        return f"olddog.Key(seed={self.seed}, position={self.position})"

    def random(self, n):
        """The next n numbers, uint32: Philox4x32-10, key (seed, "map"), counter (position, field 0, draw). For a few
        numbers; generator() is faster for thousands."""
        first, self._used = self._used, self._used + n
        key = _key(self.seed, "map")
        blocks = [u for draw in range(first // 4, -(-self._used // 4)) for u in _philox(key, self.position, draw)]
        return np.array(blocks[first % 4:first % 4 + n], np.uint32)

    def uniform(self, n):
        """The next n numbers as float64 in (0, 1): (random + 0.5) / 2^32."""
        return (self.random(n) + 0.5) / 4294967296.0

    def generator(self, purpose="map"):
        """A numpy Generator of its own for each position and purpose. (numpy may change distributions between versions;
        random() and uniform() never change.)"""
        return np.random.Generator(np.random.Philox(key=[_key(self.seed, purpose), self.position]))

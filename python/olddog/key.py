# SPDX-License-Identifier: Apache-2.0
"""Random numbers of a position: the same on every rank, in every run, after every resume."""

import hashlib

import numpy as np

_U32 = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)


def _key(seed, purpose):
    """doc/design/0003: SHA-256 of the seed (u64, little-endian) and the purpose, its first 8 bytes."""
    digest = hashlib.sha256(seed.to_bytes(8, "little") + purpose.encode("ascii")).digest()
    return int.from_bytes(digest[:8], "little")


def _philox(key, position, begin, n):
    """n blocks of four numbers: Philox4x32-10 at the counters (position, 0, begin..begin+n-1). (n, 4) uint32."""
    c = [np.full(n, position & 0xFFFFFFFF, np.uint64), np.full(n, position >> 32, np.uint64), np.zeros(n, np.uint64),
         np.arange(begin, begin + n, dtype=np.uint64) & _U32]
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(b >> _32) ^ c[1] ^ np.uint64(k0), b & _U32, (a >> _32) ^ c[3] ^ np.uint64(k1), a & _U32]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack(c, 1).astype(np.uint32)


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
        """The next n numbers, uint32: Philox4x32-10, key (seed, "map"), counter (position, 0, draw)."""
        first, last = self._used, self._used + n
        self._used = last
        blocks = _philox(_key(self.seed, "map"), self.position, first // 4, -(-last // 4) - first // 4)
        return blocks.ravel()[first % 4:first % 4 + n]

    def uniform(self, n):
        """The next n numbers as float64 in (0, 1): (random + 0.5) / 2^32."""
        return (self.random(n) + 0.5) / 4294967296.0

    def generator(self, purpose="map"):
        """A numpy Generator of its own for each position and purpose. (numpy may change distributions between versions;
        random() and uniform() never change.)"""
        return np.random.Generator(np.random.Philox(key=[_key(self.seed, purpose), self.position]))

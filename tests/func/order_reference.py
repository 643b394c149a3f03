# SPDX-License-Identifier: Apache-2.0
"""The order of samples as doc/design/0002-order.md defines it, a second time and in another manner: every epoch is
written out as a list, the mixture draws one sample after the other and counts. Slow, and imports nothing of olddog."""

import hashlib
import struct
from dataclasses import dataclass, field
from functools import lru_cache

BLOCK = 4096
WHOLE = 1 << 32


def philox(key, position, field_, draw):
    """Philox4x32-10: four numbers of 32 bits."""
    m = 0xFFFFFFFF
    c = [position & m, position >> 32, field_, draw]
    k = list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & m, (a >> 32) ^ c[3] ^ k[1], a & m]
        k = [(k[0] + 0x9E3779B9) & m, (k[1] + 0xBB67AE85) & m]
    return c


def key_of(seed, purpose):
    return struct.unpack("<II", hashlib.sha256(struct.pack("<Q", seed) + purpose.encode()).digest()[:8])


def perm_at(n, key, tweak, i):
    """Number i of the permutation of 0..n-1."""
    if n < 64:
        numbers = [w for block in range((n + 3) // 4) for w in philox(key, tweak, block, 8)]
        cards = list(range(n))
        for place in range(n - 1, 0, -1):
            other = numbers[place] * (place + 1) >> 32
            cards[place], cards[other] = cards[other], cards[place]
        return cards[i]
    low_bits = (n - 1).bit_length() // 2
    n_high = -(-n // 2 ** low_bits)
    while True:
        high, low = i >> low_bits, i % 2 ** low_bits
        for r in (0, 2, 4, 6):
            high = (high + (philox(key, tweak, low, r)[0] * n_high >> 32)) % n_high
            low ^= philox(key, tweak, high, r + 1)[0] % 2 ** low_bits
        i = high << low_bits | low
        if i < n:
            return i


def perm(n, key, tweak):
    return [perm_at(n, key, tweak, i) for i in range(n)]


@dataclass
class Source:
    weight: float
    on_end: str
    shards: list  # their lengths

    def __len__(self):
        return sum(self.shards)


@dataclass
class Config:
    kind: str
    sources: list
    seed: int = 0
    window: int = 1
    group: int = 1


def epoch_key(config, purpose, source, epoch):
    return tuple(philox(key_of(config.seed, purpose), epoch, source, 0)[:2])


def windows(config, source, epoch):
    """The windows of a source's epoch; each a list of (shard, sample) before it is permuted."""
    lengths = config.sources[source].shards
    if config.kind != "window":
        return [[(s, i) for s, n in enumerate(lengths) for i in range(n)]]
    shards = perm(len(lengths), epoch_key(config, "order/shards", source, epoch), 0)
    out = []
    for g in range(0, len(shards), config.group):
        group = shards[g:g + config.group]
        n = sum(lengths[s] for s in group)
        k_all = -(-n // config.window)
        for k in range(k_all):
            out.append([(s, i) for s in group
                        for i in range(lengths[s] * k // k_all, lengths[s] * (k + 1) // k_all)])
    return out


@lru_cache(maxsize=64)
def _epoch(config_id, source, epoch):
    config = _configs[config_id]
    key = epoch_key(config, "order/samples", source, epoch)
    out = []
    for w in windows(config, source, epoch):
        slots = range(len(w)) if config.kind == "sequential" else perm(len(w), key, len(out))
        out += [(w, slot) for slot in slots]
    return out


_configs = {}


def source_epoch(config, source, epoch):
    """(window, slot) of each item of a source's epoch."""
    _configs[id(config)] = config
    return _epoch(id(config), source, epoch)


def integer_weights(weights):
    exact = [w / sum_in_order(weights) * float(WHOLE) for w in weights]
    out = [int(x) for x in exact]
    rests = sorted(range(len(out)), key=lambda i: (-(exact[i] - out[i]), i))
    for i in rests[:WHOLE - sum(out)]:
        out[i] += 1
    return out


def sum_in_order(numbers):
    total = 0.0
    for x in numbers:
        total += x
    return total


class Tree:
    """Nodes that count what went through them."""

    def __init__(self, leaves, weights, leftmost):
        self.leaves, self.n = leaves, 0
        self.weight = sum(weights[i] for i in leaves)
        if len(leaves) > 1:
            left = [sum(weights[i] for i in leaves[:mid]) for mid in range(1, len(leaves))]
            mid = 1 + min(range(len(left)), key=lambda m: abs(2 * left[m] - self.weight))
            sides = leaves[:mid], leaves[mid:]
            if leftmost in sides[1]:
                sides = sides[::-1]
            self.left, self.right = (Tree(side, weights, leftmost) for side in sides)

    def draw(self):
        n, self.n = self.n, self.n + 1
        if len(self.leaves) == 1:
            return self.leaves[0]
        part = self.left.weight
        goes_left = (n + 1) * part // self.weight > n * part // self.weight
        return (self.left if goes_left else self.right).draw()

    def would_draw(self):
        if len(self.leaves) == 1:
            return self.leaves[0]
        part = self.left.weight
        goes_left = (self.n + 1) * part // self.weight > self.n * part // self.weight
        return (self.left if goes_left else self.right).would_draw()


@dataclass
class Mixture:
    """The draws of one epoch, as a list of sources."""
    sources: list
    weights: list = field(init=False)
    draws: list = field(init=False)

    def __post_init__(self):
        self.weights = integer_weights([s.weight for s in self.sources])
        self.leaves = self._leaves()
        self.endless = all(s.on_end == "repeat" for s in self.sources)
        self.draws = self._walk()
        self.taken = [self.draws.count(i) for i in range(len(self.sources))]
        self._tree = Tree(self.leaves, self.weights, self.ender)
        self._more = []

    def _leaves(self):
        def duration(i):  # as the ratio's numerator over a common denominator
            product = 1
            for k, w in enumerate(self.weights):
                product *= w if k != i else 1
            return len(self.sources[i]) * product

        stops = [i for i, s in enumerate(self.sources) if s.on_end == "stop"]
        self.stops = bool(stops)
        if stops:
            self.ender = min(stops, key=lambda i: (duration(i), i))
        else:
            self.ender = min(range(len(self.sources)), key=lambda i: (-duration(i), i))
        return sorted(range(len(self.sources)), key=lambda i: (-self.weights[i], i))

    def _new_tree(self, alive):
        return Tree(alive, self.weights, self.ender if self.ender in alive else alive[0])

    def _walk(self):
        lens = [len(s) for s in self.sources]
        count = [0] * len(lens)
        alive = list(self.leaves)
        tree = self._new_tree(alive)
        draws = []
        while True:
            i = tree.would_draw()
            if self.sources[i].on_end == "stop" and count[i] == lens[i]:
                return draws
            tree.draw()
            draws.append(i)
            count[i] += 1
            if count[i] == lens[i]:
                if self.stops and i == self.ender:
                    return draws
                if not self.stops and all(c >= n for c, n in zip(count, lens)):
                    return draws
                if self.sources[i].on_end == "drop":
                    alive.remove(i)
                    tree = self._new_tree(alive)

    def draw(self, position):
        """(source, how many draws it had before) at this position of the mixture before blocks are permuted."""
        if self.endless:
            while len(self._more) <= position:
                leaf = self._tree.draw()
                node = self._tree
                while len(node.leaves) > 1:
                    node = node.left if leaf in node.left.leaves else node.right
                self._more.append((leaf, node.n - 1))
            return self._more[position]
        epoch, at = divmod(position, len(self.draws))
        source = self.draws[at]
        return source, epoch * self.taken[source] + self.draws[:at].count(source)


class Order:
    def __init__(self, config):
        self.config = config
        self.mixture = Mixture(config.sources)
        self.epoch_len = len(self.mixture.draws)

    def _mixed(self, position):
        if self.config.kind == "sequential" or len(self.config.sources) == 1:
            return position
        epoch = position // self.epoch_len
        begin = max(position // BLOCK * BLOCK, epoch * self.epoch_len)
        end = min((position // BLOCK + 1) * BLOCK, (epoch + 1) * self.epoch_len)
        return begin + perm_at(end - begin, key_of(self.config.seed, "order/mix"), begin, position - begin)

    def at(self, position, attempt=0):
        """(position, epoch, source, source's epoch, shard, sample); attempt 1..8: the substitute."""
        source, nth = self.mixture.draw(self._mixed(position))
        epoch, index = divmod(nth, len(self.config.sources[source]))
        window, slot = source_epoch(self.config, source, epoch)[index]
        if attempt >= len(window) and len(self.config.sources[source]) > 1:
            # The window is used up: from the whole source.
            every = [(s, i) for s, n in enumerate(self.config.sources[source].shards) for i in range(n)]
            window, slot = every, every.index(window[slot])
        if attempt and len(window) > 1:
            others = len(window) - 1
            other = perm_at(others, key_of(self.config.seed, "order/substitute"), position, (attempt - 1) % others)
            slot = other + (other >= slot)
        return position, position // self.epoch_len, source, epoch, *window[slot]


def batch_at(size, tail, epoch_len, skip, consumed):
    """(begin, end, epoch, last, number of different positions, positions), or None where the epoch has no batch left."""
    def skipped(p):
        return any(first <= p <= last for first, last in skip)

    def rest(begin, end):
        return [p for p in range(begin, end) if not skipped(p)]

    epoch_end = (consumed // epoch_len + 1) * epoch_len
    if tail == "carry":
        items, p = [], consumed
        while len(items) < size:
            items += [] if skipped(p) else [p]
            p += 1
    else:
        items = rest(consumed, epoch_end)[:size]
    if not items or (tail == "drop" and len(items) < size):
        return None
    n_real = len(items)
    epoch = items[0] // epoch_len
    epoch_end = (epoch + 1) * epoch_len
    behind = items[-1] + 1
    last = len(rest(behind, epoch_end)) < (size if tail == "drop" else 1)
    end = max(behind, epoch_end) if last else behind
    if tail == "pad":
        items = [items[i % n_real] for i in range(size)]
    return consumed, end, epoch, last, n_real, items


def batches(size, tail, epoch_len, skip, consumed, n):
    """The next n batches; an epoch that has none left leads to the next that is not skipped whole."""
    out = []
    while len(out) < n:
        b = batch_at(size, tail, epoch_len, skip, consumed)
        if b:
            out.append(b)
            consumed = b[1]
        else:
            consumed = (consumed // epoch_len + 1) * epoch_len
    return out


def rank_slice(n, n_ranks, rank):
    return range(rank * n // n_ranks, (rank + 1) * n // n_ranks)

# SPDX-License-Identifier: Apache-2.0
"""The order of src/plan (through tests/order-dump) equals the reference written from doc/design/0002-order.md."""

import random
import subprocess

import pytest

import order_reference as ref


@pytest.fixture(scope="session")
def dump(build):
    exe = build / "tests" / "order-dump"
    assert exe.exists(), f"{exe} is not built"

    def run(*args):
        p = subprocess.run([exe, *map(str, args)], capture_output=True, text=True, timeout=120)
        assert p.returncode == 0, p.stderr
        return p.stdout.splitlines()

    return run


def dump_order(dump, c, start, count, attempt=0):
    sources = [f"{s.weight!r}:{s.on_end}:{','.join(map(str, s.shards))}" for s in c.sources]
    head, *lines = dump("order", c.kind, c.window, c.group, c.seed, start, count, attempt, *sources)
    return int(head.split()[1]), [tuple(map(int, line.split())) for line in lines]


def compare(dump, c, start, count):
    order = ref.Order(c)
    for attempt in (0, 1, 8):
        epoch_len, items = dump_order(dump, c, start, count, attempt)
        assert epoch_len == order.epoch_len
        assert items == [order.at(p, attempt) for p in range(start, start + count)]
    return order


@pytest.mark.parametrize("n", [1, 2, 3, 63, 64, 65, 127, 128, 1000, 4096, 4097])
def test_perm(dump, n):
    got = list(map(int, dump("perm", 7, "order/x", n + (1 << 40), n, 0, n)))
    assert got == ref.perm(n, ref.key_of(7, "order/x"), n + (1 << 40))
    assert sorted(got) == list(range(n))


@pytest.mark.parametrize("n", [10 ** 9, (1 << 61) - 1, (1 << 61) + 1, 1 << 62])
def test_perm_of_large_sizes(dump, n):
    key = ref.key_of(7, "order/x")
    got = list(map(int, dump("perm", 7, "order/x", 3, n, n - 50, 50)))
    assert got == [ref.perm_at(n, key, 3, i) for i in range(n - 50, n)]


@pytest.mark.parametrize("kind", ["sequential", "shuffle", "window"])
@pytest.mark.parametrize("window, group", [(1, 1), (7, 3), (50, 2), (64, 64), (1000, 5)])
def test_one_source(dump, kind, window, group):
    shards = [13, 0, 100, 1, 57, 57, 3, 0, 0, 90]
    c = ref.Config(kind, [ref.Source(1.0, "stop", shards)], 7, window, group)
    order = compare(dump, c, 0, 700)
    assert order.epoch_len == sum(shards)


@pytest.mark.parametrize("weights", [(0.5, 0.5), (0.7, 0.3), (1.0, 2.0), (0.01, 0.99)])
@pytest.mark.parametrize("ends", [(a, b) for a in ("stop", "repeat", "drop") for b in ("stop", "repeat", "drop")])
def test_two_sources(dump, weights, ends):
    shards = ([4, 6], [50, 0, 51, 40])
    c = ref.Config("window", [ref.Source(*x) for x in zip(weights, ends, shards)], 3, 20, 2)
    compare(dump, c, 0, 300)


def random_config(seed):
    r = random.Random(seed)
    sources = [ref.Source(r.choice([1.0, 0.3, r.random() + 0.01]), r.choice(["stop", "repeat", "drop"]),
                          [r.choice([0, 1, 5, r.randrange(60)]) for _ in range(r.randrange(1, 8))] + [r.randrange(1, 9)])
               for _ in range(r.randrange(1, 7))]
    kind = r.choice(["sequential", "shuffle", "window", "window"])
    return ref.Config(kind, sources, r.randrange(1 << 64), r.choice([1, 10, 100]), r.choice([1, 2, 5]))


@pytest.mark.parametrize("seed", range(60))
def test_random_mixtures(dump, seed):
    c = random_config(seed)
    epoch_len = ref.Order(c).epoch_len
    compare(dump, c, 0, 100)
    compare(dump, c, max(0, 3 * epoch_len - 50), 100)


def close_config(seed):
    """Lengths in the proportion of the weights, or one less: several sources come to their ends within a draw or two."""
    r = random.Random(seed)
    weights = [r.choice([1.0, 2.0, 3.0, 5.0, 7.0]) for _ in range(r.randrange(3, 6))]
    times = r.randrange(1, 4)
    sources = [ref.Source(w, r.choice(["stop", "stop", "drop"]), [max(1, int(w) * times - r.choice([0, 0, 0, 1]))])
               for w in weights]
    return ref.Config("shuffle", sources, seed)


def test_ends_that_meet(dump):
    n_short = n_dropped = 0
    for seed in (*range(50), 383, 740):  # the last two have an end and a drop after the same draw, and the drop decides
        c = close_config(seed)
        order = compare(dump, c, 0, 2 * ref.Order(c).epoch_len)
        m = order.mixture
        if m.stops and m.taken[m.ender] < len(c.sources[m.ender]):
            last = m.draws[-1]
            n_short += 1
            n_dropped += c.sources[last].on_end == "drop" and m.taken[last] == len(c.sources[last])
    # Rounding ended some before the source that should end them, and some of these right at another's drop.
    assert n_short > 5 and n_dropped > 2


@pytest.mark.parametrize("seed", range(4))
def test_blocks_of_a_long_epoch(dump, seed):
    r = random.Random(seed)
    sources = [ref.Source(r.random() + 0.1, r.choice(["stop", "drop", "repeat"]), [3000, 2000]) for _ in range(3)]
    c = ref.Config("shuffle", sources, seed)
    compare(dump, c, 4000, 150)
    compare(dump, c, ref.Order(c).epoch_len - 60, 120)


def shares(items, n):
    return [sum(1 for i in items if i[2] == s) for s in range(n)]


@pytest.mark.parametrize("ends", [("stop", "stop"), ("repeat", "repeat"), ("repeat", "stop")])
@pytest.mark.parametrize("small_first", [True, False])
@pytest.mark.parametrize("kind", ["sequential", "shuffle", "window"])
def test_shares_hold_over_short_epochs(dump, kind, small_first, ends):
    """Sources of 10 and 1,000 at 0.5/0.5: the first 8,192 draws give 4,096 +- 1 each."""
    both = list(zip(ends, (10, 1000)))
    c = ref.Config(kind, [ref.Source(0.5, e, [n]) for e, n in (both if small_first else both[::-1])], 7, 200, 4)
    _, items = dump_order(dump, c, 0, 8192)
    assert all(abs(n - 4096) <= 1 for n in shares(items, 2))
    _, half = dump_order(dump, c, 4096, 4096)
    assert all(abs(n - 2048) <= 1 for n in shares(half, 2))


@pytest.mark.parametrize("tail", ["short", "drop", "pad", "carry"])
@pytest.mark.parametrize("size", [1, 10, 32, 99, 250])
@pytest.mark.parametrize("skip", [[], [(5, 30), (32, 32), (95, 99)], [(90, 119)], [(0, 99), (101, 102)]])
def test_batches(dump, tail, size, skip):
    size = min(size, 99) if tail == "drop" else size  # an epoch of 100 has no batch of 250
    for consumed in (0, 37, 250):
        got = [tuple(map(int, line.split())) for line in
               dump("batch", size, tail, 100, consumed, 12, *(f"{a}-{b}" for a, b in skip))]
        want = [(b, e, k, int(last), n, *items) for b, e, k, last, n, items in
                ref.batches(size, tail, 100, skip, consumed, 12)]
        assert got == want

# SPDX-License-Identifier: Apache-2.0
"""Recomputes batches that the loader gave, by hand, and compares every byte.

    recompute.py FOLDER RECORD..

FOLDER has the shards; a RECORD is an .npz with `position`, `image` and `label` of a batch. Nothing of olddog is
imported, and nothing is read but the shards: sample, crop box and flip of a position follow from the seed, as
doc/design/0002-order.md and 0003-random-numbers.md say, and the pixels from Pillow 13.0.0.
"""

import hashlib
import io
import math
import sys
import tarfile
from pathlib import Path

import numpy as np
import PIL
from PIL import Image

# What demo/train.yaml says.
SEED = 7
WINDOW, GROUP = 600, 5
SIZE, SCALE, RATIO, FLIP = 64, (0.25, 1.0), (3 / 4, 4 / 3), 0.5
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
FIELD = 0  # `image` is the first field

U32 = 0xFFFFFFFF


# --- random numbers: Philox4x32-10 by (position, field, draw) under a key of (seed, purpose)

def key_of(purpose):
    digest = hashlib.sha256(SEED.to_bytes(8, "little") + purpose.encode("ascii")).digest()
    return int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:8], "little")


def philox(key, position, field, draw):
    """Four numbers of 32 bits."""
    k0, k1 = key
    c0, c1, c2, c3 = position & U32, position >> 32, field, draw
    for _ in range(10):
        a, b = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (b >> 32) ^ c1 ^ k0, b & U32, (a >> 32) ^ c3 ^ k1, a & U32
        k0, k1 = (k0 + 0x9E3779B9) & U32, (k1 + 0xBB67AE85) & U32
    return c0, c1, c2, c3


def uniform(u):
    return (u + 0.5) / 4294967296.0


# --- 2^x and log2(x) by fixed polynomials, + and * only: the same double everywhere, which libm does not promise

EXP2 = [float.fromhex(h) for h in (
    "0x1.0000000000000p+0", "0x1.62e42fefa39efp-1", "0x1.ebfbdff82c58fp-3", "0x1.c6b08d704a0c0p-5",
    "0x1.3b2ab6fba4e77p-7", "0x1.5d87fe78a6731p-10", "0x1.430912f86c787p-13", "0x1.ffcbfc588b0c7p-17",
    "0x1.62c0223a5c824p-20", "0x1.b5253d395e7c4p-24", "0x1.e4cf5158b8ecap-28", "0x1.e8cac7351bb25p-32",
    "0x1.c3bd650fc2986p-36", "0x1.816193166d0f9p-40")]
LOG2 = [float.fromhex(h) for h in (
    "0x1.71547652b82fep+1", "0x1.ec709dc3a03fdp-1", "0x1.2776c50ef9bfep-1", "0x1.a61762a7aded9p-2",
    "0x1.484b13d7c02a9p-2", "0x1.0c9a84994022dp-2", "0x1.c68f568d31760p-3", "0x1.89f3b1694cffep-3",
    "0x1.5b9ac9b743f0dp-3", "0x1.3703c1f4d0ffep-3", "0x1.1964ec6fc9491p-3", "0x1.00ecd7e080215p-3")]


def horner(coefficients, x):
    total = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = total * x + c
    return total


def exp2(x):
    scale = 1.0
    while x > 0.5:
        x, scale = x - 1.0, scale * 2.0
    while x < -0.5:
        x, scale = x + 1.0, scale * 0.5
    return horner(EXP2, x) * scale


def log2(x):
    whole = 0.0
    while x > float.fromhex("0x1.6a09e667f3bcdp+0"):
        x, whole = x * 0.5, whole + 1.0
    while x < float.fromhex("0x1.6a09e667f3bcdp-1"):
        x, whole = x * 2.0, whole - 1.0
    t = (x - 1.0) / (x + 1.0)
    return whole + horner(LOG2, t * t) * t


# --- permutations: 8 Feistel rounds with cycle walking, small ones by a shuffle

def shuffled(n, key, tweak):
    numbers = [u for block in range((n + 3) // 4) for u in philox(key, tweak, block, 8)]
    items = list(range(n))
    for i in range(n - 1, 0, -1):
        j = numbers[i] * (i + 1) >> 32
        items[i], items[j] = items[j], items[i]
    return items


def permuted(n, key, tweak, i):
    """Where the permutation of 0..n-1 under key and tweak sends i."""
    if n < 64:
        return shuffled(n, key, tweak)[i]
    low_bits = (n - 1).bit_length() // 2
    n_high = (n + (1 << low_bits) - 1) >> low_bits
    mask = (1 << low_bits) - 1
    while True:
        high, low = i >> low_bits, i & mask
        for r in range(0, 8, 2):
            high = (high + (philox(key, tweak, low, r)[0] * n_high >> 32)) % n_high
            low ^= philox(key, tweak, high, r + 1)[0] & mask
        i = high << low_bits | low
        if i < n:
            return i


# --- the order: from a position to a shard and a sample of it

def epoch_key(purpose, epoch):
    return philox(key_of(purpose), epoch, 0, 0)[:2]  # 0: the number of the source


def place(lengths, position):
    """(shard, sample in the shard) for one source of shards of these lengths."""
    epoch, index = divmod(position, sum(lengths))
    n = len(lengths)
    shards = [permuted(n, epoch_key("order/shards", epoch), 0, i) for i in range(n)]
    begin = 0
    for g in range(0, n, GROUP):
        group = shards[g:g + GROUP]
        total = sum(lengths[s] for s in group)
        if index < begin + total:
            break
        begin += total
    n_windows = -(-total // WINDOW)
    for k in range(n_windows):
        pieces = [(s, lengths[s] * k // n_windows, lengths[s] * (k + 1) // n_windows) for s in group]
        size = sum(to - start for _, start, to in pieces)
        if index < begin + size:
            break
        begin += size
    slot = permuted(size, epoch_key("order/samples", epoch), begin, index - begin)
    for shard, start, to in pieces:
        if slot < to - start:
            return shard, start + slot
        slot -= to - start
    raise AssertionError("no window has this slot")


# --- the chain: decode, random resized crop, flip, normalise

def crop_box(position, width, height):
    """(left, top, right, bottom), as torchvision's RandomResizedCrop draws it, from numbers of our own."""
    key = key_of("random_resized_crop")
    low, high = log2(RATIO[0]), log2(RATIO[1])
    for draw in range(10):
        u = [uniform(x) for x in philox(key, position, FIELD, draw)]
        area = float(width * height) * (SCALE[0] + (SCALE[1] - SCALE[0]) * u[0])
        ratio = exp2(low + (high - low) * u[1])
        w, h = int(math.sqrt(area * ratio) + 0.5), int(math.sqrt(area / ratio) + 0.5)
        if 1 <= w <= width and 1 <= h <= height:
            top, left = int(u[2] * (height - h + 1)), int(u[3] * (width - w + 1))
            return left, top, left + w, top + h
    return middle_box(width, height, exp2(low), exp2(high))


def middle_box(width, height, low, high):
    w, h = width, height
    if width / height < low:
        h = max(1, min(height, round(width / low)))
    elif width / height > high:
        w = max(1, min(width, round(height * high)))
    left, top = (width - w) // 2, (height - h) // 2
    return left, top, left + w, top + h


def flipped(position):
    return uniform(philox(key_of("hflip"), position, FIELD, 0)[0]) < FLIP


def image_at(position, encoded):
    image = Image.open(io.BytesIO(encoded)).convert("RGB")
    image = image.crop(crop_box(position, *image.size)).resize((SIZE, SIZE), Image.BILINEAR)
    if flipped(position):
        image = image.transpose(Image.FLIP_LEFT_RIGHT)
    pixels = (np.asarray(image, np.float64) / 255.0 - np.array(MEAN)) / np.array(STD)
    return pixels.astype(np.float32).transpose(2, 0, 1)


# --- the shards, and the comparison

def read_shard(path):
    """[(jpg bytes, class)], in the archive's order."""
    samples = {}
    with tarfile.open(path) as tar:
        for member in tar:
            key, suffix = member.name.split(".", 1)
            samples.setdefault(key, {})[suffix] = tar.extractfile(member).read()
    return [(s["jpg"], int(s["cls"])) for s in samples.values()]


def differing(shards, record):
    """(how many bytes of the record are not what they should be, how many there are, its samples)."""
    lengths = [len(s) for s in shards]
    wrong = total = 0
    for position, image, label in zip(record["position"].tolist(), record["image"], record["label"]):
        shard, sample = place(lengths, position)
        encoded, want_label = shards[shard][sample]
        want = np.ascontiguousarray(image_at(position, encoded)).tobytes() + want_label.to_bytes(8, "little")
        got = np.ascontiguousarray(image).tobytes() + int(label).to_bytes(8, "little")
        wrong += sum(a != b for a, b in zip(got, want)) + abs(len(got) - len(want))
        total += len(want)
    return wrong, total, len(record["position"])


def main(folder, *records):
    if PIL.__version__ != "13.0.0":
        raise SystemExit(f"recompute: Pillow {PIL.__version__} has other pixels; the reference is 13.0.0")
    shards = [read_shard(p) for p in sorted(Path(folder).glob("train-*.tar"))]
    wrong = total = n = 0
    for path in records:
        with np.load(path) as record:
            one = differing(shards, record)
        if one[0]:
            print(f"recompute: {path}: {one[0]} of {one[1]} bytes differ")
        wrong, total, n = wrong + one[0], total + one[1], n + one[2]
    print(f"recompute: {len(records)} batches, {n} samples, {total} bytes: {wrong} differ")
    return 1 if wrong or not n else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

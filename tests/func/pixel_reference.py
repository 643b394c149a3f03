# SPDX-License-Identifier: Apache-2.0
"""What media_run() must give, computed by Pillow 13.0.0 and by the formulas of doc/design/0003-random-numbers.md.

Knows the chains of tests/chain.h and shares no code with what it judges.
"""

import hashlib
import math

import numpy as np
from PIL import Image, ImageOps

M32 = 0xFFFFFFFF
FILTERS = {"box": Image.Resampling.BOX, "bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC}

EXP2 = [float.fromhex(c) for c in (
    "0x1.0000000000000p+0", "0x1.62e42fefa39efp-1", "0x1.ebfbdff82c58fp-3", "0x1.c6b08d704a0c0p-5",
    "0x1.3b2ab6fba4e77p-7", "0x1.5d87fe78a6731p-10", "0x1.430912f86c787p-13", "0x1.ffcbfc588b0c7p-17",
    "0x1.62c0223a5c824p-20", "0x1.b5253d395e7c4p-24", "0x1.e4cf5158b8ecap-28", "0x1.e8cac7351bb25p-32",
    "0x1.c3bd650fc2986p-36", "0x1.816193166d0f9p-40")]
LOG2 = [float.fromhex(c) for c in (
    "0x1.71547652b82fep+1", "0x1.ec709dc3a03fdp-1", "0x1.2776c50ef9bfep-1", "0x1.a61762a7aded9p-2",
    "0x1.484b13d7c02a9p-2", "0x1.0c9a84994022dp-2", "0x1.c68f568d31760p-3", "0x1.89f3b1694cffep-3",
    "0x1.5b9ac9b743f0dp-3", "0x1.3703c1f4d0ffep-3", "0x1.1964ec6fc9491p-3", "0x1.00ecd7e080215p-3")]


def polynomial(coefficients, x):
    total = coefficients[-1]
    for c in coefficients[-2::-1]:
        total = total * x + c
    return total


def exp2(x):
    scale = 1.0
    while x > 0.5:
        x, scale = x - 1.0, scale * 2.0
    while x < -0.5:
        x, scale = x + 1.0, scale * 0.5
    return polynomial(EXP2, x) * scale


def log2(x):
    whole = 0.0
    while x > float.fromhex("0x1.6a09e667f3bcdp+0"):
        x, whole = x * 0.5, whole + 1.0
    while x < float.fromhex("0x1.6a09e667f3bcdp-1"):
        x, whole = x * 2.0, whole - 1.0
    t = (x - 1.0) / (x + 1.0)
    return whole + polynomial(LOG2, t * t) * t


def uniforms(seed, purpose, position, field, draw):
    """The four of one Philox4x32-10 block."""
    digest = hashlib.sha256(seed.to_bytes(8, "little") + purpose.encode()).digest()
    k0, k1 = int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:8], "little")
    c = [position & M32, position >> 32, field, draw]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ k0, b & M32, a >> 32 ^ c[3] ^ k1, a & M32]
        k0, k1 = k0 + 0x9E3779B9 & M32, k1 + 0xBB67AE85 & M32
    return [(u + 0.5) / 2.0**32 for u in c]


class Refused(Exception):
    """A step that does not fit the image."""


class Chain:
    """One image on its way through a chain, as a plain sequence of whole-image operations."""

    def __init__(self, text, position, seed):
        self.words = [w.partition("=")[::2] for w in text.split(";") if w]
        self.settings = {"mode": "rgb", "orientation": "apply", **dict(w for w in self.words if w[0] in ("mode", "orientation"))}
        self.position, self.seed = position, seed
        self.counts = {}

    def draws(self, name, nth=0):
        return uniforms(self.seed, name, self.position, 0, 256 * (self.counts[name] - 1) + nth)

    def decoded(self, image):
        if self.settings["orientation"] == "apply":
            image = ImageOps.exif_transpose(image)
        mode = {"rgb": "RGB", "gray": "L", "keep": "L" if image.mode in ("1", "L", "LA", "I;16") else "RGB"}
        return image.convert(mode[self.settings["mode"]])

    def run(self, image):
        """The pixels, height x width x channels."""
        image = self.decoded(image)
        for name, args in self.words:
            if name in self.settings:
                continue
            self.counts[name] = self.counts.get(name, 0) + 1
            image = getattr(self, name)(image, *args.split(","))
        pixels = np.asarray(image)
        return pixels[:, :, None] if pixels.ndim == 2 else pixels

    def resize(self, image, h, w, how):
        h, w = int(h), int(w)
        if w == 0:
            w, h = (h, int(h * image.height / image.width)) if image.width <= image.height else (
                int(h * image.width / image.height), h)
        return image.resize((w, h), FILTERS[how])

    def box(self, image, left, top, w, h):
        if w > image.width or h > image.height:
            raise Refused
        return image.crop((left, top, left + w, top + h))

    def center_crop(self, image, h, w):
        h, w = int(h), int(w)
        return self.box(image, round((image.width - w) / 2.0), round((image.height - h) / 2.0), w, h)

    def random_crop(self, image, h, w):
        h, w = int(h), int(w)
        u = self.draws("random_crop")
        return self.box(image, int(u[3] * (image.width - w + 1)), int(u[2] * (image.height - h + 1)), w, h)

    def random_resized_crop(self, image, h, w, how, area0, area1, ratio0, ratio1):
        box = self.resized_crop_box(image, (float(area0), float(area1)), (log2(float(ratio0)), log2(float(ratio1))))
        return self.box(image, *box).resize((int(w), int(h)), FILTERS[how])

    def resized_crop_box(self, image, area, ratio):
        for nth in range(10):
            u = self.draws("random_resized_crop", nth)
            pixels = float(image.width) * float(image.height) * (area[0] + (area[1] - area[0]) * u[0])
            shape = exp2(ratio[0] + (ratio[1] - ratio[0]) * u[1])
            w, h = math.floor(math.sqrt(pixels * shape) + 0.5), math.floor(math.sqrt(pixels / shape) + 0.5)
            if 0 < w <= image.width and 0 < h <= image.height:
                return math.floor(u[3] * (image.width - w + 1)), math.floor(u[2] * (image.height - h + 1)), w, h
        w, h, low, high = image.width, image.height, exp2(ratio[0]), exp2(ratio[1])
        if w / h < low:
            h = max(1, min(h, round(w / low)))
        elif w / h > high:
            w = max(1, min(w, round(h * high)))
        return (image.width - w) // 2, (image.height - h) // 2, w, h

    def hflip(self, image, p):
        return ImageOps.mirror(image) if self.draws("hflip")[0] < float(p) else image

    def vflip(self, image, p):
        return ImageOps.flip(image) if self.draws("vflip")[0] < float(p) else image

    def grayscale(self, image, p):
        return image.convert("L").convert(image.mode) if self.draws("grayscale")[0] < float(p) else image

    def pad(self, image, h, w):
        h, w = max(int(h), image.height), max(int(w), image.width)
        frame = Image.new(image.mode, (w, h))
        frame.paste(image, ((w - image.width) // 2, (h - image.height) // 2))
        return frame


def result(image, chain, position=0, seed=0):
    """The line that media-run prints, without the number of warnings."""
    pixels = Chain(chain, position, seed).run(image)
    return "%d %d %d %s" % (*pixels.shape, hashlib.sha256(np.ascontiguousarray(pixels).tobytes()).hexdigest())

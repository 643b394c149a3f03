# SPDX-License-Identifier: Apache-2.0
"""Packs the set of real pictures into WebDataset shards: FOLDER/train-NNNNN.tar and FOLDER/held-out-NNNNN.tar.

A sample is NNNNNN.jpg, NNNNNN.cls (which photograph it was cut from: the class to be learned) and NNNNNN.txt (that
photograph's name). scripts/real-media cut picture i from photograph i modulo their number; every sixth round over the
photographs is held out. The same pictures always give the same bytes.
"""

import io
import os
import sys
import tarfile
from pathlib import Path

from PIL import Image

PER_SHARD = 100
Image.MAX_IMAGE_PIXELS = None


def photographs(media):
    """Those that pictures were cut from, in that order: the large enough ones."""
    def shorter_side(name):
        with Image.open(media / "photos" / name) as image:
            return min(image.size)
    return [name for name in sorted(os.listdir(media / "photos")) if shorter_side(name) >= 480]


def write_shard(path, samples):
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for picture, label, name in samples:
            for suffix, data in ((".cls", b"%d" % label), (".jpg", picture.read_bytes()), (".txt", name.encode())):
                info = tarfile.TarInfo(picture.stem + suffix)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))


def main(media, folder):
    media, folder = Path(media), Path(folder)
    names = photographs(media)
    samples = {"train": [], "held-out": []}
    for i, picture in enumerate(sorted((media / "set").glob("*.jpg"))):
        part = "held-out" if i // len(names) % 6 == 5 else "train"
        samples[part].append((picture, i % len(names), names[i % len(names)]))
    folder.mkdir(parents=True, exist_ok=True)
    for part, those in samples.items():
        for k in range(0, len(those), PER_SHARD):
            write_shard(folder / f"{part}-{k // PER_SHARD:05d}.tar", those[k:k + PER_SHARD])
    print(f"{len(samples['train'])} pictures to train on, {len(samples['held-out'])} held out, {len(names)} classes")


if __name__ == "__main__":
    main(*sys.argv[1:])

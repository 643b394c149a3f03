# SPDX-License-Identifier: Apache-2.0
"""What the engine takes from a picture's first bytes is what Pillow finds, whatever stands before and around it."""

import subprocess

import PIL.Image
import pytest


def pillow_says(path):
    """(coding, width, height), or None where Pillow finds no picture of these formats."""
    try:
        with PIL.Image.open(path, formats=["JPEG", "PNG", "WEBP", "MPO"]) as picture:
            coding = {"MPO": "jpeg"}.get(picture.format, picture.format.lower())
            if coding == "jpeg" and picture.info.get("progressive"):
                coding = "jpeg-progressive"
            if coding == "png" and picture.info.get("interlace"):
                coding = "png-interlaced"
            if coding == "webp" and b"VP8L" in path.read_bytes()[:4096]:
                coding = "webp-lossless"
            return coding, *picture.size
    except (OSError, SyntaxError, ValueError):
        return None


@pytest.mark.parametrize("folder", ["photos", "photos-odd", "photos-derived", "set"])
def test_heads_are_as_pillow_reads_them(build, media, folder):
    paths = sorted(p for p in (media / folder).iterdir() if p.suffix in (".jpg", ".jpeg", ".png", ".webp"))[:200]
    out = subprocess.run([build / "tests/picture-dump", *paths], stdout=subprocess.PIPE, text=True, check=True).stdout
    said = {path: line.split() for path, line in zip(paths, out.splitlines(), strict=True)}
    known = {path: says for path in paths if (says := pillow_says(path))}
    assert len(known) > 10
    for path, (coding, w, h) in known.items():
        assert (said[path][0], int(said[path][1]), int(said[path][2])) == (coding, w, h), path
        assert 200 < int(said[path][3]) < 1_000_000

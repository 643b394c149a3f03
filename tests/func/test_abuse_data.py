# SPDX-License-Identifier: Apache-2.0
"""Samples and specs that are made to harm: bombs, lies, absurd numbers. Each costs a line that names it, or gives what it
should; memory stays what limits say, and the samples beside it are what they are without it."""

import io
import json
import os
import random
import re
import resource
import struct
import subprocess
import zlib

import PIL.Image
import pytest

PIL.Image.MAX_IMAGE_PIXELS = None
SIDE = 12_000 if os.environ.get("OLDDOG_FULL") == "1" else 4_000


def chunk(kind, data, n=None):
    """A chunk of a PNG that says it has n bytes."""
    return struct.pack(">I", len(data) if n is None else n) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def ihdr(w, h, depth=8, color=2, interlaced=0):
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, depth, color, 0, 0, interlaced))


def zeros(n):
    """n zeros, deflated."""
    c, out = zlib.compressobj(9), []
    for at in range(0, n, 1 << 20):
        out.append(c.compress(bytes(min(n - at, 1 << 20))))
    return b"".join(out) + c.flush()


END = chunk(b"IEND", b"")
BLACK = ihdr(8, 8) + chunk(b"IDAT", zeros(8 * 25)) + END


def png(*chunks):
    """8 x 8, black, with chunks before the image's own."""
    return ihdr(8, 8) + b"".join(chunks) + chunk(b"IDAT", zeros(8 * 25)) + END


def saved(kind, w, h, mode="RGB", **how):
    out = io.BytesIO()
    PIL.Image.new(mode, (w, h)).save(out, kind, **how)
    return out.getvalue()


def jpeg(*segments, **how):
    """64 x 64, black, with segments before its own."""
    data = saved("JPEG", 64, 64, **how)
    return data[:2] + b"".join(segments) + data[2:]


def segment(marker, data):
    return b"\xff" + bytes([marker]) + struct.pack(">H", len(data) + 2) + data


def with_size(data, w, h):
    """A JPEG whose header says w x h."""
    at = data.index(b"\xff\xc0")
    return data[:at + 5] + struct.pack(">HH", h, w) + data[at + 9:]


def of_scans(w, h, n):
    """A progressive JPEG whose last scan comes n times."""
    data = saved("JPEG", w, h, "L", progressive=True)
    return data[:-2] + data[data.rindex(b"\xff\xda"):-2] * n + b"\xff\xd9"


def frames(kind, n, **how):
    out = io.BytesIO()
    all_frames = [PIL.Image.new("RGB", (16, 16), (i % 256, i // 256, 0)) for i in range(n)]
    all_frames[0].save(out, kind, save_all=True, append_images=all_frames[1:], **how)
    return out.getvalue()


EXIF_IN_A_CIRCLE = b"Exif\0\0II*\0\x08\0\0\0" + struct.pack("<HHHII", 1, 0x8769, 4, 1, 8) + struct.pack("<I", 8)

# What is made of it: None for black pixels, else the words.
PICTURES = {
    "png-of-65535": (lambda: ihdr(65535, 65535, 1, 0) + chunk(b"IDAT", zeros(65535 * 8193)) + END, "65535 x 65535 pixels"),
    "png-of-2^31": (lambda: ihdr(2**31 - 1, 1) + chunk(b"IDAT", zeros(1 << 20)) + END, "PNG: "),
    "png-within-limits": (lambda: ihdr(SIDE, SIDE) + chunk(b"IDAT", zeros(SIDE * (3 * SIDE + 1))) + END, None),
    "png-interlaced": (lambda: ihdr(SIDE, SIDE, 8, 2, 1) + chunk(b"IDAT", zeros(SIDE * (3 * SIDE + 9))) + END, None),
    "png-whose-texts-inflate": (lambda: png(chunk(b"iCCP", b"x\0\0" + zeros(1 << 28)), chunk(b"zTXt", b"k\0\0" + zeros(1 << 28)),
                                            chunk(b"iTXt", b"k\0\1\0\0\0" + zeros(1 << 28))), None),
    "png-whose-image-inflates": (lambda: ihdr(8, 8) + chunk(b"IDAT", zeros(1 << 28)) + END, None),
    "png-of-empty-chunks": (lambda: png(chunk(b"tEXt", b"") * 500_000, chunk(b"IDAT", b"") * 500_000), None),
    "png-with-long-chunk": (lambda: png(chunk(b"tEXt", b"abc", 2**32 - 1)), "PNG: "),
    "png-with-long-image": (lambda: ihdr(8, 8) + chunk(b"IDAT", zeros(200), 2**31 - 1) + END, "PNG: "),
    "png-that-is-short": (lambda: ihdr(SIDE, SIDE) + chunk(b"IDAT", zeros(200)) + END, "PNG: "),
    "png-of-nothing": (lambda: ihdr(0, 0) + chunk(b"IDAT", zeros(200)) + END, "PNG: "),
    "png-of-frames": (lambda: frames("PNG", 2000), None),
    "png-of-a-column": (lambda: saved("PNG", 1, 65535), None),
    "png-of-a-row": (lambda: saved("PNG", 65535, 1), None),
    "jpeg-of-65500": (lambda: with_size(saved("JPEG", 64, 64), 65500, 65500), "65500 x 65500 pixels"),
    "jpeg-that-is-short": (lambda: with_size(saved("JPEG", 64, 64), SIDE, SIDE), "premature end of data"),
    "jpeg-of-nothing": (lambda: with_size(saved("JPEG", 64, 64), 0, 0), "Empty JPEG image"),
    "jpeg-within-limits": (lambda: saved("JPEG", SIDE, SIDE), None),
    "jpeg-progressive": (lambda: saved("JPEG", SIDE, SIDE, progressive=True), None),
    "jpeg-of-scans": (lambda: of_scans(2000, 2000, 1000), "more than 128 scans"),
    "jpeg-of-many-pixels-and-scans": (lambda: of_scans(SIDE, SIDE, 1000), " scans of so many pixels"),
    "jpeg-of-a-column": (lambda: saved("JPEG", 1, 65500), None),
    "jpeg-of-a-row": (lambda: saved("JPEG", 65500, 1), None),
    "jpeg-of-profiles": (lambda: jpeg(segment(0xe1, b"Exif\0\0" + bytes(65500)) * 1000, segment(0xe2, bytes(65533)) * 1000), None),
    "jpeg-of-comments": (lambda: jpeg(segment(0xfe, b"") * 500_000), None),
    "jpeg-of-filling": (lambda: jpeg(b"\xff" * (20 << 20)), None),
    "jpeg-whose-exif-is-a-circle": (lambda: jpeg(segment(0xe1, EXIF_IN_A_CIRCLE)), None),
    "jpeg-without-restarts": (lambda: (lambda d: d[:d.index(b"\xff\xda")] + segment(0xdd, b"\0\1") + d[d.index(b"\xff\xda"):])(
        jpeg()), "Corrupt JPEG data"),
    "webp-of-16383": (lambda: saved("WEBP", 16383, 16383, lossless=True, method=0, quality=0), "16383 x 16383 pixels"),
    "webp-within-limits": (lambda: saved("WEBP", SIDE, SIDE, lossless=True, method=0, quality=0), None),
    "webp-of-frames": (lambda: frames("WEBP", 1000, duration=10), None),
}
CHAINS = {
    "crop": "random_resized_crop: 16",
    "region": "random_resized_crop: {size: 16, scale: [0.01, 0.02]}",
    "resize": "resize: [3, 16]",
}


def spec_of(folder, data, chain, more=""):
    path = folder / "s.yaml"
    path.write_text(f"sources: [{{data: '{data}'}}]\nfields:\n  image: {{from: [jpg, png, webp], {chain}}}\n"
                    f"order: sequential\nglobal_batch: 1\n{more}")
    return path


@pytest.fixture(scope="module")
def good():
    out = io.BytesIO()
    PIL.Image.frombytes("RGB", (50, 40), random.Random(1).randbytes(6000)).save(out, "PNG")
    return out.getvalue()


@pytest.mark.parametrize("name", PICTURES)
def test_a_hostile_picture_costs_a_line(olddog, tar, tmp_path, good, name):
    make, words = PICTURES[name]
    hostile = make()
    tar(tmp_path / "h.tar", [("a.png", good), ("b.png", hostile), ("c.png", good), ("d.png", BLACK)])
    tar(tmp_path / "g.tar", [("a.png", good), ("b.png", BLACK), ("c.png", good), ("d.png", BLACK)])
    for chain in CHAINS.values():
        want = olddog.lines("read", spec_of(tmp_path, "g.tar", chain), "--digest=sample")
        p = olddog("read", spec_of(tmp_path, "h.tar", chain), "--digest=sample", rc=0 if words is None else 1)
        if words is None:
            assert p.stdout.splitlines() == want
            continue
        assert re.search(r"position 1, sample b in \S*h\.tar at byte \d+: field image: ", p.stderr) and words in p.stderr, p.stderr
        assert p.stdout.splitlines() == want[:1]
        assert olddog.lines("read", tmp_path / "s.yaml", "--from", 2, "--digest=sample") == want[2:]


def damaged(dice, data):
    """Cut off, or some bits turned, or a piece moved, mostly near the front, where the headers are."""
    data = bytearray(data)

    def where():
        return min(int(len(data) ** dice.random()), len(data) - 1)
    how = dice.randrange(4)
    if how == 0:
        return bytes(data[:1 + where()])
    if how == 1:
        for _ in range(dice.randint(1, 8)):
            data[where()] ^= 1 << dice.randrange(8)
    elif how == 2:
        at = where()
        data[at:at + dice.randint(1, 8)] = dice.choice([b"\0", b"\xff", b"\x7f\xff\xff\xff", b""]) * dice.randint(1, 4)
    else:
        a, b, n = where(), where(), dice.randint(1, 64)
        data[b:b + n] = data[a:a + n]
    return bytes(data)


def test_damaged_pictures_give_the_same_on_every_worker(olddog, media, tar, tmp_path, good):
    """The real worker under bits that turned: none dies of it, and what it says is a function of the bytes."""
    n = 8000 if os.environ.get("OLDDOG_FULL") == "1" else 600
    dice = random.Random(int(os.environ.get("OLDDOG_SEED", "4")))
    pictures = [p.read_bytes() for folder in ("photos-odd", "photos-derived") for p in sorted((media / folder).iterdir())
                if p.suffix in (".jpg", ".png", ".webp") and p.stat().st_size < 200_000]
    members = []
    for i in range(n):
        members += [(f"{i:05d}.png", good if i % 4 else damaged(dice, dice.choice(pictures)))]
    tar(tmp_path / "d.tar", members)
    more = "on_error: {decode: skip, stop_above: 100%}\nlimits: {pixels: 20000000}\n"
    spec = spec_of(tmp_path, "d.tar", CHAINS["crop"], more)
    one = olddog.lines("read", spec, "--digest=sample", "--workers", 1)
    assert len(one) == n and 20 < sum(" for=" in line for line in one) < n
    assert one == olddog.lines("read", spec, "--digest=sample", "--workers", 3)
    figures = olddog("read", spec, "--json").stdout
    assert json.loads(figures)["workers_died"] == 0, figures


SPECS = {
    "resize: 100000": "`resize` has a side of `100000`; allowed are 1 to 65535",
    "resize: 65535": "a resize of 50x40 to 81918x65535, the limit of a side is 65535",
    "resize: 50000": "its chain makes 50000x62500x3 of it; at most 715827880 bytes, 4 for each of `limits.pixels`, are allowed",
    "resize: [65535, 65535]": "half of the memory that may be used",
    "random_resized_crop: 65535": "half of the memory that may be used",
    "pad: 65535": "its chain makes 65535x65535x3 of it",
    "center_crop: 100": "center_crop of 100x100 does not fit into the image, which is 50x40 here: put `resize` or `pad`",
    "random_crop: [9, 51]": "random_crop of 51x9 does not fit into the image",
    "resize: 0": "`resize` has a side of `0`",
    "hflip: nan": "`hflip` is `nan`; write a number from 0 to 1",
    "random_resized_crop: {size: 10, scale: [nan, 1]}": "`scale` is `nan`",
    "random_resized_crop: {size: 10, ratio: [1e-300, 1e300]}": "`ratio` is `1e-300`",
    "normalize: {mean: [0, 0, 0], std: [0, 1, 1]}, dtype: float32": "`std` is `0`",
}


@pytest.mark.parametrize("chain", SPECS)
def test_absurd_numbers_in_a_chain_are_told(olddog, tmp_path, good, chain):
    (tmp_path / "a.png").write_bytes(good)
    assert SPECS[chain] in olddog("read", spec_of(tmp_path, "a.png", chain), rc=1).stderr


ONE = "sources: [{data: a.txt}]\nfields: {t: {from: txt}}\n"
BOMBS = {
    "aliases": ("a: &a [x]\n" + "".join(f"b{i}: &b{i} [{','.join(['*a'] * 9)}]\n" for i in range(9)), "anchors and aliases"),
    "brackets": ("sources: " + "[" * 100_000, "nested deeper than 16"),
    "length": ("# " + "x" * (2 << 20), "at most 1048576"),
    "sources": ("sources:\n" + "  - {data: a.txt}\n" * 1000, "1000 sources; at most 256"),
    "names": ("sources: [{data: '/x/{0..99999999}.tar'}]\n", "is more than 1000000 names"),
    "braces": ("sources: [{data: '/x/" + "{0..9}" * 20 + ".tar'}]\n", "more than 16 braces"),
    "seed": (ONE + "seed: 99999999999999999999999\n", "`seed` is `99999999999999999999999`"),
    "batch": (ONE + "global_batch: 18446744073709551615\n", "`global_batch` is `18446744073709551615`"),
    "window": (ONE + "order: {shuffle: {window: 18446744073709551615}}\n", "`window` is `18446744073709551615`"),
    "pixels": (ONE + "limits: {pixels: 18446744073709551615}\n", "`pixels` is `18446744073709551615`"),
    **{f"weight-{w}": (f"sources: [{{data: a.txt, weight: {w}}}]\n", f"`weight` is `{w}`; write a number above 0")
       for w in ("nan", ".inf", "-1", "0", "5e-324")},
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_spec_that_explodes_is_told(olddog, tmp_path, name):
    (tmp_path / "a.txt").write_text("x")
    text, words = BOMBS[name]
    (tmp_path / "s.yaml").write_text(text)
    assert words in olddog("read", "s.yaml", rc=1).stderr


def test_positions_that_are_all_skipped_are_an_end(olddog, tmp_path):
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "s.yaml").write_text(ONE + f"skip_samples: [[0, {(1 << 62) - 1}]]\n")
    assert olddog("read", "s.yaml", "--digest=sample").stdout == ""
    assert "no positions left" in olddog("read", "s.yaml", "--epochs", 0, rc=1).stderr


def within(n_bytes):
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (n_bytes, n_bytes))


def run_within(olddog, n_bytes, *args):
    """(exit code, stdout, stderr) with so much address space."""
    p = subprocess.run([olddog.exe, *args], cwd=olddog.cwd, preexec_fn=within(n_bytes), capture_output=True, timeout=120)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


JSON = {
    "objects": (b"[" + b'{"a":{}},' * (40 << 17) + b"0]", "is JSON of more than 1000000 values; `as: text`"),
    "brackets": (b"[" * (32 << 20), "is JSON of more than 1000000 values"),
    "deep": (b"[" * 3000 + b"]" * 3000, "maximum parsing depth"),
    "keys": (b"{" + b",".join(b'"%d":0' % i for i in range(1 << 20)) + b"}", "is JSON of more than 1000000 values"),
    "digits": (b"9" * (16 << 20), "too big integer"),
    "nan": (b"[NaN]", "is not JSON"),
    "infinite": (b"1e999", "real number overflow"),
    "surrogate": (b'"\\ud800"', "invalid Unicode"),
    "not-utf-8": (b'"\xff"', "unable to decode byte 0xff"),
    "nothing": (b"", "is not JSON"),
    "text": (b'"' + b"a" * (32 << 20) + b'"', None),
    "nul": (b'"\\u0000"', None),
}


@pytest.mark.plain  # a shadow takes more address space than any limit
@pytest.mark.parametrize("name", JSON)
def test_json_of_a_stranger_costs_a_line_and_little_memory(olddog, tar, tmp_path, name):
    data, words = JSON[name]
    tar(tmp_path / "j.tar", [("a.json", b"1"), ("b.json", data), ("c.json", b"{}")])
    (tmp_path / "s.yaml").write_text("sources: [{data: j.tar}]\nfields: {j: {from: json, as: json}}\norder: sequential\n"
                                     "global_batch: 1\n")
    rc, out, said = run_within(olddog, 1 << 30, "read", "s.yaml", "--digest=sample")
    if words is None:
        assert rc == 0 and len(out.splitlines()) == 3
        return
    assert rc == 1 and re.search(r"position 1, sample b in \S*j\.tar at byte 1536: field j ", said) and words in said, said
    assert len(out.splitlines()) == 1

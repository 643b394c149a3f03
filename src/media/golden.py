#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes golden.c: tiny images of every kind that media decodes, as C arrays. They are made by arithmetic and written by
Pillow 13.0.0 (and, interlaced, by hand). The arrays are checked in; run this only to add one, since the media
fingerprint changes with them:

    src/media/golden.py > src/media/golden.c
    src/media/golden.py tests/fuzz/corpus/media       the same as files, where fuzzing starts
"""

import io
import struct
import sys
import zlib
from pathlib import Path

from PIL import Image


def picture(w, h):
    """Smooth parts, an edge, and some noise, so that every stage of a codec has work."""
    im = Image.new("RGB", (w, h))
    for y in range(h):
        for x in range(w):
            noise = (x * y * 31) % 23
            edge = 90 if x * h > y * w else 0
            im.putpixel((x, y), ((5 * x + 3 * y + edge) % 256, (edge + noise + 2 * y) % 256, (255 - 4 * x + noise) % 256))
    return im


def saved(im, kind, **options):
    out = io.BytesIO()
    im.save(out, kind, **options)
    return out.getvalue()


def orientation(n):
    exif = Image.Exif()
    exif[0x0112] = n
    return exif.tobytes()


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(w, h, depth, color_type, interlace, rows, extra=b""):
    data = b"".join(b"\0" + row for row in rows)
    ihdr = struct.pack(">IIBBBBB", w, h, depth, color_type, 0, 0, interlace)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", ihdr) + extra + chunk(b"IDAT", zlib.compress(data, 9)) + chunk(b"IEND", b"")


def png_16(im):
    """16 bits, with alpha: low bytes that differ from the high ones."""
    rows = []
    for y in range(im.height):
        row = b""
        for x in range(im.width):
            r, g, b = im.getpixel((x, y))
            row += bytes([r, 255 - r, g, 200, b, x & 255, 128, y & 255])
        rows.append(row)
    return png(im.width, im.height, 16, 6, 0, rows)


def png_interlaced(im):
    """Adam7, a palette of 16 in 4 bits, and eXIf."""
    indexed = im.quantize(16)
    palette = bytes(indexed.getpalette()[:48])
    rows = []
    for x0, y0, dx, dy in ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)):
        for y in range(y0, im.height, dy):
            values = [indexed.getpixel((x, y)) for x in range(x0, im.width, dx)]
            values += [0] * (len(values) % 2)
            if values:
                rows.append(bytes(a << 4 | b for a, b in zip(values[::2], values[1::2])))
    return png(im.width, im.height, 4, 3, 1, rows, chunk(b"PLTE", palette) + chunk(b"eXIf", orientation(3)[6:]))


def unfinished(jpeg, n_scans):
    """A progressive file that ends after its first scans, in good order."""
    at = 0
    for _ in range(n_scans + 1):
        at = jpeg.index(b"\xff\xda", at + 1)
    tables = jpeg.rindex(b"\xff\xc4", 0, at)  # those of the scan that is left out
    return jpeg[:tables] + b"\xff\xd9"


def animated():
    """Two frames; the first leaves an edge of the canvas free."""
    first = Image.new("RGBA", (30, 22))
    first.paste(picture(20, 14), (4, 2))
    second = picture(30, 22).convert("RGBA")
    return saved(first, "WEBP", save_all=True, append_images=[second], lossless=True, duration=40)


def images():
    im = picture(37, 29)
    yield "jpeg_420", saved(im, "JPEG", quality=90, subsampling="4:2:0")
    yield "jpeg_422", saved(im, "JPEG", quality=85, subsampling="4:2:2")
    yield "jpeg_444", saved(im, "JPEG", quality=93, subsampling="4:4:4")
    yield "jpeg_gray", saved(im.convert("L"), "JPEG", quality=88)
    yield "jpeg_progressive", saved(im, "JPEG", quality=90, progressive=True)
    yield "jpeg_unfinished", unfinished(saved(im, "JPEG", quality=90, progressive=True), 2)
    yield "jpeg_restart", saved(im, "JPEG", quality=80, restart_marker_blocks=2)
    yield "jpeg_cmyk", saved(picture(19, 14).convert("CMYK"), "JPEG", quality=90)
    yield "jpeg_turned", saved(picture(24, 16), "JPEG", quality=90, exif=orientation(6))
    yield "png_rgb", saved(im, "PNG", optimize=True)
    yield "png_gray", saved(im.convert("L"), "PNG", optimize=True)
    yield "png_bits", saved(im.convert("1"), "PNG", optimize=True)
    yield "png_16", png_16(picture(9, 13))
    yield "png_interlaced", png_interlaced(picture(27, 21))
    yield "webp_lossy", saved(im, "WEBP", quality=80)
    yield "webp_lossless", saved(picture(24, 16), "WEBP", lossless=True)
    yield "webp_animated", animated()


def write_files(folder):
    for name, data in images():
        (folder / name).write_bytes(data)


def write_arrays():
    print("/* SPDX-License-Identifier: Apache-2.0 */\n/* Made by golden.py: do not edit. */")
    print('#include "media/golden.h"\n')
    names = []
    for name, data in images():
        names.append(name)
        print(f"static const uint8_t {name}[] = {{")
        for i in range(0, len(data), 30):
            print("\t" + ",".join(map(str, data[i:i + 30])) + ",")
        print("};\n")
    print("const struct golden golden_images[] = {")
    for name in names:
        print(f'\t{{"{name}", {name}, sizeof({name})}},')
    print("};\n\nconst unsigned n_golden_images = sizeof(golden_images) / sizeof(golden_images[0]);")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        write_files(Path(sys.argv[1]))
    else:
        write_arrays()

# SPDX-License-Identifier: Apache-2.0
"""Archives that are made to harm, or are none: each is left out with its name, the offset and what to do, or read as far
as it goes; shards beside it are read. Memory is little whatever sizes they claim."""

import gzip
import io
import lzma
import resource
import subprocess
import zipfile

import pytest

END = bytes(1024)


def header(name=b"a.txt", size=b"00000000005\0", kind=b"0"):
    h = bytearray(512)
    h[:len(name)] = name
    h[100:108], h[124:136], h[148:156], h[156:157], h[257:265] = b"0000644\0", size, b" " * 8, kind, b"ustar\x0000"
    h[148:156] = b"%06o\0 " % sum(h)
    return bytes(h)


def padded(data):
    return data + bytes(-len(data) % 512)


MEMBER = header() + padded(b"hello")


def extended(data, kind=b"x"):
    return header(b"px", b"%011o\0" % len(data), kind) + padded(data)


def record(key, value):
    body = b" " + key + b"=" + value + b"\n"
    n = len(body)
    while len(b"%d" % n) + len(body) != n:
        n += 1
    return b"%d" % n + body


def base256(n):
    return (n | 1 << 95).to_bytes(12, "big")


def zipped():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        z.writestr("a.txt", "hello" * 300)
    return out.getvalue()


# Told, and left out.
BAD = {
    "huge": (header(size=base256((1 << 63) - 1)) + MEMBER + END, "member a.txt at 0 has 9223372036854775807 bytes, 2048 are there"),
    "overflow": (header(size=base256(1 << 80)) + END, "has a header whose size is no number at 0"),
    "wraps": (header(size=base256((1 << 64) - 512)) + MEMBER + END, "has a header whose size is no number at 0"),
    "negative": (header(size=b"\xff" * 12) + END, "has a header whose size is no number at 0"),
    "minus": (header(size=b"-0000000001\0") + END, "has a header whose size is no number at 0"),
    "octal": (header(size=b"7" * 12) + MEMBER + END, "is cut off: member a.txt at 0 has 68719476735 bytes"),
    "pax-size": (extended(record(b"size", b"18446744073709551615")) + MEMBER + END, "has 18446744073709551615 bytes, 1536 are there"),
    "pax-number": (extended(record(b"size", b"-5")) + MEMBER + END, "has a broken extended header at 0"),
    "pax-length": (extended(b"99999999999999999999 path=x\n") + MEMBER + END, "has a broken extended header at 0"),
    "pax-zero": (extended(b"0 path=x\n") + MEMBER + END, "has a broken extended header at 0"),
    "pax-nul": (extended(record(b"path", b"a\0b.txt")) + MEMBER + END, "has a broken extended header at 0"),
    "pax-huge": (header(b"px", base256(1 << 30), b"x") + bytes(4096), "an extended header of 1073741824 bytes at 0 (at most 1048576)"),
    "name-of-a-gigabyte": (header(b"L", base256(1 << 30), b"L") + b"a" * 4096, "an extended header of 1073741824 bytes at 0"),
    "name-of-a-megabyte": (extended(b"a" * (1 << 20), b"L") + MEMBER + END, "has a broken extended header at 0"),
    "nothing": (b"", "lacks its end blocks at 0"),
    "short": (b"x" * 100, "ends inside a header at 100"),
    "gzip": (gzip.compress(bytes(range(256)) * 4096, 0), "is compressed with gzip, so its members have no offsets: unpack it"),
    "xz": (lzma.compress(MEMBER + END) + bytes(512), "is compressed with xz"),
    "zstd": (b"\x28\xb5\x2f\xfd" + bytes(2000), "is compressed with zstd"),
    "zip": (zipped(), "is compressed with zip"),
    "page": (b"<!DOCTYPE html>" + bytes(2000), "is no tar archive"),
}
# Members that come, and what is told.
GOOD = {
    "concatenated": (MEMBER + END + header(b"b.txt") + padded(b"hello") + END, 1, "something follows the end of the archive"),
    "empty": (END, 0, ""),
    "folders": (header(b"d/", b"00000000000\0", b"5") * 1000 + END, 0, ""),
    "headers": (extended(record(b"path", b"q.txt")) * 20_000 + MEMBER + END, 1, ""),
    "comments": (extended(b"1048576 comment=" + b"x" * (1048576 - 17) + b"\n", b"g") * 50 + MEMBER + END, 1, ""),
    "newline": (extended(record(b"path", b"a\nb\x1b[2J.txt")) + MEMBER + END, 1, ""),
    "not-utf-8": (header(b"\xff\xfe.txt") + padded(b"hello") + END, 1, ""),
}


def plan_within(olddog, folder, n_bytes=256 << 20):
    """Planned with so much address space, where there is no sanitizer."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (n_bytes, n_bytes))
    bare = subprocess.run([olddog.exe, "--version"], preexec_fn=limit, capture_output=True).returncode == 0
    return subprocess.run([olddog.exe, "plan", folder, "-o", "p.plan"], cwd=olddog.cwd, timeout=120, capture_output=True, text=True,
                          errors="replace", preexec_fn=limit if bare else None)


@pytest.fixture
def data(tmp_path):
    """A folder with one good shard."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "0.tar").write_bytes(header(b"good.txt") + padded(b"hello") + END)
    return tmp_path / "data"


@pytest.mark.parametrize("name", BAD)
def test_a_bad_archive_is_left_out_by_name(olddog, data, name):
    archive, words = BAD[name]
    (data / "1.tar").write_bytes(archive)
    p = plan_within(olddog, data)
    assert p.returncode == 0 and "1.tar " in p.stderr and words in p.stderr and "left out" in p.stderr, p.stderr
    assert len(olddog.lines("read", "p.plan", "--digest=sample")) == 1
    (data / "0.tar").unlink()
    assert "no good shard left" in plan_within(olddog, data).stderr


@pytest.mark.parametrize("name", GOOD)
def test_a_strange_archive_is_read_as_far_as_it_goes(olddog, data, name):
    archive, n, words = GOOD[name]
    (data / "1.tar").write_bytes(archive)
    p = plan_within(olddog, data)
    assert p.returncode == 0 and words in p.stderr and "\x1b" not in p.stdout + p.stderr, p.stderr
    assert len(olddog.lines("read", "p.plan", "--digest=sample")) == 1 + n


def test_archives_without_a_sample_are_told(olddog, tmp_path):
    (tmp_path / "e.tar").write_bytes(END)
    assert "there is no sample in the data" in olddog("plan", "e.tar", "-o", "p.plan", rc=1).stderr


def test_an_archive_that_is_mostly_a_hole_costs_what_it_holds(olddog, data):
    """A member of a terabyte that is none on the disk; what comes behind it is found."""
    with (data / "1.tar").open("wb") as f:
        f.write(header(b"hole.bin", base256(1 << 40)))
        f.seek(512 + (1 << 40))
        f.write(MEMBER + END)
    p = plan_within(olddog, data)
    assert p.returncode == 0, p.stderr
    (olddog.cwd / "s.yaml").write_text("sources: [{data: data/1.tar}]\nfields: {b: {from: bin, as: bytes, on_missing: skip}}\n")
    said = olddog("read", "s.yaml", rc=1).stderr
    assert "field b has 1099511627776 bytes, more than the limit of 268435456" in said

# SPDX-License-Identifier: Apache-2.0
"""hdfs_cutter.py: it finds the frames of Hadoop's own client, and does what its rules say at exactly those points."""

import random

import pytest
from hdfs_cutter import DataNode, Frames, NameNode
from hdfs_help import Cutter

DATA = random.Random(3).randbytes(1_000_000)


@pytest.fixture
def cutter(hdfs_faulty, tmp_path):
    with Cutter(hdfs_faulty, tmp_path) as c:
        yield c


def cat(cutter, folder):
    return cutter.cluster.fs("-cat", cutter.url + folder.path("x"), text=False, conf=cutter.env["HADOOP_CONF_DIR"])


def test_nothing_is_changed_without_a_rule(cutter, faulty_dir):
    faulty_dir.put("x", DATA, blocksize=1 << 18)
    assert cat(cutter, faulty_dir).stdout == DATA
    closed = cutter.closed()
    assert {"nn1"} < {e["to"] for e in closed}
    assert sum(e["down"] for e in closed if e["to"] != "nn1") > len(DATA)
    # A response, packets of 64 KiB and an empty one for each of four blocks.
    assert sum(e["frames_down"] for e in closed if e["to"] != "nn1") >= 4 * 3


@pytest.mark.parametrize("do", ["cut", "reset", "flip"])
def test_a_read_is_struck_at_a_packet(cutter, faulty_dir, do):
    faulty_dir.put("x", DATA, replication=3)
    cutter.rule(dir="down", kind="packet", after=2, do=do, skew=100, times=1)
    # NameNodes have no packets, so this strikes a DataNode's connection.
    assert cat(cutter, faulty_dir).stdout == DATA
    struck = cutter.struck()
    assert [s["do"] for s in struck] == [do]
    assert struck[0]["to"].startswith("dn") and 0 < struck[0]["bytes"] < len(DATA)


def test_a_write_is_struck_at_a_packet(cutter, faulty_dir, tmp_path):
    (tmp_path / "x").write_bytes(DATA)
    cutter.rule(dir="up", kind="packet", after=3, do="cut")
    cutter.cluster.fs("-put", tmp_path / "x", cutter.url + faulty_dir.path("x"), conf=cutter.env["HADOOP_CONF_DIR"])
    assert faulty_dir.get("x") == DATA
    assert [(s["do"], s["dir"]) for s in cutter.struck()] == [("cut", "up")]


def test_frames_are_found_however_they_are_split():
    stream = b"".join(len(b).to_bytes(4, "big") + b for b in (b"a", b"", b"ccc", b"d" * 70000))
    for n in (1, 3, 1000, len(stream)):
        frames, found = Frames(NameNode().down()), []
        for i in range(0, len(stream), n):
            found += frames.feed(stream[i:i + n])
        assert found == [(5, "answer"), (9, "answer"), (16, "answer"), (70020, "answer")]


def test_a_block_that_is_read_is_a_response_and_packets():
    node = DataNode()
    up, down = Frames(node.up()), Frames(node.down())
    assert up.feed(b"\0\x1c\x51\x02\x0a\x00") == [(6, "op")]
    packets = b"".join(
        (4 + n).to_bytes(4, "big") + b"\0\x19\x09" + bytes(8) + b"\x11" + bytes(8) + b"\x18" + last + b"\x25" + bytes(4 + n)
        for n, last in ((516, b"\0"), (0, b"\1")))
    found = down.feed(b"\x02\x08\x00" + packets + b"\x02\x08\x01")
    assert [kind for _, kind in found] == ["response", "packet", "packet", "response"]
    assert up.feed(b"\x02\x08\x06") == [(9, "status")]

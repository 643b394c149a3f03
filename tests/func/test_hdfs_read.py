# SPDX-License-Identifier: Apache-2.0
"""Reading from a real HDFS, without faults: by descriptors and through DataNodes, parts, files that grow, peers' files."""

import re

from fault_help import BLOCK, CHUNK, KEY, far_env
from hdfs_help import native_client
from ops_help import Io, stream


def counters(stderr):
    return {name: int(value) for name, value in re.findall(r"^hdfs_(\w+) (\d+)$", stderr.decode(), re.M)}


def cat(olddog, folder, *args, name="x", env=None):
    p = olddog("cat", "--stats", *args, folder.url(name), env=env or folder.env, text=False)
    return p.stdout, counters(p.stderr)


def test_local_replicas_are_read_by_descriptor(hdfs, hdfs_dir, olddog, tmp_path):
    data = stream(KEY, 0, 5 * BLOCK + 123)
    hdfs_dir.put("x", data, replication=2, blocksize=2 * BLOCK)
    got, seen = cat(olddog, hdfs_dir)
    assert got == data and seen["bytes_local"] == len(data) and seen["bytes_read"] == 0
    got, seen = cat(olddog, hdfs_dir, env=far_env(hdfs, tmp_path / "far"))
    assert got == data and seen["bytes_local"] == 0 and seen["bytes_read"] == len(data)


def test_parts_of_files(hdfs_dir, olddog):
    data = stream(KEY, 0, 3 * BLOCK + 77)
    hdfs_dir.put("x", data, replication=2, blocksize=BLOCK)
    for offset, length in ((0, 1), (511, 2), (BLOCK - 1, 2), (BLOCK - 100, 2 * BLOCK), (3 * BLOCK, 77), (3 * BLOCK + 76, 1)):
        assert cat(olddog, hdfs_dir, "--offset", offset, "--length", length)[0] == data[offset:offset + length]
    hdfs_dir.put("empty", b"")
    assert cat(olddog, hdfs_dir, name="empty")[0] == b""


def test_a_file_is_read_while_it_grows(hdfs_dir, olddog):
    begun = 2 * BLOCK + 12345
    hdfs_dir.put("x", stream(KEY, 0, begun), replication=2, blocksize=BLOCK)
    with Io("append", hdfs_dir.url("x"), KEY, 3 * BLOCK, CHUNK, env=hdfs_dir.env) as io:
        for i in range(1, 9):
            io.to(begun + i * CHUNK)
            io.say("flush")
            io.to(begun + (i + 1) * CHUNK)
            got, _ = cat(olddog, hdfs_dir)
            # The NameNode hears of a block's length once, at its first flush.
            assert len(got) >= begun + CHUNK and got == stream(KEY, 0, len(got))
        io.end()
    assert cat(olddog, hdfs_dir)[0] == stream(KEY, 0, begun + 3 * BLOCK)


def test_what_hadoops_shell_writes_is_read_and_the_reverse(hdfs, hdfs_dir, olddog, tmp_path):
    data = stream(KEY, 0, 2 * BLOCK + 4321)
    (tmp_path / "x").write_bytes(data)
    hdfs.fs("-put", tmp_path / "x", hdfs_dir.url("shell"))
    assert cat(olddog, hdfs_dir, name="shell")[0] == data
    with Io("write", hdfs_dir.url("ours"), KEY, len(data), CHUNK, 2, BLOCK, env=hdfs_dir.env) as io:
        io.end()
    assert hdfs.fs("-cat", hdfs_dir.url("ours"), text=False).stdout == data


def test_what_hdfs_native_writes_is_read_and_the_reverse(hdfs, hdfs_dir, olddog):
    client, data = native_client(hdfs), stream(KEY, 0, 2 * BLOCK + 4321)
    with client.create(hdfs_dir.path("native")) as f:
        f.write(data)
    assert cat(olddog, hdfs_dir, name="native")[0] == data
    with Io("write", hdfs_dir.url("ours"), KEY, len(data), CHUNK, 2, BLOCK, env=hdfs_dir.env) as io:
        io.end()
    with client.read(hdfs_dir.path("ours")) as f:
        assert bytes(f.read()) == data

# SPDX-License-Identifier: Apache-2.0
"""What is written to HDFS is what Java's client reads, whole and while it grows; and the reverse. Faults: test_hdfs_faults_write.py."""

import pytest
from ops_help import Io, stream

KEY = 9
BLOCK = 1 << 20


def write(folder, size, chunk, replicas=3, verb="write", name="x"):
    return Io(verb, folder.url(name), KEY, size, chunk, replicas, BLOCK, env=folder.env)


def java_cat(folder, name="x"):
    return folder.cluster.fs("-cat", folder.path(name), text=False).stdout


@pytest.mark.parametrize("size", [0, 1, 511, 512, 513, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 77777])
def test_files_of_all_lengths(hdfs_dir, size):
    with write(hdfs_dir, size, 300000) as io:
        io.end()
        assert io.counters["bytes_written"] == size
    assert hdfs_dir.get("x") == stream(KEY, 0, size)
    status = hdfs_dir.status("x")
    assert (status["length"], status["blockSize"], status["replication"]) == (size, BLOCK, 3)
    assert [b["length"] for b in hdfs_dir.blocks("x")] == [min(BLOCK, size - at) for at in range(0, size, BLOCK)]


def test_java_reads_it(hdfs_dir):
    size = 2 * BLOCK + 12345
    with write(hdfs_dir, size, 65536, replicas=2) as io:
        io.end()
    assert java_cat(hdfs_dir) == stream(KEY, 0, size)


def test_what_is_flushed_is_read_while_the_file_grows(hdfs_dir):
    begun, size, chunk = 12345, 400000, 70001
    with write(hdfs_dir, begun, 5000) as io:
        io.end()
    with write(hdfs_dir, size, chunk, verb="append") as io:
        for i in range(1, 4):
            io.to(begun + i * chunk)
            io.say("flush")
            io.to(begun + (i + 1) * chunk)
            seen = hdfs_dir.get("x")
            assert len(seen) >= begun + i * chunk and seen == stream(KEY, 0, len(seen))
        io.end()
    assert hdfs_dir.get("x") == stream(KEY, 0, begun + size)


def test_java_appends_to_it_and_it_to_java(hdfs_dir, tmp_path):
    (tmp_path / "more").write_bytes(stream(KEY, 1000, 1000))
    with write(hdfs_dir, 1000, 1000) as io:
        io.end()
    hdfs_dir.cluster.fs("-appendToFile", str(tmp_path / "more"), hdfs_dir.path("x"))
    with write(hdfs_dir, 2 * BLOCK, 100000, verb="append") as io:
        io.end()
        assert io.counters["pipeline_updates"] == 1
    assert java_cat(hdfs_dir) == stream(KEY, 0, 2000 + 2 * BLOCK)

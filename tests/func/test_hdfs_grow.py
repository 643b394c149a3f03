# SPDX-License-Identifier: Apache-2.0
"""Files that somebody writes: what was flushed is read, by every verb, and stat says that they grow."""

import json

import pytest
from fault_help import BLOCK, CHUNK, KEY, far_env, put_some
from hdfs_help import native_client
from ops_help import Io, stream

BEGUN = 2 * BLOCK + 12345


def stat(olddog, folder, env):
    return json.loads(olddog("stat", "--json", folder.url("x"), env=env).stdout)[0]


def check(olddog, folder, env, flushed, tmp_path):
    """Every verb gives all that was flushed, and nothing that was not written."""
    said = stat(olddog, folder, env)
    assert said["growing"] is True and said["length"] >= flushed
    for url in (folder.url("x"), folder.url("[x]")):
        got = olddog("cat", url, env=env, text=False).stdout
        assert len(got) >= flushed and got == stream(KEY, 0, len(got))
    part = olddog("cat", "--offset", BEGUN - 7, "--length", flushed - BEGUN, folder.url("x"), env=env, text=False).stdout
    assert part == stream(KEY, BEGUN - 7, flushed - BEGUN)
    olddog("cp", folder.url("x"), tmp_path / "copy", env=env)
    got = (tmp_path / "copy").read_bytes()
    assert len(got) >= flushed and got == stream(KEY, 0, len(got))
    (tmp_path / "copy").unlink()


def grow(folder, env, flushed):
    """Bytes up to there are flushed, and a bit more is written."""
    io = Io("append", folder.url("x"), KEY, 3 * BLOCK, CHUNK, env=env)
    io.begun = BEGUN
    io.to(flushed)
    io.say("flush")
    io.to(flushed + CHUNK)
    return io


@pytest.mark.parametrize("where", ["near", "far"])
def test_all_that_was_flushed_is_read(hdfs, hdfs_dir, olddog, tmp_path, where):
    env = hdfs_dir.env if where == "near" else far_env(hdfs, tmp_path / "far")
    put_some(hdfs_dir, BEGUN)
    with grow(hdfs_dir, hdfs_dir.env, BEGUN + 2 * CHUNK) as io:
        check(olddog, hdfs_dir, env, BEGUN + 2 * CHUNK, tmp_path)
        io.on(3 * CHUNK)
        io.say("flush")
        io.to(BEGUN + 7 * CHUNK)
        check(olddog, hdfs_dir, env, BEGUN + 6 * CHUNK, tmp_path)
        io.end()
    said = stat(olddog, hdfs_dir, env)
    assert "growing" not in said and said["length"] == BEGUN + 3 * BLOCK


def test_the_first_datanode_of_what_is_written_is_killed(faulty_dir, olddog, tmp_path):
    env = far_env(faulty_dir.cluster, tmp_path / "far")
    put_some(faulty_dir, BEGUN, replication=3)
    with grow(faulty_dir, faulty_dir.env, BEGUN + 2 * CHUNK) as io:
        faulty_dir.cluster.kill(faulty_dir.blocks("x")[-1]["dns"][0])
        check(olddog, faulty_dir, env, BEGUN + 2 * CHUNK, tmp_path)
        io.end()
    assert faulty_dir.get("x") == stream(KEY, 0, BEGUN + 3 * BLOCK)


def test_what_hdfs_native_has_written_is_read(hdfs, hdfs_dir, olddog):
    data = stream(KEY, 0, 2 * BLOCK + CHUNK)
    with native_client(hdfs).create(hdfs_dir.path("x")) as f:
        f.write(data)
        said = stat(olddog, hdfs_dir, hdfs_dir.env)
        assert said["growing"] is True
        got = olddog("cat", hdfs_dir.url("x"), env=hdfs_dir.env, text=False).stdout
        assert got == data[:len(got)]
    assert olddog("cat", hdfs_dir.url("x"), env=hdfs_dir.env, text=False).stdout == data

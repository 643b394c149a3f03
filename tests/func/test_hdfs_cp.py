# SPDX-License-Identifier: Apache-2.0
"""olddog cp between real HDFS clusters, and between HDFS and files: what both NameNodes say of it is the same."""

import json
import os
import random
import signal
import time

import pytest
from hdfs_help import folder_in

BLOCK = 1 << 20


@pytest.fixture
def second_dir(hdfs_second, request):
    with folder_in(hdfs_second, request) as f:
        yield f


def make_tree(folder, seed):
    rng = random.Random(seed)
    sizes = [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 5 * BLOCK + 3, 24 * BLOCK + 4321]
    sizes += [int(2 ** rng.uniform(0, 21)) for _ in range(32)]
    for i, size in enumerate(sizes):
        name = folder / f"d{i % 3}" / f"f{i:02d}"
        name.parent.mkdir(parents=True, exist_ok=True)
        name.write_bytes(rng.randbytes(size))
    (folder / "empty").mkdir()
    (folder / "d0" / "name with #, 100% and é").write_bytes(b"odd")
    return folder


def tree_of(folder):
    return {str(p.relative_to(folder)): None if p.is_dir() else p.read_bytes() for p in folder.rglob("*")}


def checksums(cluster, root, names):
    """What the NameNode and its DataNodes say of each file: composite CRC-32C, the same for any block size."""
    said = cluster.fs("-Ddfs.checksum.combine.mode=COMPOSITE_CRC", "-checksum", *(f"{root}/{n}" for n in names), timeout=300)
    rows = [line.split("\t") for line in (said.stdout if hasattr(said, "stdout") else said).splitlines() if "\t" in line]
    assert len(rows) == len(names), said
    return {name: row[1:] for name, row in zip(names, rows)}


def summary(olddog, *args, **kw):
    return json.loads(olddog("cp", "--json", *args, **kw).stdout)


def test_a_tree_goes_there_and_back(olddog, hdfs_dir, tmp_path):
    tree = make_tree(tmp_path / "tree", 3)
    n = sum(v is not None for v in tree_of(tree).values())
    there = summary(olddog, "-p", "--part-size", 2 * BLOCK, tree, hdfs_dir.url("copy"), env=hdfs_dir.env)
    assert there["copied"] == n and there["failed"] == 0
    again = summary(olddog, "--part-size", 2 * BLOCK, tree, hdfs_dir.url("copy"), env=hdfs_dir.env)
    assert again["skipped"] == n and again["copied"] == 0
    back = summary(olddog, hdfs_dir.url("copy"), tmp_path / "back", env=hdfs_dir.env)
    assert back["copied"] == n and tree_of(tmp_path / "back") == tree_of(tree)
    st = hdfs_dir.status("copy/d1/f07")
    assert st["modificationTime"] == (tree / "d1" / "f07").stat().st_mtime_ns // 10**6
    assert ".f07.olddog-cp" not in hdfs_dir.names("copy/d1")


def test_a_copy_between_clusters_killed_ten_times_goes_on(olddog, hdfs, hdfs_dir, hdfs_second, second_dir, tmp_path):
    tree = make_tree(tmp_path / "tree", 4)
    want, files = tree_of(tree), sorted(n for n, v in tree_of(tree).items() if v is not None)
    env = hdfs_dir.env
    olddog("cp", tree, hdfs_dir.url("tree"), env=env)
    slow = hdfs_dir.url("tree") + "#fault=delay:1ms-60ms"
    args = ("cp", "--part-size", 2 * BLOCK, "-j", 4)
    started = time.monotonic()
    olddog(*args, slow, second_dir.url("whole"), env=env)
    whole_s = time.monotonic() - started
    rng, n_struck, target = random.Random(int(os.environ.get("OLDDOG_REAL_SEED", "11"))), 0, second_dir.url("copy")
    for _ in range(10):
        p = olddog.start(*args, slow, target, env=env)
        time.sleep(rng.uniform(0, whole_s / 3))  # the moment of the kill is what is drawn
        p.kill(signal.SIGKILL)
        p.wait()
        olddog("mkdir", target, env=env)
        olddog("cp", target, tmp_path / "look", env=env)
        have = {n: v for n, v in tree_of(tmp_path / "look").items() if v is not None}
        assert all(v == want[n] for n, v in have.items() if n in want), "half a file under its name"
        n_struck += 0 < len(have) < len(files)
    assert n_struck > 0
    got = summary(olddog, *args[1:], hdfs_dir.url("tree"), target, env=env)
    assert got["failed"] == 0 and got["skipped"] + got["copied"] == len(files)
    assert checksums(hdfs, hdfs_dir.path("tree"), files) == checksums(hdfs_second, second_dir.path("copy"), files)
    assert not [n for d in ("copy/d0", "copy/d1", "copy/d2") for n in second_dir.names(d) if n.endswith(".olddog-cp")]


def test_rm_goes_to_the_trash_and_df_counts(olddog, hdfs_dir, tmp_path):
    (tmp_path / "f").write_bytes(b"1" * 1000)
    olddog("cp", tmp_path / "f", hdfs_dir.url("d/f"), env=hdfs_dir.env)
    olddog("rm", hdfs_dir.url("d/*"), env=hdfs_dir.env)
    assert olddog.lines("ls", "-1", hdfs_dir.url("d"), env=hdfs_dir.env) == []
    olddog("rm", "-r", hdfs_dir.url("d"), env=hdfs_dir.env)
    assert "d" not in hdfs_dir.names()
    got = json.loads(olddog("df", "--json", hdfs_dir.url(), env=hdfs_dir.env).stdout)[0]
    assert 0 < got["free_bytes"] <= got["total_bytes"]

# SPDX-License-Identifier: Apache-2.0
"""olddog cp between real HDFS clusters, and between HDFS and files: what both NameNodes say of it is the same."""

import json
import os
import random
import signal

import pytest
from hdfs_help import Cutter, folder_in

BLOCK = 1 << 20
FULL = os.environ.get("OLDDOG_FULL") == "1"


@pytest.fixture
def second_dir(hdfs_second, request):
    with folder_in(hdfs_second, request) as f:
        yield f


PART = 1 << 24  # random.randbytes() refuses more than 2^31 bits


def write_random(name, rng, size):
    with open(name, "wb") as f:
        for at in range(0, size, PART):
            f.write(rng.randbytes(min(PART, size - at)))


def make_tree(folder, seed, scale=1):
    """scale: so much larger are the large ones."""
    rng = random.Random(seed)
    sizes = [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 5 * scale * BLOCK + 3, 24 * scale * BLOCK + 4321]
    sizes += [int(2 ** rng.uniform(0, 21)) for _ in range(32)]
    for i, size in enumerate(sizes):
        name = folder / f"d{i % 3}" / f"f{i:02d}"
        name.parent.mkdir(parents=True, exist_ok=True)
        write_random(name, rng, size)
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


class Target:
    """What there is of a copy, as its NameNode tells it: {path: (fileId, length)}."""

    def __init__(self, folder, root):
        self.whole, self.parts, self.temporaries = {}, {}, []
        self.folder, self.root = folder, root
        self.look("")

    def look(self, below):
        listed = self.folder.cluster.web_json("GET", self.folder.path(self.root + below), "LISTSTATUS")
        for st in listed["FileStatuses"]["FileStatus"]:
            path = f"{below}/{st['pathSuffix']}"
            if st["type"] == "DIRECTORY":
                self.look(path)
            elif st["pathSuffix"].startswith(".olddog-tmp-"):
                self.temporaries.append(path)
            elif ".olddog-cp/" in path:
                self.parts[path] = st["fileId"], st["length"]
            else:
                self.whole[path[1:]] = st["fileId"], st["length"]

    def bytes_left(self, sizes):
        """Of a tree, at least: a file's parts may have been joined to its first one."""
        return sum(sizes.values()) - sum(n for _, n in [*self.whole.values(), *self.parts.values()])

    def goes_on_from(self, before):
        """Nothing that was whole was written again: it is the same file, or part of one that is whole now."""
        for path, was in before.whole.items():
            assert self.whole.get(path) == was, path
        for path, was in before.parts.items():
            folder, _, staging = path.rpartition("/")[0].rpartition("/")
            of = f"{folder}/{staging[1:-len('.olddog-cp')]}"[1:]
            joined = [p for p in self.parts if p.startswith(f"{folder}/{staging}/")]
            assert self.parts.get(path) == was or of in self.whole or len(joined) == 1, path


def test_a_copy_between_clusters_killed_ten_times_goes_on(olddog, hdfs, hdfs_dir, hdfs_second, second_dir, tmp_path):
    """Killed when so many bytes have gone to the target's DataNodes, and while nothing can go on: in the middle for sure."""
    tree = make_tree(tmp_path / "tree", 4, scale=16 if FULL else 1)
    sizes = {str(p.relative_to(tree)): p.stat().st_size for p in tree.rglob("*") if p.is_file()}
    number = int(os.environ.get("OLDDOG_SEED") or random.randrange(1 << 32))
    rng = random.Random(number)
    print(f"OLDDOG_SEED={number}")
    olddog("cp", tree, hdfs_dir.url("tree"), env=hdfs_dir.env, timeout=600)
    with Cutter(hdfs, tmp_path / "from") as source, Cutter(hdfs_second, tmp_path / "to") as target:
        urls = source.url + hdfs_dir.path("tree"), target.url + second_dir.path("copy")
        args = ("--part-size", 2 * BLOCK, "-j", 4)
        second_dir.cluster.web_json("PUT", second_dir.path("copy"), "MKDIRS", permission="777")
        seen = Target(second_dir, "copy")
        for k in range(10):
            after = max(1, int(seen.bytes_left(sizes) * rng.uniform(0.3, 1.6) / (11 - k)))
            target.rule(unit="total", dir="up", after=after, do="hold")
            p = olddog.start("cp", *args, *urls, env=target.env)
            struck = target.wait("struck")
            assert p.popen.poll() is None
            p.kill(signal.SIGKILL)
            assert p.wait()[0] == -signal.SIGKILL
            target.clear()
            before, seen = seen, Target(second_dir, "copy")
            print(f"kill {k + 1}: {struck['total']} bytes moved, {len(seen.whole)} of {len(sizes)} files and {len(seen.parts)} "
                  f"parts whole, {len(seen.temporaries)} temporaries left")
            assert 0 < struck["total"] < sum(sizes.values()) and len(seen.whole) < len(sizes)
            assert all(sizes[path] == n for path, (_, n) in seen.whole.items()), "half a file under its name"
            seen.goes_on_from(before)
        got = summary(olddog, *args, *urls, env=target.env, timeout=600)
        again = summary(olddog, *args, *urls, env=target.env, timeout=600)
    left = Target(second_dir, "copy")
    left.goes_on_from(seen)
    assert got["failed"] == 0 and got["skipped"] == len(seen.whole) and got["copied"] == len(sizes) - len(seen.whole)
    assert got["bytes_resumed"] == sum(n for _, n in seen.parts.values())
    # By composite checksums, as the client asks DataNodes for them; then as Java's asks both NameNodes.
    assert again["skipped"] == len(sizes) and again["copied"] == 0
    files = sorted(sizes)
    assert checksums(hdfs, hdfs_dir.path("tree"), files) == checksums(hdfs_second, second_dir.path("copy"), files)
    assert {path: n for path, (_, n) in left.whole.items()} == sizes and not left.parts
    assert not left.temporaries, "what killed copies of this host left"


def test_rm_goes_to_the_trash_and_df_counts(olddog, hdfs_dir, tmp_path):
    (tmp_path / "f").write_bytes(b"1" * 1000)
    olddog("cp", tmp_path / "f", hdfs_dir.url("d/f"), env=hdfs_dir.env)
    olddog("rm", hdfs_dir.url("d/*"), env=hdfs_dir.env)
    assert olddog.lines("ls", "-1", hdfs_dir.url("d"), env=hdfs_dir.env) == []
    olddog("rm", "-r", hdfs_dir.url("d"), env=hdfs_dir.env)
    assert "d" not in hdfs_dir.names()
    got = json.loads(olddog("df", "--json", hdfs_dir.url(), env=hdfs_dir.env).stdout)[0]
    assert 0 < got["free_bytes"] <= got["total_bytes"]

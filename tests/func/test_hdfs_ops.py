# SPDX-License-Identifier: Apache-2.0
"""Random operations on HDFS while its DataNodes die, hang, rot and are cut off: every byte is what it should be."""

import contextlib
import hashlib
import os
import random
import socket
import threading
import time

import pytest
from hdfs_help import Cutter, alone, flip, native_client, wait_for
from ops_help import Ops, seed

# In `make test` as many operations and faults as fit in a minute, so no file is large; in `make test-all` all of it.
FULL = os.environ.get("OLDDOG_FULL") == "1"
N = 10_000 if FULL else 500
TOTAL, LARGEST, LIVE = (20_000_000_000, 300_000_000, 2 << 30) if FULL else (300_000_000, 8_000_000, 100_000_000)
BLOCK = (16 if FULL else 1) << 20
N_NODES = 4
# What the client does about faults, as it counts it: each of these groups must have happened.
RECOVERIES = {"reads": ("failed_reads", "bad_checksums", "dead_nodes", "refetches"),
              "writes": ("pipeline_updates", "excluded_nodes", "pipeline_additions", "blocks_abandoned"),
              "names": ("nn_repeats",)}
MAY_FAIL = N // 50


@pytest.fixture
def crowd(hdfs_run):
    """A cluster of this test alone, which hangs for seconds rather than for minutes."""
    with alone(hdfs_run, "crowd", N_NODES, racks=("/a/r1", "/a/r1", "/b/r1", "/b/r1"), keys={"dfs.client.socket-timeout": 4000}) as c:
        yield c
    c.stop()


def answers(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


class Rot:
    """A flipped bit of a replica, which can be flipped back unless the cluster has found and replaced it."""

    def __init__(self, cluster, path, is_meta, dice):
        self.cluster, self.path, self.is_meta = cluster, path, is_meta
        target = self.target()
        self.offset, self.mask = dice.randrange(7 if is_meta else 0, target.stat().st_size), 1 << dice.randrange(8)
        flip(target, self.offset, self.mask)
        self.byte = self.read()

    def target(self):
        return self.cluster.meta_of(self.path) if self.is_meta else self.path

    def read(self):
        with open(self.target(), "rb") as f:
            f.seek(self.offset)
            return f.read(1)

    def heal(self):
        with contextlib.suppress(OSError, StopIteration):  # gone, like its file
            if self.read() == self.byte:
                flip(self.target(), self.offset, self.mask)


class Faults:
    """
    At most one node is down or hangs at a time, at most one replica of the cluster is rotten, any number of connections
    are cut. Before which operation something happens is decided by the seed; nodes go and come some time after it.
    """

    def __init__(self, cluster, cutter, dice):
        self.cluster, self.cutter, self.dice = cluster, cutter, dice
        self.trouble, self.rotten, self.error = None, None, None
        self.done = dict.fromkeys(("kill", "pause", "rot", "restart", "cut", "reset", "flip", "drop", "stall"), 0)
        # What happens in any case. That the NameNode starts anew is a thing of test-all.
        self.sure = {N // 100 * k * 20: "restart" for k in (1, 2, 3, 4)} if FULL else {N // 5: "kill", N // 2: "pause"}

    def at(self, n):
        """Called every twenty operations, and at the end."""
        if n == N:
            return self.end()
        if self.rotten:
            self.rotten.heal()
            self.rotten = None
        if n == 0:
            return None
        kind = self.sure.get(n) or self.dice.choice(["kill", "pause", "pause", "cut", "cut", "cut", "cut", "rot"])
        if kind == "cut":
            self.cut()
        elif kind == "rot":
            self.rot()
        elif kind != "none":
            return self.node_trouble(kind, n in self.sure)
        return None

    def end(self):
        if self.trouble:
            self.trouble.join()
        self.cutter.clear()
        if self.rotten:
            self.rotten.heal()
        heal(self.cluster)

    def node_trouble(self, kind, sure):
        """Some moments after the run goes on, for some moments."""
        before, after = self.dice.uniform(0, 0.5), self.dice.uniform(0.5, 6)
        node = "nn1" if kind == "restart" else self.dice.choice(self.cluster.dns)
        if self.trouble and self.trouble.is_alive() and not sure:
            return None
        if self.trouble:
            self.trouble.join()
        self.trouble = threading.Thread(target=self.node_goes, args=(kind, node, before, after), daemon=True)
        self.done[kind] += 1
        return self.trouble.start

    def node_goes(self, kind, node, before, after):
        try:
            time.sleep(before)
            if kind == "pause":
                self.cluster.pause(node)
                time.sleep(after)
                self.cluster.resume(node)
            else:
                self.cluster.kill(node)
                self.cluster.up(node, wait=False)
                wait_for(f"{node} back", lambda: answers(self.cluster.port(node)))
                if kind == "restart":
                    wait_for("the end of safe mode", self.cluster.is_writable)
        except Exception as e:  # for the test, which is in another thread
            self.error = e

    def cut(self):
        to = self.dice.choice([*self.cluster.dns, "nn1"])
        kind = None if to == "nn1" else self.dice.choice(["packet", "ack", None])
        do = self.dice.choice(["cut", "reset"] if to == "nn1" else ["cut", "reset", "flip", "drop", "stall"])
        self.cutter.rule(to=to, do=do, kind=kind, now=True, dir="up" if kind == "packet" and self.dice.random() < 0.5 else "down",
                         after=self.dice.randrange(1, 12), skew=self.dice.choice([0, 1, 5, 30, 700]) if do != "drop" else 0)

    def rot(self):
        """A byte of one of three replicas, or of its checksums."""
        paths = [p for dn in self.cluster.dns
                 for p in (self.cluster.folder / "data" / dn).glob("current/BP-*/current/finalized/**/blk_*") if p.suffix != ".meta"]
        self.dice.shuffle(paths)
        for path in paths[:20]:
            with contextlib.suppress(OSError, StopIteration):  # the file goes meanwhile
                if path.stat().st_size and len(self.cluster.replicas(path.name[4:])) == 3:
                    self.rotten = Rot(self.cluster, path, self.dice.random() < 0.3, self.dice)
                    self.done["rot"] += 1
                    return


def heal(cluster):
    """All nodes there, and every block at one of them."""
    cluster.heal()
    for dn in cluster.dns:
        wait_for(f"{dn} to answer", lambda dn=dn: answers(cluster.port(dn)))
    try:
        wait_for("no block missing", lambda: cluster.jmx("nn1", "NameNode,name=FSNamesystem").get("MissingBlocks") == 0, 60)
    except TimeoutError:
        raise RuntimeError(cluster.client("tools.DFSck", "/", "-files", "-blocks", "-locations", user="hdfs", check=False).stdout) from None


def test_random_operations_with_faults(crowd, tmp_path):
    number, began = seed(), time.monotonic()
    keys = {"ipc.client.rpc-timeout.ms": 20000, "ipc.client.connect.max.retries": 60}
    with Cutter(crowd, tmp_path, **keys) as cutter:
        faults = Faults(crowd, cutter, random.Random(number))
        ops = Ops(cutter.url + "/ops", number, N, TOTAL, LARGEST, LIVE, replicas=(1, 3), block=BLOCK, env=cutter.env,
                  at=faults.at)
        struck = cutter.struck()
    for s in struck:
        faults.done[s["do"]] += 1
    print(f"{time.monotonic() - began:.0f} s, {ops.totals.get('cpu_ms', 0) / 1000:.1f} s of the client's CPU; faults {faults.done}; {ops.totals}; {ops.counters}")
    print("\n".join(ops.failed))
    if faults.error:
        raise faults.error
    ops.check(N, may_fail=MAY_FAIL)
    assert ops.totals["written"] > 0.99 * TOTAL or not FULL
    assert all(s["bytes"] < ops.totals["written"] + ops.totals["read"] for s in struck) and any(s["bytes"] for s in struck)
    for kind in ["kill", "pause", *(["rot", "restart", "cut", "reset", "flip", "drop", "stall"] if FULL else [])]:
        assert faults.done[kind], faults.done
    for what, names in RECOVERIES.items():
        if what == "names" and not FULL:
            continue  # of few faults none may have found a call under way; test_hdfs_cut_frames.py cuts all of them
        assert any(ops.counters[name] for name in names), (what, ops.counters)
    compare_with_peers(crowd, ops.files)


def compare_with_peers(cluster, files):
    """What the run says it left, as hdfs-native and the NameNode see it."""
    client = native_client(cluster)
    found = {s.path.split("/ops/", 1)[1]: s.length for s in client.list_status("/ops", recursive=True) if not s.isdir}
    assert found == {name: length for name, (length, _) in files.items()}
    for name in sorted(files)[:40]:
        with client.read(f"/ops/{name}") as f:
            assert hashlib.sha256(f.read()).hexdigest() == files[name][1], name

# SPDX-License-Identifier: Apache-2.0
"""A file is read and written with its connections cut behind each frame of the whole exchange, one frame a run.

How many frames there are is counted in a run without harm. `make test` has each frame once, in turn before its end, at it
and behind it, closed and reset; test-all has all of these for each.
"""

import itertools
import os

import pytest
from fault_help import KEY, READ_RECOVERIES, WRITE_RECOVERIES
from hdfs_help import Cutter
from ops_help import Io, stream

BLOCK = 1 << 18
SIZE = 2 * BLOCK + 70001  # three blocks of five, five and two packets
HARM = list(itertools.product((0, -1, 1), ("cut", "reset")))
FULL = os.environ.get("OLDDOG_FULL") == "1"


@pytest.fixture
def cutter(hdfs_faulty, tmp_path):
    soon = {"dfs.client.retry.window.base": 10, "dfs.client.failover.sleep.base.millis": 10,
            "dfs.client-write-packet-size": 65536}
    with Cutter(hdfs_faulty, tmp_path, **soon) as c:
        yield c


class Case:
    """One verb on the file x, with what its runs counted."""

    def __init__(self, cutter, folder, verb, replicas=3):
        self.cutter, self.folder, self.verb, self.replicas = cutter, folder, verb, replicas
        self.counters, self.code, self.said = {}, None, ""

    def run(self):
        self.folder.put("x", b"", blocksize=BLOCK) if self.verb == "write" else None
        url = self.cutter.url + self.folder.path("x")
        with Io(self.verb, url, KEY, SIZE, BLOCK // 2, self.replicas, BLOCK, env=self.cutter.env) as io:
            self.said = io.end(rc=None)
            self.counters, self.code = io.counters, io.code
        # Of an idle connection whose end the next operation finds nothing is counted but that it went to another.
        self.counters["dn_operations"] = self.counters["dn_connects"] + self.counters["dn_reused"]

    def is_whole(self):
        """What was written is there, all of it, and nothing else is left; or an error was said, and nothing is taken for it."""
        assert self.folder.names() == ["x"]
        if self.code == 0:
            assert self.folder.get("x") == stream(KEY, 0, SIZE)
        else:
            assert "/x" in self.said and self.verb == "write" and self.replicas == 1, self.said
            assert self.folder.get("x") == b""

    def frames(self, way, kind):
        """Of a run without harm: for each whether its connection is idle behind it; and all counters."""
        before = len(self.cutter.events)
        self.cutter.rule(unit="all", dir=way, kind=kind, do="count", times=1)
        self.run()
        assert self.code == 0, self.said
        self.is_whole()
        self.cutter.clear()
        return [e["idle"] for e in self.cutter.events[before:] if e["event"] == "frame"], self.counters

    def cut(self, way, kind, after, skew, do):
        """The strike; None: there is nothing behind that frame."""
        before = len(self.cutter.struck())
        self.cutter.rule(unit="all", dir=way, kind=kind, after=after, skew=skew, do=do)
        self.run()
        struck = self.cutter.struck()[before:]
        self.cutter.clear()
        self.is_whole()
        assert len(struck) <= 1
        return struck[0] if struck else None


def harm(n):
    """(frame, skew, how) of so many frames."""
    for k in range(1, n + 1):
        yield from ((k, *h) for h in (HARM if FULL else [HARM[k % len(HARM)]]))


def recovered(names, counters, unharmed):
    return any(counters[name] > unharmed[name] for name in names)


def every_frame(case, way, kind, recoveries):
    idle, unharmed = case.frames(way, kind)
    assert idle, "no frames"
    n_struck = 0
    for k, skew, do in harm(len(idle)):
        where = f"{do} {skew} bytes behind {kind} {k} of {len(idle)}"
        print(where)
        struck = case.cut(way, kind, k, skew, do)
        if not struck:
            # How often it is asked whether a file is complete is the DataNodes' to say.
            assert skew > 0 or (kind in ("call", "answer") and case.counters["nn_calls"] < k), where
            continue
        n_struck += 1
        assert struck["dir"] == way and struck["bytes"] > 0, where
        assert struck["bytes"] < SIZE + 65536, where
        # Where nothing more was to be said but that it is well, nothing has to be done again.
        done = any(idle[k - 1:k + 1]) or (case.verb, kind) == ("read", "op") and skew > 0
        if not done and case.code == 0:
            assert recovered(recoveries, case.counters, unharmed), (where, case.counters)
    assert n_struck >= len(idle) / 2


@pytest.mark.parametrize("way, kind", [("up", "op"), ("up", "status"), ("down", "response"), ("down", "packet")])
def test_a_read_is_cut_at_every_frame(cutter, faulty_dir, way, kind):
    faulty_dir.put("x", stream(KEY, 0, SIZE), blocksize=BLOCK, replication=3)
    every_frame(Case(cutter, faulty_dir, "read"), way, kind, (*READ_RECOVERIES, "dn_operations"))


@pytest.mark.parametrize("replicas", [3, 1])
@pytest.mark.parametrize("way, kind", [("up", "op"), ("up", "packet"), ("down", "response"), ("down", "ack")])
def test_a_write_is_cut_at_every_frame(cutter, faulty_dir, way, kind, replicas):
    every_frame(Case(cutter, faulty_dir, "write", replicas), way, kind, WRITE_RECOVERIES)


@pytest.mark.parametrize("verb", ["read", "write"])
@pytest.mark.parametrize("way, kind", [("up", "call"), ("down", "answer")])
def test_calls_are_cut_one_by_one(cutter, faulty_dir, way, kind, verb):
    faulty_dir.put("x", stream(KEY, 0, SIZE), blocksize=BLOCK, replication=3)
    every_frame(Case(cutter, faulty_dir, verb), way, kind, ("nn_connects", "nn_repeats"))

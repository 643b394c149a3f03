# SPDX-License-Identifier: Apache-2.0
"""Runs store-ops (store_ops.c: random operations on a store, each compared with what it should do) and store-io."""

import contextlib
import os
import random
import subprocess
import threading
import time
from pathlib import Path

import numpy as np
from conftest import BUILD, Process, _environment
from hdfs_help import wait_for

SILENCE_S = 300  # of twenty operations, and of a fault's end


class Ops:
    """One run. at: called with the number of the operation that comes next, now and then, and at the end with their
    number before all is read once more. The run waits for it; what it returns, a function, is called once it goes on."""

    def __init__(self, url, seed, n, total, largest, live, replicas=(0, 0), block=0, env=None, at=None):
        self.words = f"store-ops {url} {seed} {n} {total} {largest} {live} {replicas[0]} {replicas[1]} {block}"
        print(self.words)  # repeats it
        argv = [str(BUILD / "tests/func/store-ops"), *self.words.split()[1:]]
        self.process = Process(argv, _environment(env), None, stdin=subprocess.PIPE if at else subprocess.DEVNULL)
        self.files, self.counters, self.failed, self.totals, self.said = {}, {}, [], {}, []
        self.heard = time.monotonic()
        threading.Thread(target=self.watch, daemon=True).start()
        try:
            while line := self.process.read_line():
                self.heard = time.monotonic()
                self.take(line.rstrip("\n"), at)
            self.code, _, self.stderr = self.process.wait()
        finally:
            self.process.end() if self.process.popen.poll() is None else None

    def watch(self):
        """Ends a run that has stopped for good, with words."""
        while self.process.popen.poll() is None:
            if time.monotonic() > self.heard + SILENCE_S:
                self.said.append(f"nothing was heard of it for {SILENCE_S} s")
                self.process.kill()
                return
            time.sleep(1)

    def take(self, line, at):
        words = line.split()
        if words[0] == "at":
            if at:
                then = at(int(words[1]))
                with contextlib.suppress(BrokenPipeError):  # it has ended, and says why
                    self.process.popen.stdin.write("\n")
                    self.process.popen.stdin.flush()
                if then:
                    then()
        elif words[0] == "file":
            self.files[words[1]] = (int(words[2]), words[3])
        elif words[0] == "counter":
            self.counters[words[1].removeprefix("hdfs_")] = int(words[2])
        elif words[0] == "failed":
            self.failed.append(line)
        elif words[0] == "ops":
            self.totals = {k: int(v) for k, v in zip(words[::2], words[1::2])}
        else:
            self.said.append(line)

    def check(self, n, may_fail=0):
        """No difference, and at most so many operations that gave an error (after which nothing differed either)."""
        assert self.code == 0, "\n".join([self.words, *self.said, *self.failed[-20:], self.stderr[-3000:]])
        assert self.totals["ops"] == n and self.totals["read"] > 0 and self.totals["written"] > 0
        assert len(self.failed) <= may_fail, "\n".join(self.failed)


def seed():
    """Another one each time; OLDDOG_SEED repeats one."""
    return int(os.environ.get("OLDDOG_SEED") or random.randrange(1 << 32))


def stream(key, start, n):
    """n bytes of the stream of a key, as shadow.c makes them."""
    with np.errstate(over="ignore"):
        i = np.arange(start // 8, (start + n) // 8 + 1, dtype=np.uint64)
        z = np.uint64(key) + (i + np.uint64(1)) * np.uint64(0x9e3779b97f4a7c15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
        z ^= z >> np.uint64(31)
    return z.tobytes()[start % 8:start % 8 + n]


def _counters(lines):
    words = (line.split() for line in lines)
    return {w[1].removeprefix("hdfs_"): int(w[2]) for w in words if w[0] == "counter"}


class Io:
    """store-io (store_io.c): one file written or read step by step; a test does harm between."""

    def __init__(self, verb, url, key, n, chunk, replicas=0, block=0, env=None):
        argv = [str(BUILD / "tests/func/store-io"), verb, url, *map(str, (key, n, chunk, replicas, block))]
        self.process = Process(argv, _environment(env), None, stdin=subprocess.PIPE)
        self.at, self.begun, self.counters, self.code = 0, 0, {}, None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.popen.poll() is None:
            self.process.end()

    def say(self, line=""):
        self.process.popen.stdin.write(line + "\n")
        self.process.popen.stdin.flush()

    def to(self, at):
        """Goes on until so much is done, and waits there."""
        while self.at < at:
            line = self.process.read_line()
            assert line.startswith("at "), f"{line}{self.process.wait()[2]}"
            self.at = int(line.split()[1])
            if self.at < at:
                self.say()

    def on(self, n):
        """Goes on, by n bytes at least."""
        self.say()
        self.to(self.at + n)

    def count(self):
        """The counters, where it waits."""
        self.say("count")
        lines = []
        while (line := self.process.read_line()) != "counted\n":
            assert line, self.process.wait()
            lines.append(line)
        self.counters = _counters(lines)
        return self.counters

    def moved(self):
        """Bytes that have gone from or to the store."""
        return sum(self.count()[name] for name in ("bytes_read", "bytes_local", "bytes_written"))

    def strikes(self, n):
        """It is in the middle: what was done so far, of n bytes, has gone there but for two packets, and nothing is under
        way. What is done now strikes what comes."""
        wait_for(f"what was written acknowledged: {self.counters}", lambda: self.moved() + (128 << 10) >= self.at - self.begun, 60)
        assert 0 < self.moved() < n, self.counters

    def peers(self, cluster):
        """DataNodes of the cluster that it has a connection to."""
        mine = set()
        for fd in Path(f"/proc/{self.process.pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                mine.add(os.readlink(fd))
        ports = {cluster.port(dn): dn for dn in cluster.dns}
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        open_to = {int(row[2].split(":")[1], 16) for row in rows if row[3] == "01" and f"socket:[{row[9]}]" in mine}
        return sorted(ports[p] for p in open_to if p in ports)

    def end(self, rc=0, timeout=120):
        """Lets it go on to its end; what it said on stderr. rc None: 0 or 1."""
        self.code, out, err = self.process.wait(timeout=timeout)
        self.counters = _counters(out.splitlines())
        assert self.code in ((0, 1) if rc is None else (rc,)), f"exit {self.code}, expected {rc}: {err[-3000:]}"
        assert "DIFFERENCE" not in err, err
        return err

    def recovered(self, *names):
        """Fails unless one of these counters says that it happened."""
        assert any(self.counters[name] for name in names), self.counters

# SPDX-License-Identifier: Apache-2.0
"""Runs store-ops (store_ops.c): random operations on a store, each compared with what it should do."""

import os
import random

from conftest import BUILD, Process, _environment


class Ops:
    """One run. at: called with the number of the operation under way, now and then."""

    def __init__(self, url, seed, n, total, largest, live, replicas=(0, 0), block=0, env=None, at=None):
        self.words = f"store-ops {url} {seed} {n} {total} {largest} {live} {replicas[0]} {replicas[1]} {block}"
        print(self.words)  # repeats it
        argv = [str(BUILD / "tests/func/store-ops"), *self.words.split()[1:]]
        self.process = Process(argv, _environment(env), None)
        self.files, self.counters, self.failed, self.totals, self.said = {}, {}, [], {}, []
        try:
            while line := self.process.read_line():
                self.take(line.rstrip("\n"), at)
            self.code, _, self.stderr = self.process.wait()
        finally:
            self.process.end() if self.process.popen.poll() is None else None

    def take(self, line, at):
        words = line.split()
        if words[0] == "at":
            if at:
                at(int(words[1]))
        elif words[0] == "file":
            self.files[words[1]] = (int(words[2]), words[3])
        elif words[0] == "counter":
            self.counters[words[1]] = int(words[2])
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

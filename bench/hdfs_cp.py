# SPDX-License-Identifier: Apache-2.0
"""Copies of trees into HDFS, out of it, and within one cluster, by olddog cp, Hadoop's FsShell (-put, -get, -cp, alone and
with 16 threads) and hdfs-native (its fastest loop, alone and by 16 threads), on a NameNode and three DataNodes of this
machine as in bench/hdfs.py. All subjects in turn. All disks, of folders and of DataNodes, are memory (bench/hdfs-write says why).

cp: --files files of 1 KiB to 1 MiB (log-uniform) in directories of 50. cp-large: four files of --mb. Replication 1. After each
step what arrived is compared: by `olddog cp --dry-run`, which skips what has the same length and checksum (HDFS: the
DataNodes' composite checksums; folders: the content).

When a file is closed before the DataNode has reported its last block, hdfs-native and FsShell ask again after 0.4 s, so that
one file after the other takes them half a second each: they are asked for many files with 16 threads only.

The limit is `cp -r` from a folder to a folder. Of FsShell its start is taken off. olddog verifies all that it copied and syncs
what it writes into folders, which costs nothing here; its peers do neither.
"""

import json
import os
import random
import shutil
import subprocess
import sys

import rounds
from hdfs import PEER, House, timed, told
from rounds import ROOT, Measure, Question, Target

sys.path.insert(0, str(ROOT / "scripts"))

import hdfs_cluster  # noqa: E402 (the line before finds it)

OLDDOG = ROOT / "build/olddog"
FILES_A_DIR = 50
MOST_ALONE = 100  # files; more take a peer that does one after the other minutes
STEPS = {"in": "into HDFS", "out": "out of it", "within": "within it"}
MEASURES = {f"{step}_{unit}": Measure(f"{words}, {shown}", f"{step}_{unit}")
            for step, words in STEPS.items() for unit, shown in (("s", "s"), ("cpu", "CPU s"))}
SHELLS = ("FsShell", "FsShell, 16 threads")
NATIVES = ("hdfs-native, one by one", "hdfs-native, 16 threads")


def targets(shell, native):
    """Those of subjects that were not asked are not told."""
    for step in ("in", "out"):
        for name in SHELLS:
            yield Target(f"{step}_s", "olddog", name, at_least=shell)
        yield Target(f"{step}_s", "olddog", NATIVES[1], at_least=native)
        yield Target(f"{step}_cpu", "olddog", NATIVES[1], at_most=0.6)
        yield Target(f"{step}_s", "olddog", "cp -r, folders")
    yield Target("within_s", "olddog", SHELLS[1])
    yield Target("within_s", "olddog", NATIVES[1])


QUESTIONS = {
    "cp": Question("hdfs-cp", "What does copying a tree of small files cost?", MEASURES, list(targets(2, 1.5))),
    "cp-large": Question("hdfs-cp-large", "What does copying large files cost?", MEASURES, list(targets(1.2, 1.2))),
}


def make_tree(folder, lengths):
    """Content that does not repeat, so that nothing can cheat by holes."""
    dice = random.Random(11)
    for i, n in enumerate(lengths):
        below = folder / f"d{i // FILES_A_DIR:03}"
        below.mkdir(parents=True, exist_ok=True)
        with open(below / f"f{i:05}", "wb") as f:
            for at in range(0, n, 1 << 20):
                f.write(dice.randbytes(min(n - at, 1 << 20)))


def small(args):
    dice = random.Random(7)
    return [int(1024 * 1024 ** dice.random()) for _ in range(args.files)]


def large(args):
    return [args.mb * 10**6] * 4


class Steps:
    """Three copies by one subject: of the folder into HDFS, of that out of HDFS, of that within HDFS."""

    def __init__(self, house, folder, n_files):
        self.house, self.folder, self.n_files = house, folder, n_files
        self.env = house.cluster.env_with(folder.parent / "conf", {"dfs.client.read.shortcircuit": "false",
                                                                   "dfs.replication": 1})
        self.out = folder.parent / "out"
        told([*PEER, "put-16", house.url("/source"), folder], self.env)

    def fresh(self):
        for path in ("/to", "/within"):
            self.house.cluster.web("DELETE", path, "DELETE", user="hdfs", recursive="true")
        shutil.rmtree(self.out, ignore_errors=True)

    def check(self, source, target):
        """That all is there and equal."""
        out = subprocess.run([OLDDOG, "cp", "--dry-run", "--json", source, target], env={**os.environ, **self.env},
                             stdout=subprocess.PIPE, text=True).stdout
        said = json.loads(out)
        if said["skipped"] != self.n_files or said["failed"]:
            raise SystemExit(f"bench: {target} is not {source}: {said}")

    def take(self, step, what):
        """step: (source, target) -> (wall, CPU)."""
        url = self.house.url
        found = {"what": what}
        for name, source, target in (("in", self.folder, url("/to")), ("out", url("/source"), self.out),
                                     ("within", url("/source"), url("/within"))):
            self.fresh()
            found[f"{name}_s"], found[f"{name}_cpu"] = step(source, target)
            self.check(source, target)
            print(f"{name}: {found[f'{name}_s']:.2f} s, CPU {found[f'{name}_cpu']:.2f} s", file=sys.stderr, flush=True)
        self.fresh()
        return found

    def olddog(self):
        return self.take(lambda *two: timed([OLDDOG, "cp", *two], self.env), rounds.olddog_version())

    def native(self, how):
        what = []

        def step(source, target):
            verb = "get" if target == self.out else "put" if source == self.folder else "copy"
            urls = (target, source) if verb == "put" else (source, target)
            said = told([*PEER, f"{verb}{how}", *urls], self.env)
            what.append(said["what"])
            return said["seconds"], said["cpu_s"]
        found = self.take(step, "")
        return {**found, "what": what[0]}

    def shell(self, *threads):
        def step(source, target):
            verb = "-get" if target == self.out else "-put" if source == self.folder else "-cp"
            return self.house.shell(verb, *threads, source, target, env=self.env)
        return self.take(step, self.house.versions())

    def limit(self):
        found = {"what": "coreutils"}
        for name in STEPS:
            self.fresh()
            found[f"{name}_s"], found[f"{name}_cpu"] = timed(["cp", "-r", self.folder, self.out], {})
        return found

    def subjects(self):
        alone = {NATIVES[0]: lambda: self.native(""), SHELLS[0]: self.shell} if self.n_files <= MOST_ALONE else {}
        return {"olddog": self.olddog, NATIVES[1]: lambda: self.native("-16"), SHELLS[1]: lambda: self.shell("-t", "16"),
                **alone, "cp -r, folders": self.limit}


def main(question):
    parser = rounds.options(f"hdfs-{question}", __doc__, n_rounds=5)
    parser.add_argument("--files", type=int, default=1000, help="of hdfs-cp")
    parser.add_argument("--mb", type=int, default=512, help="10^6 bytes, of each file of hdfs-cp-large")
    args = parser.parse_args(sys.argv[2:])
    lengths = small(args) if question == "cp" else large(args)
    with hdfs_cluster.Run() as run:
        cluster = run.cluster("bench", 3, native=True, heap="512m", jvm="")
        folder = run.folder / "cp/tree"
        make_tree(folder, lengths)
        subjects = rounds.only(Steps(House(cluster, run.folder), folder, len(lengths)).subjects(), args.only)
        conditions = {"DataNodes": 3, "page cache": "warm", "Hadoop": cluster.set.version, "files": f"{len(lengths):,}",
                      "MB": f"{sum(lengths) / 1e6:,.0f}", "disks": "memory"}
        next(iter(subjects.values()))()  # servers and files get warm
        record = QUESTIONS[question].take(subjects, args.rounds, conditions)
    rounds.finish(record, args)


if __name__ == "__main__":
    main(sys.argv[1])

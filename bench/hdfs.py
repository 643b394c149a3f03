# SPDX-License-Identifier: Apache-2.0
"""HDFS, beside hdfs-native (Rust, by PyPI), Hadoop's own FsShell (with libhadoop) and WebHDFS by curl, on a NameNode and
three DataNodes of this machine (scripts/hdfs-cluster), which are made for it and end with it. All subjects in turn, all on
the same files, which are in the page cache.

read: one file of --gb in blocks of 128 MiB, replication 1; through DataNodes and, where a client can, from local replicas by
the DataNode's descriptors. write: --gb, replication 1 and 3, to DataNodes whose disks are memory. ranges: 1,000 ranges of 4 KiB to 1 MiB (log-uniform) of that
file, the same list for all. far: the same, 10 ms (BENCH_RTT) of round trip away: bench/hdfs-far has made a link between two
network namespaces (tests/func/wan.c), runs this in one, and the clients run in the other. names: 20,000 looks at a path, and
a listing of --entries.

CPU is the client's own, in seconds a GB (10^9 bytes) or microseconds an item. FsShell and curl cannot tell their start from
their work: of FsShell what `-test -e /` takes in the same round is taken off; curl starts in milliseconds.
"""

import json
import os
import random
import subprocess
import sys
import time

import rounds
from rounds import ROOT, Measure, Question, Target

sys.path.insert(0, str(ROOT / "scripts"))

import hdfs_cluster  # noqa: E402 (the line before finds it)

OURS = ROOT / "build/bench/bench-hdfs"
PEER = [sys.executable, ROOT / "bench/peer_hdfs_native.py"]
SHELL = "org.apache.hadoop.fs.FsShell"
RATES = {"wall": Measure("s a GB", "wall"), "mb_s": Measure("MB/s", "mb_s", absolute=True), "cpu": Measure("CPU, s a GB", "cpu")}
RANGES = {"ms": Measure("ms", "ms"), "cpu": Measure("CPU, s", "cpu"), "mb": Measure("MB", "mb", absolute=True)}
N_STATS = 20000
N_WARM = 20  # times 1,000 ranges, until the DataNodes' compilers rest: those of a real cluster have run for weeks
LINK = os.environ.get("BENCH_LINK")  # its name, and of the program that made it
FAR = [os.environ["BENCH_WAN"], "exec", LINK, "b"] if LINK else []

QUESTIONS = {
    "read": Question("hdfs-read", "What does reading a large file of HDFS cost?", RATES, [
        Target("cpu", "olddog", "hdfs-native", at_most=0.6), Target("wall", "olddog", "hdfs-native", at_least=1.2),
        Target("wall", "olddog, local", "olddog", at_least=2), Target("wall", "olddog", "FsShell"),
        Target("wall", "olddog, local", "FsShell, local"), Target("wall", "olddog", "WebHDFS, curl")]),
    "write": Question("hdfs-write", "What does writing a large file into HDFS cost?", RATES, [
        Target("wall", f"olddog, {n}", f"{peer}, {n}", at_least=1) for n in ("1 replica", "3 replicas")
        for peer in ("hdfs-native", "FsShell")] + [
        Target("cpu", f"olddog, {n}", at_most=0.6) for n in ("1 replica", "3 replicas")]),
    "ranges": Question("hdfs-ranges", "What do scattered reads of HDFS cost?", RANGES, [
        Target("ms", "olddog", "hdfs-native, one by one", at_least=2), Target("ms", "olddog", "hdfs-native, 16 threads", at_least=1),
        Target("cpu", "olddog", "hdfs-native, one by one", at_most=0.6)]),
    "far": Question("hdfs-far", "What do scattered reads of an HDFS cost that is far away?", RANGES, [
        Target("ms", "olddog", "hdfs-native, one by one", at_least=20), Target("ms", "olddog", "hdfs-native, 16 threads")]),
    "names": Question("hdfs-names", "What do looking and listing cost?", {
        "stat_us": Measure("CPU, us a stat", "stat_us"), "stats_s": Measure("stats/s", "stats_s", absolute=True),
        "list_us": Measure("CPU, us an entry", "list_us"), "list_s": Measure("listing, s", "list_s")}, [
        Target("stat_us", "olddog", at_most=7), Target("list_us", "olddog", at_most=1),
        Target("list_s", "olddog", "hdfs-native"), Target("stat_us", "olddog", "hdfs-native")]),
}


def told(argv, env, stdin=None):
    """What a program says of itself, as JSON."""
    done = subprocess.run([str(a) for a in [*FAR, *argv]], env={**os.environ, **env}, input=stdin, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit(f"bench: {' '.join(map(str, argv))}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def timed(argv, env, stdout=subprocess.DEVNULL):
    """(wall, CPU) in seconds of a program that says nothing of itself."""
    cpu, began = rounds.children_cpu_ms(), time.perf_counter()
    done = subprocess.run([str(a) for a in argv], env={**os.environ, **env}, stdin=subprocess.DEVNULL, stdout=stdout,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit(f"bench: {' '.join(map(str, argv))[:300]}: {done.stderr[-2000:]}")
    return time.perf_counter() - began, (rounds.children_cpu_ms() - cpu) / 1000


class House:
    """A cluster, and its clients' environments: through DataNodes, and from local replicas."""

    def __init__(self, cluster, work):
        self.cluster = cluster
        self.away = cluster.env_with(work / "away", {"dfs.client.read.shortcircuit": "false"})
        self.local = cluster.env_with(work / "local", {})

    def url(self, path):
        return self.cluster.url + path

    def shell(self, *args, env=None):
        """FsShell without its start."""
        env = {**self.cluster.java_env("olddog"), **(env or self.away)}
        java = [*self.cluster.java(env["HADOOP_CONF_DIR"]), "-Xmx3g", SHELL]
        start, whole = timed([*java, "-test", "-e", "/"], env), timed([*java, *args], env)
        return max(1e-3, whole[0] - start[0]), max(1e-3, whole[1] - start[1])

    def versions(self):
        return f"Hadoop {self.cluster.set.version}, libhadoop, {hdfs_cluster.JAVA}"


def rate(n_bytes, seconds, cpu_s, what):
    gb = n_bytes / 1e9
    return {"wall": seconds / gb, "mb_s": 1000 * gb / seconds, "cpu": cpu_s / gb, "what": what}


def told_rate(argv, env):
    said = told(argv, env)
    return rate(said["bytes"], said["seconds"], said["cpu_s"], said.get("what") or rounds.olddog_version())


def make_file(house, path, n_bytes):
    """By hdfs-native: replication 1."""
    told([*PEER, "write", house.url(path), n_bytes, 1], house.away)


def web_url(house, path, op):
    c = house.cluster
    return f"http://{c.set.addr}:{c.port('nn1', 'http')}/webhdfs/v1{path}?op={op}&user.name=olddog"


# A redirect names the DataNode; they are all here.
CURL = ["curl", "-sfL", "--noproxy", "*", "--connect-to", "::127.0.0.1:", "-o", "/dev/null"]


def read(house, args):
    n = int(args.gb * 1e9)
    make_file(house, "/file", n)
    url = house.url("/file")
    java = house.versions()
    return {
        "olddog": lambda: told_rate([OURS, "read", url], house.away),
        "olddog, local": lambda: told_rate([OURS, "read", url], house.local),
        "hdfs-native": lambda: told_rate([*PEER, "read", url], house.away),
        "FsShell": lambda: rate(n, *house.shell("-cat", url), java),
        "FsShell, local": lambda: rate(n, *house.shell("-cat", url, env=house.local), java),
        "WebHDFS, curl": lambda: rate(n, *timed([*CURL, web_url(house, "/file", "OPEN")], {}), "curl")}


def write(house, args):
    n = int(args.gb * 1e9)
    local = house.cluster.folder / "tmp/to-put"
    with open(local, "wb") as f:
        for _ in range(n // 10**6):
            f.write(bytes(10**6))
    n = local.stat().st_size

    def fresh(name):
        for old in ("/ours", "/native", "/put"):
            house.cluster.web("DELETE", old, "DELETE", user="hdfs")
        return house.url(name)

    def put(replicas):
        fresh("/put")
        # So that the replication is the file's, not changed after it.
        env = house.cluster.env_with(house.cluster.folder / f"put-{replicas}", {"dfs.replication": replicas})
        return rate(n, *house.shell("-put", local, house.url("/put"), env=env), house.versions())
    subjects = {}
    for replicas, words in ((1, "1 replica"), (3, "3 replicas")):
        subjects |= {
            f"olddog, {words}": lambda r=replicas: told_rate([OURS, "write", fresh("/ours"), n, r], house.away),
            f"hdfs-native, {words}": lambda r=replicas: told_rate([*PEER, "write", fresh("/native"), n, r], house.away),
            f"FsShell, {words}": lambda r=replicas: put(r)}
    return subjects


def range_list(n_bytes, n=1000):
    dice, lines = random.Random(5), []
    for _ in range(n):
        length = int(4096 * 256 ** dice.random())
        lines.append(f"{dice.randrange(n_bytes - length)} {length}")
    return "\n".join(lines) + "\n"


def ranges(house, args):
    n = int(args.gb * 1e9)
    make_file(house, "/file", n)
    url, wanted = house.url("/file"), range_list(n)

    def of(argv):
        said = told(argv, house.away, wanted)
        return {"ms": 1000 * said["seconds"], "cpu": said["cpu_s"], "mb": said["bytes"] / 1e6,
                "what": said.get("what") or rounds.olddog_version()}
    for _ in range(N_WARM):
        of([*PEER, "ranges-16", url])
    return {
        "olddog": lambda: of([OURS, "ranges", url]),
        "hdfs-native, one by one": lambda: of([*PEER, "ranges", url]),
        "hdfs-native, 16 threads": lambda: of([*PEER, "ranges-16", url])}


far = ranges  # the clients are what is elsewhere: FAR


def address():
    """Of the servers."""
    if not LINK:
        return "127.0.0.1"
    return subprocess.run([os.environ["BENCH_WAN"], "addr", LINK, "a"], check=True, stdout=subprocess.PIPE,
                          text=True).stdout.strip()


def names(house, args):
    url = house.url("/many")
    print(f"hdfs-names: {args.entries:,} entries are being made", file=sys.stderr, flush=True)
    told([OURS, "make", url, args.entries], house.away)

    def of(client):
        stat, listing = told([*client, "stat", url + "/entry-0000007", N_STATS], house.away), told([*client, "list", url], house.away)
        if listing["items"] != args.entries:
            raise SystemExit(f"bench: {listing['items']} entries were listed, not {args.entries}")
        return {"stat_us": 1e6 * stat["cpu_s"] / N_STATS, "stats_s": N_STATS / stat["seconds"],
                "list_us": 1e6 * listing["cpu_s"] / args.entries, "list_s": listing["seconds"],
                "what": stat.get("what") or rounds.olddog_version()}

    def shell():
        wall, cpu = house.shell("-ls", "-C", url)
        return {"list_us": 1e6 * cpu / args.entries, "list_s": wall, "what": house.versions()}
    return {"olddog": lambda: of([OURS]), "hdfs-native": lambda: of(PEER), "FsShell": shell}


def main(question):
    name = f"hdfs-{question}"
    parser = rounds.options(name, __doc__, n_rounds=5)
    parser.add_argument("--gb", type=float, default=1.0, help="of the file, 10^9 bytes")
    parser.add_argument("--entries", type=int, default=1_000_000, help="of the directory that is listed")
    args = parser.parse_args(sys.argv[2:])
    heap = "1500m" if question == "names" else "512m"
    with hdfs_cluster.Run() as run:
        cluster = run.cluster("bench", 3, native=True, heap=heap, jvm="", addr=address())
        house = House(cluster, run.folder)
        subjects = rounds.only(globals()[question](house, args), args.only)
        conditions = {"DataNodes": 3, "page cache": "warm", "Hadoop": cluster.set.version}
        conditions |= {"round trip": os.environ["BENCH_RTT"]} if LINK else {}
        conditions |= {"DataNodes' disks": "memory"} if question == "write" else {}
        conditions |= {"entries": f"{args.entries:,}"} if question == "names" else {"file": f"{args.gb:g} GB"}
        for run_once in subjects.values():  # servers and files get warm
            run_once()
        record = QUESTIONS[question].take(subjects, args.rounds, conditions)
    rounds.finish(record, args)


if __name__ == "__main__":
    main(sys.argv[1])

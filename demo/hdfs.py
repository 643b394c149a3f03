# SPDX-License-Identifier: Apache-2.0
"""The demo over HDFS, step by step; scripts/demo-hdfs has made what it needs. Ends with 0 only when every claim held.

    hdfs.py OLDDOG MEDIA WORK
"""

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import hdfs_cluster
import numpy as np
from run import BATCH, claim, failed, read_log, run, title

HERE = Path(__file__).resolve().parent
EPOCHS = 3
STEPS, KILL_NODE, KILL_TRAINING = 60, 15, 33
# A trainer is seldom on the host of a replica: bytes come from DataNodes here too. What hangs is noticed in seconds.
CLIENT = {"dfs.client.read.shortcircuit": "false", "dfs.client.socket-timeout": 5000, "dfs.blocksize": 1 << 22}


# --- what is run, and what it said

def cpu_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cost(words, n_bytes, *argv, **kw):
    """Runs it, and tells what a byte cost the client."""
    began, cpu = time.monotonic(), cpu_s()
    run(*argv, check=True, **kw)
    wall, cpu = time.monotonic() - began, cpu_s() - cpu
    print(f"      {words}: {n_bytes / 1e6:.0f} MB at {n_bytes / 1e6 / wall:.0f} MB/s, {cpu / n_bytes * 1e9:.2f} CPU s/GB")


def counters_in(path):
    """{name: n} of the lines `hdfs_NAME N`, added up."""
    found = {}
    for words in (line.split() for line in path.read_text().splitlines()):
        if len(words) >= 2 and words[-2].startswith("hdfs_") and words[-1].isdigit():
            name = words[-2].removeprefix("hdfs_")
            found[name] = found.get(name, 0) + int(words[-1])
    return found


def recovered(counters):
    """Words for what the client did about a dead DataNode; whether it did."""
    names = ("failed_reads", "dead_nodes", "refetches", "hedge_wins")
    told = ", ".join(f"{name.replace('_', ' ')} {counters[name]}" for name in names if counters.get(name))
    return told, bool(counters.get("failed_reads") or counters.get("hedge_wins")) and counters.get("dead_nodes", 0) > 0


# --- the steps

def put(olddog, cluster, work):
    """The shards into HDFS; and a look at what is there, by Hadoop's own shell."""
    title("write the shards into HDFS, three replicas of each block")
    shards = sorted((work / "shards").glob("*.tar"))
    run(olddog, "mkdir", f"{cluster.url}/photos", check=True)
    cost("written and verified", sum(s.stat().st_size for s in shards), olddog, "cp", *shards, f"{cluster.url}/photos/")
    run(olddog, "ls", "-l", f"{cluster.url}/photos", check=True)
    shown = cluster.fs("-cat", f"{cluster.url}/photos/{shards[-1].name}", text=False).stdout
    blocks = cluster.blocks(f"/photos/{shards[-1].name}")
    claim(f"Hadoop's own shell reads the same bytes; {shards[-1].name} is {len(blocks)} blocks on 3 DataNodes each",
          shown == shards[-1].read_bytes() and all(len(b["dns"]) == 3 for b in blocks))


def make_plan(olddog, kind, data, work, name):
    spec = work / f"{name}.yaml"
    spec.write_text((HERE / f"{kind}.yaml").read_text().replace("FOLDER", data))
    run(olddog, "plan", spec, "-o", work / f"{name}.plan", check=True)
    return work / f"{name}.plan"


def digests(olddog, plan):
    return run(olddog, "read", plan, "--epochs", EPOCHS, "--digest=sample", stdout=subprocess.PIPE, text=True,
               check=True).stdout.splitlines()


def read_and_kill(olddog, cluster, plan, node, n_lines, stats):
    """The lines of a read in whose middle the node is killed, and the read's exit code."""
    argv = [olddog, "read", plan, "--epochs", EPOCHS, "--digest=sample", "--stats"]
    print(f"$ olddog read {plan.name} --epochs {EPOCHS} --digest=sample --stats", flush=True)
    lines = []
    with open(stats, "w") as err, subprocess.Popen(list(map(str, argv)), stdout=subprocess.PIPE, stderr=err, text=True) as p:
        for line in p.stdout:
            lines.append(line.rstrip("\n"))
            if len(lines) == n_lines:
                cluster.kill(node)
                print(f"killed {node} with -9 after {n_lines} samples", flush=True)
    return lines, p.returncode


def samples(olddog, cluster, plans, work):
    title("the same samples, from the folder and from HDFS")
    wanted, got = (digests(olddog, plans[name]) for name in ("folder", "hdfs"))
    claim(f"{len(wanted)} samples (decoded, cropped, normalised) have the same SHA-256 from HDFS as from the folder",
          len(wanted) > 0 and wanted == got)
    title("the same, while a DataNode is killed")
    got, code = read_and_kill(olddog, cluster, plans["hdfs"], "dn2", len(wanted) // 4, work / "stats")
    claim("the read ended well, with the same lines", code == 0 and got == wanted)
    told, did = recovered(counters_in(work / "stats"))
    claim(f"it was hit, and recovered: {told}", did)
    cluster.up("dn2")


class Training:
    """demo/train.py on two ranks, each with a Loader of its own; they share decoding processes."""

    def __init__(self, work, plans, state, name):
        self.state, self.log, self.loader_log = work / state, work / state / f"{name}.log", work / f"{state}.loader"
        print(f"$ train.py {plans[0].name} {plans[1].name} {state} --run {name} --ranks 2 --steps {STEPS}", flush=True)
        argv = [sys.executable, HERE / "train.py", *plans, self.state, "--run", name, "--ranks", 2, "--steps", STEPS,
                "--save-every", 10]
        self.popen = subprocess.Popen([str(a) for a in argv], start_new_session=True, env={
            **os.environ, "OLDDOG_JOB": f"{os.environ['OLDDOG_JOB']}-{state}", "OLDDOG_LOADER_LOG": str(self.loader_log)})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def reached(self, step):
        """Waits; whether it came that far."""
        until = time.monotonic() + 300
        while time.monotonic() < until:
            steps = len(self.log.read_text().splitlines()) // BATCH if self.log.exists() else 0
            if steps >= step or self.popen.poll() is not None:
                return steps >= step
            time.sleep(0.02)
        return False

    def ended(self):
        """Waits; whether it went well."""
        return self.popen.wait(timeout=600) == 0

    def kill(self):
        """The process and its ranks, at once and without a word."""
        if self.popen.poll() is None:
            os.killpg(self.popen.pid, signal.SIGKILL)
            self.popen.wait()


def weights(state):
    with np.load(state / "checkpoint.npz") as saved:
        return {name: saved[name].tobytes() for name in saved.files if name[:2] in ("p.", "v.")}


def train_through_kills(cluster, work, plans):
    """What was consumed: up to the checkpoint from which it was resumed, and then."""
    with Training(work, plans, "there", "one") as one:
        claim("it trains", one.reached(KILL_NODE))
        cluster.kill("dn3")
        print(f"killed dn3 with -9 after step {KILL_NODE}", flush=True)
        claim("and goes on", one.reached(KILL_TRAINING))
        one.kill()
        print("killed the training with -9", flush=True)
    with Training(work, plans, "there", "two") as two:
        claim("resumed from its last checkpoint, it comes to its end", two.ended())
    second = read_log(two.log)
    return [row for row in read_log(one.log) if row[0] < second[0][0]], second, one.loader_log


def train(cluster, plans, held_out, work):
    title("train in Python from the folder, undisturbed")
    with Training(work, (plans["folder"], held_out["folder"]), "here", "whole") as whole:
        claim("it comes to its end", whole.ended())
    title("train from HDFS; kill a DataNode, then the training; resume it while the DataNode is still dead")
    first, second, log = train_through_kills(cluster, work, (plans["hdfs"], held_out["hdfs"]))
    claim(f"{STEPS} steps consumed the same {STEPS * BATCH} samples, in the same steps, as from the folder, each once "
          f"({len(first)} before the kill)", bool(first) and first + second == read_log(whole.log))
    claim("and the trained weights are the same bytes", weights(work / "here") == weights(work / "there"))
    hdfs_cluster.wait_for("the loader's last words", lambda: log.exists() and "hdfs_dead_nodes" in log.read_text(), 60)
    told, did = recovered(counters_in(log))
    claim(f"its loader was hit, and recovered: {told}", did)
    cluster.up("dn3")


def figures(olddog, cluster, work):
    title("what it costs the client (all nodes of this cluster share the same cores)")
    shards = sorted((work / "shards").glob("*.tar"))
    n_bytes = sum(s.stat().st_size for s in shards)
    copies = [f"{cluster.url}/copy-{i}" for i in range(4)]
    for to in copies[:-1]:
        run(olddog, "cp", f"{cluster.url}/photos", to, check=True, stdout=subprocess.DEVNULL)
    cost("copied within the cluster, and verified", n_bytes, olddog, "cp", f"{cluster.url}/photos", copies[-1])
    cost("read through DataNodes", 4 * n_bytes, olddog, "cat", *(f"{c}/*.tar" for c in copies), stdout=subprocess.DEVNULL)
    cost("read from this host's replicas", 4 * n_bytes, olddog, "cat", *(f"{c}/*.tar" for c in copies),
         stdout=subprocess.DEVNULL, env={**os.environ, **cluster.env_with(work / "local", {"dfs.client.read.shortcircuit": "true"})})


def main(olddog, media, work):
    work = Path(work)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    os.environ["OLDDOG_JOB"] = f"demo-hdfs-{os.getpid()}"
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    title("a NameNode and three DataNodes, of Hadoop 3.5.0")
    with hdfs_cluster.Run() as clusters:
        cluster = clusters.cluster("demo", 3, client=CLIENT, native=True)
        os.environ.update(cluster.env())
        print(f"{cluster.url}; HADOOP_CONF_DIR={cluster.conf}")
        run(sys.executable, "-W", "ignore", HERE / "make_shards.py", media, work / "shards", check=True)
        put(olddog, cluster, work)
        title("plans of the folder and of HDFS")
        where = {"folder": str(work / "shards"), "hdfs": f"{cluster.url}/photos"}
        plans = {name: make_plan(olddog, "train", data, work, name) for name, data in where.items()}
        held_out = {name: make_plan(olddog, "held-out", data, work, f"{name}-held-out") for name, data in where.items()}
        samples(olddog, cluster, plans, work)
        train(cluster, plans, held_out, work)
        figures(olddog, cluster, work)
    print(f"\n{'all claims held' if not failed else 'these did not hold: ' + '; '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

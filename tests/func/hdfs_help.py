# SPDX-License-Identifier: Apache-2.0
"""Real HDFS for functional tests: one run of clusters for all tests, started by the first that asks, ended with pytest.

Fixtures (scripts/hdfs_cluster.py says what a Cluster can do: fs, admin, web, blocks, replicas, kill, pause, up, ..):
    hdfs          1 NameNode, 3 DataNodes in 2 racks, libhadoop, all tests at once: nothing may be stopped in it
    hdfs_dir      a folder of the test's own in it
    hdfs_faulty   another such cluster, with 4 DataNodes, of this test alone: whatever is killed, stopped or paused is
                  healed after it
    faulty_dir    a folder in that one
    hdfs_ha       a pair of NameNodes with 3 DataNodes, of this test alone, healed after it
    hdfs_second   a second cluster with 2 DataNodes, as hdfs
With OLDDOG_HDFS_VERSION all are of that version of Hadoop (scripts/hdfs.tsv). Peers: FsShell (Cluster.fs: a second and a
half of a JVM each), WebHDFS (Cluster.web), hdfs-native (native_client: no process).
"""

import contextlib
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

import hdfs_cluster  # noqa: E402 (the line before finds it)
from hdfs_cluster import Run, flip, wait_for, write_site  # noqa: E402,F401 (for tests)
from hdfs_install import VERSION, cache, locked  # noqa: E402

OWNER = "OLDDOG_HDFS_OWNER"
EXCLUSIVE = {"hdfs_faulty": "hdfs-faulty", "faulty_dir": "hdfs-faulty", "hdfs_ha": "hdfs-ha",
             "crowd": "hdfs-crowd"}
NOT_YET = (b"SafeMode", b"EOFException", b"BlockMissing", b"ConnectException", b"could only be written to 0 of")


# --- of pytest, called by conftest.py

def configure(config):
    """The controller owns the run; its workers know it by the environment."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        os.environ[OWNER] = hdfs_cluster.process.own_name()
        with contextlib.suppress(ValueError):  # not in the main thread: somebody else's signals
            signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))


def unconfigure(config):
    if "PYTEST_XDIST_WORKER" not in os.environ and (hdfs_cluster.process.root() / os.environ.get(OWNER, "-")).exists():
        Run(os.environ[OWNER]).end()


def group(items):
    """Tests of one exclusive cluster go to one worker, which then does not wait for another."""
    for item in items:
        for name in {EXCLUSIVE[f] for f in getattr(item, "fixturenames", ()) if f in EXCLUSIVE}:
            item.add_marker(pytest.mark.xdist_group(name))


# --- fixtures

@pytest.fixture(scope="session")
def hdfs_run():
    if not shutil.which("java"):
        pytest.skip("no java here: scripts/setup tests/packages.txt installs it")
    version = os.environ.get("OLDDOG_HDFS_VERSION", VERSION)
    for name in (version, "native"):
        if not list(cache().glob(f"{name}-*")):
            pytest.skip(f"no jars of HDFS {name} here: scripts/hdfs-cluster install {version} native fetches them")
    os.environ["HADOOP_USER_NAME"] = "olddog"  # for hdfs-native, in this process
    with locked(cache() / "sweep"):
        hdfs_cluster.process.sweep()
    return Run(os.environ[OWNER])


def _start(run, name, n_dn, racks=("/a/r1", "/a/r1", "/b/r1"), **more):
    return run.cluster(name, n_dn, version=os.environ.get("OLDDOG_HDFS_VERSION", VERSION), native=True, racks=list(racks),
                       **more)


@contextlib.contextmanager
def alone(run, name, *args, **more):
    """Of one test at a time; healed after it."""
    with locked(run.folder / f"{name}.alone"):
        c = _start(run, name, *args, **more)
        try:
            yield c
        finally:
            c.heal()


@pytest.fixture(scope="session")
def hdfs(hdfs_run):
    return _start(hdfs_run, "main", 3)


@pytest.fixture(scope="session")
def hdfs_second(hdfs_run):
    return _start(hdfs_run, "second", 2)


@pytest.fixture
def hdfs_faulty(hdfs_run):
    # One that hangs is noticed in seconds, by DataNodes too.
    with alone(hdfs_run, "faulty", 4, ["/a/r1", "/a/r1", "/b/r1", "/b/r1"], keys={"dfs.client.socket-timeout": 4000}) as c:
        yield c


@pytest.fixture
def hdfs_ha(hdfs_run):
    with alone(hdfs_run, "pair", 3, ha=True) as c:
        yield c


class Folder:
    """A folder of HDFS. env: of clients, for olddog(.., env=)."""

    def __init__(self, cluster, name):
        self.cluster, self.root = cluster, f"/tests/{name}"
        self.env = cluster.env()

    def path(self, name=""):
        return f"{self.root}/{name}" if name else self.root

    def url(self, name=""):
        return self.cluster.url + self.path(name)

    def _web(self, method, name, op, **keys):
        """Waits while a cluster that was hurt has not come to itself: DataNodes forward with connections of before."""
        def answer():
            status, said = self.cluster.web(method, self.path(name), op, **keys)
            return None if status == 403 and any(w in said for w in NOT_YET) else (status, said)
        return wait_for(f"{name} by WebHDFS", answer, 60)

    def put(self, name, content, **keys):
        """By WebHDFS. keys: blocksize, replication, permission, .."""
        status, said = self._web("PUT", name, "CREATE", body=content, overwrite="true", **keys)
        assert status == 201, (status, said)

    def get(self, name, **keys):
        """By WebHDFS. keys: offset, length."""
        status, said = self._web("GET", name, "OPEN", **keys)
        assert status == 200, (status, said)
        return said

    def status(self, name=""):
        return self.cluster.web_json("GET", self.path(name), "GETFILESTATUS")["FileStatus"]

    def names(self, name=""):
        return [s["pathSuffix"] for s in self.cluster.web_json("GET", self.path(name), "LISTSTATUS")["FileStatuses"]["FileStatus"]]

    def blocks(self, name):
        return self.cluster.blocks(self.path(name))

    def remove(self):
        self.cluster.web("DELETE", self.root, "DELETE", user="hdfs", recursive="true")


@contextlib.contextmanager
def folder_in(cluster, request):
    name = re.sub(r"[^\w.-]+", "-", request.node.name)[:80]
    f = Folder(cluster, f"{request.node.path.stem}/{name}")
    cluster.web_json("PUT", f.root, "MKDIRS", permission="777")
    yield f
    f.remove()


@pytest.fixture
def hdfs_dir(hdfs, request):
    with folder_in(hdfs, request) as f:
        yield f


@pytest.fixture
def faulty_dir(hdfs_faulty, request):
    with folder_in(hdfs_faulty, request) as f:
        yield f
        hdfs_faulty.heal()  # its NameNode removes the folder


# --- help

def native_client(cluster, **keys):
    """hdfs-native's client of a cluster."""
    hdfs_native = pytest.importorskip("hdfs_native", reason="no hdfs-native here: scripts/setup installs it")
    return hdfs_native.Client(cluster.url, {**cluster.client_keys(), **{k: str(v) for k, v in keys.items()}})


def client_env(cluster, folder, **keys):
    """A client's environment with other keys (dots as __): client_env(c, tmp_path, dfs__client__read__shortcircuit="false")."""
    return cluster.env_with(folder, {k.replace("__", "."): v for k, v in keys.items()})


class Cutter:
    """hdfs_cutter.py in front of all nodes of a cluster that this test has alone. url and env lead a client through it."""

    def __init__(self, cluster, folder, **keys):
        at = {nn: f"127.0.1.{100 + int(nn[2:])}" for nn in cluster.nns}
        self.cluster, self.events, self.lines = cluster, [], queue.SimpleQueue()
        self.url = cluster.url if cluster.set.ha else f"hdfs://{at['nn1']}:{cluster.port('nn1')}"
        through = {"dfs.client.use.datanode.hostname": "true", "dfs.client.read.shortcircuit": "false", "fs.defaultFS": self.url,
                   **{f"dfs.namenode.rpc-address.{cluster.name}.{nn}": f"{at[nn]}:{cluster.port(nn)}" for nn in cluster.nns
                      if cluster.set.ha}, **keys}
        self.env = cluster.env_with(folder / "through", through)
        at |= {dn: cluster.alias(dn) for dn in cluster.dns}
        self.popen = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("hdfs_cutter.py"),
             *(f"{node}={host}:{cluster.port(node)}=127.0.0.1:{cluster.port(node)}" for node, host in at.items())],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self._read, daemon=True).start()
        self.wait("ready")

    def _read(self):
        """Always: a cutter whose pipe is full forwards nothing any more."""
        for line in self.popen.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.popen.stdin.close()
        self.popen.kill()
        self.popen.wait()

    def wait(self, event):
        """Reads on to the next event of that name, and gives it."""
        while line := self.lines.get():
            self.events.append(json.loads(line))
            if self.events[-1]["event"] == event:
                return self.events[-1]
        raise RuntimeError("the cutter ended")

    def rule(self, **rule):
        """As hdfs_cutter.py has it: rule(to="dn1", after=3, do="cut")."""
        self._say(json.dumps(rule))

    def clear(self):
        self._say("clear")

    def _say(self, line):
        self.popen.stdin.write(line + "\n")
        self.popen.stdin.flush()
        self.wait("rule")

    def struck(self):
        """All strikes so far."""
        self._say(json.dumps({"do": "cut", "times": 0}))  # whatever was said before is read then
        return [e for e in self.events if e["event"] == "struck"]

    def closed(self):
        """What went over all connections, once they are closed: the client has ended."""
        self.struck()
        while True:
            opened = {e["n"] for e in self.events if e["event"] == "open"}
            closed = [e for e in self.events if e["event"] == "closed"]
            if len(closed) == len(opened):
                return closed
            self.wait("closed")

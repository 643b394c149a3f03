# SPDX-License-Identifier: Apache-2.0
"""Real HDFS clusters on this machine, as plain java processes: for tests, the demo and benches.

    with Run() as run:                                   # ends everything, and what killed runs left before
        c = run.cluster("main", 3, native=True)          # one NameNode, three DataNodes
        subprocess.run([.., c.url + "/x"], env={**os.environ, **c.env()})
        c.kill("dn2"); c.up("dn2"); c.wait_live(3)

Nodes are nn1, nn2 (with ha), dn1 .. dnN, each on 127.0.0.1 (or addr). DataNode I has the name 127.0.1.I, at which nothing listens:
a test may put a forwarder there, on the DataNode's own port, and set dfs.client.use.datanode.hostname. HDFS user hdfs is
the superuser; clients are olddog. Permissions are on; / is open to all.

On the command line, scripts/hdfs-cluster:
    install [SET..]                 sets of scripts/hdfs.tsv (3.5.0 and native); prints their folders
    start NAME N [OPTION..]         a cluster that stays until `stop`; prints how clients find it
    env NAME                        prints that again
    stop NAME                       ends it and removes its data
    kill|pause|resume|up NAME NODE  one process; up: again, with its ports and data
    ha NAME NODE                    that NameNode becomes the active one
    fs|admin NAME ARG..             FsShell, DFSAdmin
    status                          what runs
    sweep                           ends what killed runs left
OPTION: ha, native, jvm=FLAGS, heap=256m, version=3.3.6, racks=/a,/a,/b, KEY=VALUE of Hadoop.
"""

import argparse
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree as ElementTree
from dataclasses import asdict, dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape

import hdfs_process as process
from hdfs_install import VERSION, folder_of, locked

JAVA = os.environ.get("JAVA", "java")
HDFS = "org.apache.hadoop.hdfs."
OPENS = [f"--add-opens=java.base/{p}=ALL-UNNAMED" for p in (
    "java.io java.lang java.lang.reflect java.math java.net java.text java.util java.util.concurrent java.util.zip "
    "sun.security.util sun.security.x509").split()]
READY_S = 180
# Failures are seen in seconds rather than in minutes.
DAEMON_KEYS = {
    "dfs.namenode.safemode.extension": 0, "dfs.namenode.fs-limits.min-block-size": 0,
    "dfs.namenode.datanode.registration.ip-hostname-check": "false",
    "dfs.heartbeat.interval": 1, "dfs.namenode.heartbeat.recheck-interval": 1000,
    "dfs.namenode.redundancy.interval.seconds": 1, "dfs.blockreport.initialDelay": 0,
    "dfs.namenode.redundancy.considerLoad": "false",
    "dfs.namenode.accesstime.precision": 0, "dfs.datanode.du.reserved": 0, "dfs.datanode.directoryscan.interval": -1,
    "dfs.permissions.superusergroup": "hdfs"}
LOG4J = """log4j.rootLogger={},A
log4j.appender.A=org.apache.log4j.ConsoleAppender
log4j.appender.A.target=System.err
log4j.appender.A.layout=org.apache.log4j.PatternLayout
log4j.appender.A.layout.ConversionPattern=%d{{ISO8601}} %p %c{{1}}: %m%n
log4j.logger.org.apache.hadoop.util.NativeCodeLoader=ERROR
"""


def wait_for(what, condition, limit_s=READY_S):
    """Polls until condition() is true, and gives what it gave; what: words for the error."""
    until = time.monotonic() + limit_s
    while not (found := condition()):
        if time.monotonic() > until:
            raise TimeoutError(f"waited {limit_s} s in vain for: {what}")
        time.sleep(0.05)
    return found


def write_site(path, keys):
    properties = "".join(f"  <property><name>{k}</name><value>{escape(str(v))}</value></property>\n" for k, v in keys.items())
    path.write_text(f'<?xml version="1.0"?>\n<configuration>\n{properties}</configuration>\n')


@dataclass
class Settings:
    n_dn: int
    base: int
    version: str = VERSION
    ha: bool = False
    native: bool = False
    heap: str = "128m"
    jvm: str = "-XX:TieredStopAtLevel=1"
    addr: str = "127.0.0.1"                      # which the processes that start and use it have, in their network namespace
    racks: list = field(default_factory=list)
    keys: dict = field(default_factory=dict)     # of daemons and clients
    client: dict = field(default_factory=dict)   # of clients


class Cluster:
    """One that was made by start_cluster(), in this process or another; its folder says all of it."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.name = self.folder.name
        self.set = Settings(**json.loads((self.folder / "settings.json").read_text()))
        self.conf = self.folder / "client"                   # HADOOP_CONF_DIR
        self.url = f"hdfs://{self.name}" if self.set.ha else f"hdfs://{self.set.addr}:{self.port('nn1')}"
        self.nns = ["nn1", "nn2"] if self.set.ha else ["nn1"]
        self.dns = [f"dn{i + 1}" for i in range(self.set.n_dn)]

    def env(self, user="olddog"):
        """What a client needs."""
        return {"HADOOP_CONF_DIR": str(self.conf), "HADOOP_USER_NAME": user}

    def client_keys(self):
        """{key: value} of a client's configuration."""
        found = {}
        for name in ("core-site.xml", "hdfs-site.xml"):
            for p in ElementTree.parse(self.conf / name).iter("property"):
                found[p.findtext("name")] = p.findtext("value")
        return found

    def env_with(self, folder, keys, user="olddog"):
        """What a client needs that has other keys; its configuration is written into the folder."""
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(self.conf / "log4j.properties", folder)
        # In both: what is in one of them only is overridden by the other's defaults, or not seen by all.
        for name in ("core-site.xml", "hdfs-site.xml"):
            write_site(folder / name, {**self.client_keys(), **keys})
        return {**self.env(user), "HADOOP_CONF_DIR": str(folder)}

    # --- addresses

    def port(self, node, kind="rpc"):
        """kind: rpc or http of a NameNode; data, http or ipc of a DataNode."""
        i = int(node[2:]) - 1
        if node.startswith("nn"):
            return self.set.base + 2 * i + ["rpc", "http"].index(kind)
        return self.set.base + 10 + 3 * i + ["data", "http", "ipc"].index("data" if kind == "rpc" else kind)

    @staticmethod
    def alias(dn):
        """The DataNode's name, where a forwarder may listen."""
        return f"127.0.1.{dn[2:]}"

    # --- processes

    def record(self, node):
        return self.folder / "pid" / node

    def log(self, node):
        path = self.folder / "log" / node
        return path.read_text(errors="replace") if path.exists() else ""

    def is_up(self, node):
        return process.pid_of(self.record(node)) is not None

    def java(self, config):
        flags = ["-XX:+UseSerialGC", "-Djava.net.preferIPv4Stack=true", f"-Djava.io.tmpdir={self.folder / 'tmp'}", *OPENS]
        if self.set.native:
            flags.append(f"-Djava.library.path={folder_of('native')}")
        # config: a folder, or the name of ours
        return [JAVA, *flags, "-cp", f"{self.folder / config}:{folder_of(self.set.version)}/*"]

    def java_env(self, user):
        env = {**os.environ, "HADOOP_USER_NAME": user}
        if self.set.native:  # for the codecs that libhadoop opens
            env["LD_LIBRARY_PATH"] = str(folder_of("native"))
        return env

    def spawn(self, node):
        """Starts the process of a node, which is not ready then."""
        if self.is_up(node):
            return
        self.record(node).unlink(missing_ok=True)
        data = f"file://{self.folder / 'data' / node}"
        if node.startswith("nn"):
            keys = {"dfs.namenode.name.dir": data} | ({"dfs.ha.namenode.id": node} if self.set.ha else {})
        else:
            at = {kind: f"{self.set.addr}:{self.port(node, kind)}" for kind in ("data", "http", "ipc")}
            keys = {"dfs.datanode.data.dir": data, "dfs.datanode.hostname": self.alias(node),
                    "dfs.datanode.address": at["data"], "dfs.datanode.http.address": at["http"],
                    "dfs.datanode.ipc.address": at["ipc"]}
        name = "server.namenode.NameNode" if node.startswith("nn") else "server.datanode.DataNode"
        process.spawn(self.record(node), [
            *self.java("conf"), f"-Xmx{self.set.heap}", *self.set.jvm.split(), HDFS + name,
            *(a for k, v in keys.items() for a in ("-D", f"{k}={v}"))], self.java_env("hdfs"), self.folder / "log" / node)

    def kill(self, node):
        """kill -9, and waits until it is gone."""
        if not self.is_up(node):
            raise RuntimeError(f"{self.name}: {node} is not running")
        process.end([self.record(node)])

    def pause(self, node):
        if process.send(self.record(node), signal.SIGSTOP):
            wait_for(f"{self.name}: {node} stopped", lambda: process.is_stopped(self.record(node)) or not self.is_up(node))

    def resume(self, node):
        process.send(self.record(node), signal.SIGCONT)

    def up(self, node, wait=True):
        """Starts a node again, on its ports and data."""
        self.spawn(node)
        if wait and node.startswith("nn"):
            wait_for(f"{self.name}: {node}", lambda: self.nn_state(node))
        elif wait:
            self.wait_known(node)

    def wait_known(self, dn):
        """Until the DataNode has registered with the active NameNode, which may not yet have noticed that it was gone."""
        def actors():
            return json.loads(self.jmx(dn, "DataNode,name=DataNodeInfo").get("BPServiceActorInfo", "[]"))
        wait_for(f"{self.name}: {dn} known to the NameNode", lambda: self.alive(dn) and any(
            a["ActorState"] == "RUNNING" and a["NamenodeHaState"] == "active" for a in actors()) and dn in self.live())

    def alive(self, node):
        if not self.is_up(node):
            raise RuntimeError(f"{self.name}: {node} died:\n{self.log(node)[-3000:]}")
        return True

    def heal(self):
        """All nodes up, live, and as they were."""
        for node in [*self.nns, *self.dns]:
            self.resume(node)
            self.spawn(node)
        if self.set.ha:
            self.wait_nns()
            if not self.active():
                self.activate("nn1")
        for dn in self.dns:
            self.wait_known(dn)
        wait_for(f"{self.name}: no safe mode", self.is_writable)

    def stop(self):
        """In order; the data stays."""
        process.end(list((self.folder / "pid").glob("*")), grace_s=10)

    # --- what the NameNode says

    def jmx(self, node, bean):
        """The bean's attributes; {} while the node does not answer."""
        if process.is_stopped(self.record(node)):
            return {}
        url = f"http://{self.set.addr}:{self.port(node, 'http')}/jmx?qry=Hadoop:service={bean}"
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                beans = json.load(answer)["beans"]
        except (OSError, ValueError):
            return {}
        return beans[0] if beans else {}

    def nn_state(self, node):
        """active or standby; None while it does not answer."""
        return self.jmx(node, "NameNode,name=NameNodeStatus").get("State") if self.alive(node) else None

    def active(self):
        """The active NameNode."""
        for node in self.nns:
            if self.is_up(node) and self.nn_state(node) == "active":
                return node
        return None

    def live(self):
        """DataNodes that the active NameNode takes for alive."""
        info = self.jmx(self.active() or "nn1", "NameNode,name=NameNodeInfo").get("LiveNodes")
        ports = {self.port(dn): dn for dn in self.dns}
        found = (ports.get(int(n["xferaddr"].rsplit(":", 1)[1])) for n in json.loads(info).values()) if info else ()
        return sorted(filter(None, found))

    def wait_live(self, n):
        wait_for(f"{self.name}: {n} DataNodes", lambda: len(self.live()) == n)

    def wait_nns(self):
        for node in self.nns:
            wait_for(f"{self.name}: {node}", lambda node=node: self.nn_state(node))

    def is_writable(self):
        return self.jmx(self.active() or "nn1", "NameNode,name=NameNodeInfo").get("Safemode") == ""

    def activate(self, node):
        """Makes a NameNode of an HA pair the active one."""
        admin = ["tools.DFSHAAdmin", "-ns", self.name]
        other = "nn2" if node == "nn1" else "nn1"
        if self.is_up(other) and self.nn_state(other) == "active":
            self.client(*admin, "-transitionToStandby", other, user="hdfs")
        self.client(*admin, "-transitionToActive", "--forceactive", node, user="hdfs")
        wait_for(f"{self.name}: {node} active", lambda: self.nn_state(node) == "active")

    # --- peers

    def client(self, name, *args, user="olddog", check=True, stdin=None, env=None, text=True, timeout=300, conf="client"):
        """Runs a class of Hadoop's as a client. conf: another configuration's folder."""
        argv = [*self.java(conf), "-Xmx512m", "-XX:TieredStopAtLevel=1", name if name.startswith("org.") else HDFS + name]
        done = subprocess.run([*argv, *map(str, args)], env={**self.java_env(user), **(env or {})}, text=text,
                              input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout)
        if check and done.returncode != 0:
            raise RuntimeError(f"{name} {' '.join(map(str, args))}: exit {done.returncode}\n{done.stdout[-1000:]}"
                               f"{done.stderr[-3000:]}")
        return done

    def fs(self, *args, **kw):
        """FsShell: fs("-ls", "/")."""
        return self.client("org.apache.hadoop.fs.FsShell", *args, **kw)

    def admin(self, *args, **kw):
        """DFSAdmin, as the superuser."""
        return self.client("tools.DFSAdmin", *args, user="hdfs", **kw)

    def web(self, method, path, op, body=None, user="olddog", attempts=20, **params):
        """WebHDFS: (status, bytes). A redirect's DataNode is asked at the address where it is; one that is not there may
        still be named for a while after its end, so a read asks again."""
        query = urllib.parse.urlencode({"op": op, "user.name": user, **params})
        node = self.active() or "nn1"
        url = f"http://{self.set.addr}:{self.port(node, 'http')}/webhdfs/v1{urllib.parse.quote(path)}?{query}"
        status, said, to = web_once(method, url, None)
        if not to:
            return status, said
        target = urllib.parse.urlsplit(to)
        try:
            return web_once(method, target._replace(netloc=f"{self.set.addr}:{target.port}").geturl(), body)[:2]
        except (urllib.error.URLError, http.client.IncompleteRead):
            if method != "GET" or attempts == 1:
                raise
        time.sleep(0.1)
        return self.web(method, path, op, body, user, attempts - 1, **params)

    def web_json(self, method, path, op, **kw):
        status, said = self.web(method, path, op, **kw)
        if status >= 400:
            raise RuntimeError(f"WebHDFS {op} {path}: {status} {said[:1000]!r}")
        return json.loads(said) if said else None

    # --- blocks

    def blocks(self, path):
        """Of a file: [{"id", "stamp", "offset", "length", "dns": [..]}]."""
        ports = {self.port(dn): dn for dn in self.dns}
        answer = self.web_json("GET", path, "GET_BLOCK_LOCATIONS", user="hdfs", offset=0, length=2**62)["LocatedBlocks"]
        return [{"id": b["block"]["blockId"], "stamp": b["block"]["generationStamp"], "offset": b["startOffset"],
                 "length": b["block"]["numBytes"], "dns": [ports[n["xferPort"]] for n in b["locations"]]}
                for b in answer["locatedBlocks"]]

    def replicas(self, block_id, dn=None):
        """{node: its file of the block}; the checksums are beside it, see meta_of()."""
        found = {}
        for node in self.dns if dn is None else [dn]:
            for path in (self.folder / "data" / node).glob(f"current/BP-*/current/*/**/blk_{block_id}"):
                found[node] = path
        return found

    @staticmethod
    def meta_of(replica):
        return next(replica.parent.glob(f"{replica.name}_*.meta"))


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args):
        return None


def web_once(method, url, body):
    request = urllib.request.Request(url, data=body, method=method)
    if body is not None:
        request.add_header("Content-Type", "application/octet-stream")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirect)
    try:
        with opener.open(request, timeout=120) as answer:
            return answer.status, answer.read(), None
    except urllib.error.HTTPError as e:
        with e:
            return e.code, e.read(), e.headers.get("Location") if e.code == 307 else None


def flip(path, offset, mask=0xFF):
    """Changes bits of a byte of a file in place, as a bad disk would."""
    with open(path, "r+b") as f:
        f.seek(offset)
        byte = f.read(1)
        f.seek(offset)
        f.write(bytes([byte[0] ^ mask]))


# --- making one

def site_keys(c):
    """(core-site, hdfs-site) that daemons and clients share."""
    s = c.set
    if not s.ha:
        return {"fs.defaultFS": c.url}, {"dfs.namenode.http-address": f"{c.set.addr}:{c.port('nn1', 'http')}"}
    keys = {"dfs.nameservices": c.name, f"dfs.ha.namenodes.{c.name}": "nn1,nn2",
            f"dfs.client.failover.proxy.provider.{c.name}": HDFS + "server.namenode.ha.ConfiguredFailoverProxyProvider"}
    for nn in c.nns:
        keys[f"dfs.namenode.rpc-address.{c.name}.{nn}"] = f"{c.set.addr}:{c.port(nn)}"
        keys[f"dfs.namenode.http-address.{c.name}.{nn}"] = f"{c.set.addr}:{c.port(nn, 'http')}"
    return {"fs.defaultFS": c.url}, keys


def write_configuration(c):
    s = c.set
    core, hdfs = site_keys(c)
    hdfs["dfs.replication"] = max(1, min(3, s.n_dn))
    if s.native:  # _PORT becomes the DataNode's data port
        hdfs |= {"dfs.domain.socket.path": f"{c.folder}/sock/_PORT", "dfs.client.read.shortcircuit": "true"}
    racks = [s.racks[i] if i < len(s.racks) else f"/r{i + 1}" for i in range(s.n_dn)]
    daemons = {
        "hadoop.tmp.dir": f"{c.folder}/data/tmp",
        "net.topology.node.switch.mapping.impl": "org.apache.hadoop.net.StaticMapping",
        "hadoop.configured.node.mapping": ",".join(f"{c.alias(dn)}={rack}" for dn, rack in zip(c.dns, racks)),
        "hadoop.proxyuser.hdfs.hosts": "*", "hadoop.proxyuser.hdfs.groups": "*"}
    ha = {"dfs.namenode.shared.edits.dir": f"file://{c.folder}/data/shared", "dfs.ha.fencing.methods": "shell(true)",
          "dfs.ha.tail-edits.period": "200ms", "dfs.ha.log-roll.period": "2s"} if s.ha else {}
    write_site(c.folder / "client/core-site.xml", core)
    write_site(c.folder / "client/hdfs-site.xml", {**hdfs, **s.keys, **s.client})
    write_site(c.folder / "conf/core-site.xml", {**core, **daemons, **s.keys})
    write_site(c.folder / "conf/hdfs-site.xml", {**hdfs, **DAEMON_KEYS, **ha, **s.keys})
    (c.folder / "conf/log4j.properties").write_text(LOG4J.format("INFO"))
    (c.folder / "client/log4j.properties").write_text(LOG4J.format("WARN"))


def format_namenode(c):
    ha = ["-D", "dfs.ha.namenode.id=nn1"] if c.set.ha else []
    done = subprocess.run(
        [*c.java("conf"), "-Xmx128m", "-XX:TieredStopAtLevel=1", HDFS + "server.namenode.NameNode", *ha,
         "-D", f"dfs.namenode.name.dir=file://{c.folder}/data/nn1", "-format", "-force", "-nonInteractive", "-clusterid",
         f"CID-{c.name}"], env=c.java_env("hdfs"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{c.name}: the NameNode was not formatted:\n{done.stdout[-3000:]}")
    if c.set.ha:
        shutil.copytree(c.folder / "data/nn1", c.folder / "data/nn2")


def start_cluster(folder, n_dn, **options):
    """Makes a cluster in a folder that does not exist yet, and waits until it can be written to. options: Settings."""
    folder.mkdir(mode=0o755, parents=True)
    for part in ("conf", "client", "pid", "log", "data", "tmp", "sock"):
        (folder / part).mkdir(mode=0o755)
    settings = Settings(n_dn, process.reserve_ports(folder, 10 + 3 * n_dn), **options)
    (folder / "settings.json").write_text(json.dumps(asdict(settings)))
    c = Cluster(folder)
    write_configuration(c)
    format_namenode(c)
    for node in [*c.nns, *c.dns]:
        c.spawn(node)
    c.wait_nns()
    if c.set.ha:
        c.activate("nn1")
    for dn in c.dns:
        c.wait_known(dn)
    wait_for(f"{c.name}: no safe mode", c.is_writable)
    c.web_json("PUT", "/", "SETPERMISSION", user="hdfs", permission="777")
    return c


class Run:
    """Clusters that end together, at the latest when the process that owns them is gone and another run begins."""

    def __init__(self, owner=None):
        self.folder = process.root() / (owner or process.own_name())

    def __enter__(self):
        process.sweep()
        return self

    def __exit__(self, *_):
        self.end()

    def cluster(self, name, n_dn, **options):
        """The one of that name, started when it is not there; whoever else asks meanwhile waits."""
        folder = self.folder / name
        with locked(self.folder / "lock"):
            if (self.folder / "ended").exists():
                raise RuntimeError("this run has ended")
            if (folder / "ready").exists():
                return Cluster(folder)
            # The second time on other ports: somebody else may have been faster.
            for attempt in range(2):
                process.end(list((folder / "pid").glob("*")))
                shutil.rmtree(folder, ignore_errors=True)
                try:
                    c = start_cluster(folder, n_dn, **options)
                    (folder / "ready").touch()
                    return c
                except RuntimeError:
                    if attempt:
                        raise

    def end(self):
        if self.folder.exists():
            with locked(self.folder / "lock"):
                (self.folder / "ended").touch()
            process.remove(self.folder)


# --- the command line

def parse_options(words):
    options, keys = {}, {}
    for word in words:
        key, _, value = word.partition("=")
        if word in ("ha", "native"):
            options[word] = True
        elif key in ("jvm", "heap", "version"):
            options[key] = value
        elif key == "racks":
            options[key] = value.split(",")
        elif "." in key and "=" in word:
            keys[key] = value
        else:
            raise SystemExit(f"hdfs-cluster: no option {word}")
    return options | {"keys": keys}


def told(c):
    return f"# {c.url}\n" + "".join(f"export {k}={v}\n" for k, v in c.env(os.environ.get("HADOOP_USER_NAME", "olddog")).items())


def show_status():
    for record in sorted(process.root().glob("*/*/pid/*")):
        c = Cluster(record.parents[1])
        pid = process.pid_of(record)
        http = c.port(record.name, "http")
        print(f"{record.parents[2].name}/{c.name} {record.name} {pid or '-'} port {c.port(record.name)} http {http}")


def main(argv):
    parser = argparse.ArgumentParser(prog="hdfs-cluster", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices="install start env stop kill pause resume up ha fs admin status sweep".split())
    parser.add_argument("args", nargs=argparse.REMAINDER)
    args = parser.parse_args(argv)
    verb, rest, kept = args.verb, args.args, Run("kept")
    if verb == "install":
        print("\n".join(str(folder_of(name)) for name in rest or [VERSION, "native"]))
    elif verb == "start":
        print(told(kept.cluster(rest[0], int(rest[1]), **parse_options(rest[2:]))), end="")
    elif verb == "status":
        show_status()
    elif verb == "sweep":
        print("\n".join(process.sweep()))
    else:
        one(verb, Cluster(kept.folder / rest[0]), rest[1:])


def one(verb, c, rest):
    """A verb of one cluster."""
    if verb == "env":
        print(told(c), end="")
    elif verb == "stop":
        c.stop()
        shutil.rmtree(c.folder)
    elif verb == "ha":
        c.activate(rest[0])
    elif verb in ("fs", "admin"):
        done = getattr(c, verb)(*rest, check=False)
        print(done.stdout, end="")
        print(done.stderr, end="", file=sys.stderr)
        raise SystemExit(done.returncode)
    else:
        getattr(c, verb)(rest[0])


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (RuntimeError, TimeoutError) as e:
        sys.exit(f"hdfs-cluster: {e}")

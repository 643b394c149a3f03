# SPDX-License-Identifier: Apache-2.0
"""Fetches the jars of real HDFS into the cache, each compared with scripts/hdfs.tsv before it is published.

What is half made is never used: a folder is made under another name and renamed, under a lock. Without network when all
is there.
"""

import contextlib
import csv
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

TABLE = Path(__file__).resolve().parent / "hdfs.tsv"
VERSION = "3.5.0"
# Asked for by version, so that the same one runs everywhere.
COPY = "org.apache.maven.plugins:maven-dependency-plugin:2.8:copy-dependencies"


def cache():
    base = os.environ.get("OLDDOG_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "olddog"
    return Path(base).resolve() / "hdfs"


@contextlib.contextmanager
def locked(path):
    """Holds the lock of a file, which children do not inherit."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        yield


def jars(name):
    """{coordinates: sha256} of a set."""
    with open(TABLE, newline="") as f:
        rows = list(csv.reader((line for line in f if not line.startswith("#")), delimiter="\t"))
    of = {row[1]: row[2] for row in rows if row[0] == name}
    if not of:
        raise RuntimeError(f"{TABLE.name} has no set {name}, only {', '.join(sorted({r[0] for r in rows}))}")
    return of


def pom(of):
    text = "".join("<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>".format(
        *c.split(":")) for c in of)
    return ("<project><modelVersion>4.0.0</modelVersion><groupId>local</groupId><artifactId>hdfs</artifactId>"
            f"<version>1</version><dependencies>{text}</dependencies></project>")


def download(of, to):
    """The jars named, by Maven, and no others."""
    print(f"setup: fetching {len(of)} jars of HDFS", file=sys.stderr, flush=True)
    (to / "pom.xml").write_text(pom(of))
    argv = ["mvn", "-q", "-B", f"-Dmaven.repo.local={cache() / 'maven'}", "-f", to / "pom.xml", COPY,
            "-DexcludeTransitive=true", f"-DoutputDirectory={to}"]
    try:
        done = subprocess.run([str(a) for a in argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
    except FileNotFoundError:
        raise RuntimeError("no mvn: scripts/setup tests/packages.txt installs it") from None
    if done.returncode != 0:
        raise RuntimeError(f"mvn could not fetch the jars:\n{done.stdout[-3000:]}")
    (to / "pom.xml").unlink()


def compare(of, folder):
    for coordinates, wanted in of.items():
        _, artifact, version = coordinates.split(":")
        path = folder / f"{artifact}-{version}.jar"
        found = hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "nothing"
        if found != wanted:
            raise RuntimeError(f"{coordinates}: SHA-256 is {found}, {TABLE.name} says {wanted}")


def unpack_native(folder):
    """Hadoop's own jars hold no libhadoop.so; this one does, with the codecs that it loads."""
    machine = os.uname().machine.replace("x86_64", "amd64")
    for jar in list(folder.glob("*.jar")):
        with zipfile.ZipFile(jar) as z:
            for name in z.namelist():
                if name.startswith(f"nativelib/Linux-{machine}/") and not name.endswith("/"):
                    (folder / Path(name).name).write_bytes(z.read(name))
        jar.unlink()
    if not (folder / "libhadoop.so").exists():
        raise RuntimeError(f"no libhadoop.so for {machine}")


def make(name, to):
    of = jars(name)
    folder = Path(tempfile.mkdtemp(prefix="new-", dir=to.parent))
    try:
        download(of, folder)
        compare(of, folder)
        if name == "native":
            unpack_native(folder)
        folder.chmod(0o755)
        folder.rename(to)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def folder_of(name):
    """The folder of a set, made when it is not there."""
    # Keyed by what it is made of, so that another pin makes a new one and an older checkout keeps its own.
    key = hashlib.sha256("".join(f"{c} {s}\n" for c, s in sorted(jars(name).items())).encode()).hexdigest()[:12]
    folder = cache() / f"{name}-{key}"
    if not folder.exists():
        with locked(cache() / "lock"):
            if not folder.exists():
                make(name, folder)
    return folder

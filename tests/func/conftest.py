# SPDX-License-Identifier: Apache-2.0
"""What functional tests share: they drive real processes, each in its own folder, and look at what comes out.

Environment: OLDDOG_BUILD (build folder, default build), OLDDOG_MEDIA (pictures, as scripts/real-media lays them out;
tests that need them are skipped without), OLDDOG_CROPS and OLDDOG_SCHEDULES (how many, the full counts in test-all),
OLDDOG_FULL=1 (tests of test-all too).
"""

import io
import os
import signal
import subprocess
import tarfile
from pathlib import Path

import hdfs_help
import pytest
from hdfs_help import faulty_dir, hdfs, hdfs_dir, hdfs_faulty, hdfs_ha, hdfs_run, hdfs_second  # noqa: F401 (fixtures)

ROOT = Path(__file__).resolve().parents[2]
BUILD = (ROOT / os.environ.get("OLDDOG_BUILD", "build")).resolve()

# A sanitizer's report in what a process said fails the test, whatever its exit code was.
REPORTS = ("ERROR: AddressSanitizer", "ERROR: LeakSanitizer", "WARNING: ThreadSanitizer", ": runtime error: ")


def pytest_configure(config):
    config.addinivalue_line("markers", "plain: not for a build with a sanitizer, whose runtime takes memory, and calls and "
                            "files of the kernel, of its own; scripts/test runs these with the build that has none")
    hdfs_help.configure(config)


def pytest_unconfigure(config):
    hdfs_help.unconfigure(config)


def _is_sanitized():
    needs = subprocess.run(["readelf", "-d", BUILD / "olddog"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return "libasan" in needs.stdout or "libtsan" in needs.stdout


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    hdfs_help.group(items)
    if _is_sanitized():
        plain = [i for i in items if i.get_closest_marker("plain")]
        config.hook.pytest_deselected(items=plain)
        items[:] = [i for i in items if i not in plain]


def _environment(extra):
    env = {**os.environ, "LC_ALL": "C.UTF-8", **(extra or {})}
    env.setdefault("ASAN_OPTIONS", "abort_on_error=0:exitcode=99")
    env.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
    return {k: str(v) for k, v in env.items() if v is not None}


def _no_reports(stderr):
    for report in REPORTS:
        assert report not in stderr, f"a sanitizer reported:\n{stderr[-8000:]}"


class Process:
    """A process under way, in a session of its own, so that nothing it started outlives the test."""

    def __init__(self, argv, env, cwd, stdin=subprocess.DEVNULL):
        self.argv = argv
        self.popen = subprocess.Popen(argv, env=env, cwd=cwd, stdin=stdin, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)
        self.pid = self.popen.pid

    def read_line(self):
        """The next line of stdout, "" at its end."""
        return self.popen.stdout.readline()

    def children(self, name=None):
        """Pids of its children (all generations), those whose command is `name` when it is given."""
        parent = {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                text = stat.read_text()
            except OSError:
                continue
            comm, rest = text[text.index("(") + 1:text.rindex(")")], text[text.rindex(")") + 2:].split()
            if rest[0] != "Z":
                parent[int(stat.parent.name)] = (int(rest[1]), comm)
        found, todo = [], [self.pid]
        while todo:
            p = todo.pop()
            below = [k for k, (up, _) in parent.items() if up == p]
            todo += below
            found += [k for k in below if name is None or parent[k][1] == name[:15]]
        return found

    def kill(self, sig=signal.SIGKILL):
        self.popen.send_signal(sig)

    def wait(self, timeout=120):
        """(exit code, rest of stdout, stderr); -N: ended by signal N."""
        out, err = self.popen.communicate(timeout=timeout)
        _no_reports(err)
        return self.popen.returncode, out, err

    def end(self):
        """Ends it and its session; what it said is dropped."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.popen.communicate()


class Olddog:
    """Runs the program that was built. Called: runs it to its end and gives what subprocess.run() gives."""

    def __init__(self, cwd):
        self.exe = BUILD / "olddog"
        assert self.exe.exists(), f"{self.exe} is not built: make build, or set OLDDOG_BUILD"
        self.cwd = cwd
        self.started = []

    def __call__(self, *args, rc=0, timeout=120, env=None, cwd=None, text=True):
        """rc: the exit code that is expected; None: any."""
        p = subprocess.run([str(self.exe), *map(str, args)], env=_environment(env), cwd=cwd or self.cwd,
                           stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout)
        stderr = p.stderr.decode(errors="replace")
        _no_reports(stderr)
        if text:
            p.stdout, p.stderr = p.stdout.decode(errors="replace"), stderr
        assert rc is None or p.returncode == rc, (
            f"exit {p.returncode}, expected {rc}: {' '.join(map(str, p.args))}\n{p.stdout[-2000:]}\n{stderr[-4000:]}")
        return p

    def lines(self, *args, **kw):
        """Lines of stdout."""
        return self(*args, **kw).stdout.splitlines()

    def start(self, *args, env=None, cwd=None):
        """Starts it and gives a Process; ended with the test at the latest."""
        p = Process([str(self.exe), *map(str, args)], _environment(env), cwd or self.cwd)
        self.started.append(p)
        return p


@pytest.fixture
def olddog(tmp_path):
    """The program, run in the test's own folder (tmp_path)."""
    o = Olddog(tmp_path)
    yield o
    for p in o.started:
        p.end()


@pytest.fixture(scope="session")
def build():
    """The build folder."""
    return BUILD


@pytest.fixture(scope="session")
def sanitized():
    """Whether the build has a sanitizer, which keeps memory for a while that was freed."""
    return _is_sanitized()


@pytest.fixture(scope="session")
def media():
    """The folder of real pictures: set/ photos/ photos-odd/ photos-broken/ photos-derived/."""
    if not os.environ.get("OLDDOG_MEDIA"):
        pytest.skip("OLDDOG_MEDIA is not set: scripts/real-media 200 makes such a folder and prints it")
    folder = Path(os.environ["OLDDOG_MEDIA"])
    assert (folder / "set").is_dir(), f"OLDDOG_MEDIA={folder} has no set/"
    return folder


@pytest.fixture(scope="session")
def n_crops():
    """How many random crops to compare."""
    return int(os.environ.get("OLDDOG_CROPS", "500"))


@pytest.fixture(scope="session")
def n_schedules():
    """How many random fault schedules to run."""
    return int(os.environ.get("OLDDOG_SCHEDULES", "100"))


@pytest.fixture(scope="session")
def full():
    """For a test of `make test-all` only."""
    if os.environ.get("OLDDOG_FULL") != "1":
        pytest.skip("a test of make test-all: OLDDOG_FULL=1 is not set")


def make_tar(path, members, tar_format=tarfile.PAX_FORMAT):
    """Writes a tar of (name, bytes) pairs, or tarfile.TarInfo for odd members; the same input gives the same bytes."""
    with tarfile.open(path, "w", format=tar_format) as tar:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                tar.addfile(member)
                continue
            name, data = member
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


@pytest.fixture(scope="session")
def tar():
    """make_tar(path, [(name, bytes), ..], tar_format=)."""
    return make_tar


@pytest.fixture(scope="session")
def set_shards(media, tmp_path_factory):
    """Ten shards of ten of the set's pictures, each sample a jpg, a cls and a txt; (folder, the pictures in order)."""
    folder = tmp_path_factory.mktemp("shards")
    pictures = sorted((media / "set").glob("*.jpg"))[:100]
    for s in range(10):
        members = []
        for i in range(10 * s, 10 * s + 10):
            members += [(f"{i:06d}.cls", b"%d" % (i % 7)), (f"{i:06d}.jpg", pictures[i].read_bytes()),
                        (f"{i:06d}.txt", f"picture {i}".encode())]
        make_tar(folder / f"{s:05d}.tar", members)
    return folder, pictures

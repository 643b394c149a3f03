# SPDX-License-Identifier: Apache-2.0
"""Random fault schedules on real processes. Ranks, in C and Python and of changing number, share an olddog-loader; or
each is an `olddog read`. At random points of progress, counted in lines that came, something is killed or stopped.
Whatever happens: the lines are those of a run that nobody disturbed, each position once, and nothing is left behind.
(What a rank delivered after the checkpoint that it goes on from comes again, with the same digests.)

OLDDOG_REAL_SCHEDULES says how many (default 5); OLDDOG_REAL_SEED runs the one schedule of that seed.
"""

import ctypes
import fcntl
import hashlib
import json
import os
import random
import re
import select
import signal
import subprocess
import sys
import uuid
from collections import Counter
from pathlib import Path

import pytest
from conftest import _no_reports
from process_help import state_of, wait_until
from python_help import script_environment
from test_loader import Ranks
from test_read import ORDERS, position

EPOCHS = 3
PR_SET_CHILD_SUBREAPER = 36
LOST_S = 120  # in which what should end has ended

TARS = """
  image: {from: [jpg], random_resized_crop: 48, hflip: 0.5, normalize: imagenet, dtype: float32, layout: chw}
  label: {from: cls, as: int}
  txt: {from: txt, as: text}"""
FOLDER = """
  image: {from: [jpg], resize: 60, random_crop: 48, vflip: 0.5}
  label: {from: cls, as: int}"""

PYTHON_RANK = """
import json, sys
sys.path.insert(0, sys.argv[1])
import olddog
from python_help import digests
spec, conf = sys.argv[2], json.loads(sys.argv[3])
epochs = conf.pop("epochs")
loader = olddog.Loader(spec, **conf)
print("open")
last = loader.epoch + epochs
while loader.epoch < last:
    for batch in iter(loader):
        if not sys.stdin.readline():
            sys.exit(0)
        print("".join(line + "\\n" for line in digests(batch).values()), end="")
        print("state=" + json.dumps(loader.state_dict()), flush=True)
"""


def seeds():
    if os.environ.get("OLDDOG_REAL_SEED"):
        return [int(os.environ["OLDDOG_REAL_SEED"])]
    return range(1, int(os.environ.get("OLDDOG_REAL_SCHEDULES", "5")) + 1)


def children_of(pid):
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        state, parent = text[text.rindex(")") + 2:].split()[:2]
        if state != "Z" and int(parent) == pid:
            found.append(int(stat.parent.name))
    return sorted(found)


def send(pid, sig):
    try:
        os.kill(pid, sig)
    except ProcessLookupError:
        return False
    return True


class Schedule:
    """What a seed decides, what came, and what happened."""

    def __init__(self, seed, olddog, set_shards, folder, tmp_path):
        self.seed, self.dice, self.olddog, self.tmp = seed, random.Random(seed), olddog, tmp_path
        self.met = Counter()
        self.seen, self.again = {}, []
        self.size = self.dice.randint(1, 4)
        self.batch = self.dice.choice([4, 8, 16])
        in_tars = self.dice.random() < 0.5
        self.data = set_shards[0] if in_tars else folder
        order = ORDERS[self.dice.choice(list(ORDERS))]
        where = f"{self.data}/*.tar" if in_tars else str(self.data)
        self.plain = self._spec("plain", where, order, in_tars)
        delay, slow = self.dice.choice([0, 1, 4]), self.dice.choice([0, 5, 40])
        fault = f"#fault=delay:0ms-{delay}ms,slow:0.05:{slow}ms,seed:{seed}"
        self.spec = self._spec("faulty", f"file://{where}{fault}", order, in_tars)
        self.expected = dict(enumerate(olddog.lines("read", self.plain, "--epochs", EPOCHS, "--digest=sample")))
        self.epoch_len = len(self.expected) // EPOCHS
        self.n_steps = EPOCHS * -(-self.epoch_len // self.batch)

    def _spec(self, name, where, order, in_tars):
        path = self.tmp / f"{name}.yaml"
        path.write_text(f"sources: [{{data: '{where}'}}]\nfields:{TARS if in_tars else FOLDER}\nseed: {self.seed}\n"
                        f"order: {order}\nglobal_batch: {self.batch}\n")
        return path

    def end_of(self, step):
        """The position after so many global batches."""
        an_epoch = -(-self.epoch_len // self.batch)
        epoch, rest = divmod(step, an_epoch)
        return epoch * self.epoch_len + min(rest * self.batch, self.epoch_len)

    def share_of(self, rank, size, begin, end):
        """How many samples of the global batches `begin` to `end` - 1 are that rank's."""
        total = 0
        for step in range(begin, end):
            n = self.end_of(step + 1) - self.end_of(step)
            total += (rank + 1) * n // size - rank * n // size
        return total

    def deliver(self, line):
        p = position(line)
        assert line == self.expected[p]
        assert p not in self.seen, f"position {p} came twice"
        self.seen[p] = line
        return p

    def take_back(self, positions):
        """They came after the checkpoint that is gone back to: they must come again."""
        for p in positions:
            self.again.append(self.seen.pop(p))

    def check(self):
        assert self.seen == self.expected
        print(f"seed {self.seed}: {dict(self.met)}, {len(self.again)} of {len(self.seen)} samples twice")


class Rank:
    """A rank of a job: goes so many steps as it is told, and says its state after each."""

    def __init__(self, s, job, dp_rank, size, saved):
        step, state = saved
        self.dp_rank, self.step, self.positions = dp_rank, step, []
        left = EPOCHS - s.end_of(step) // s.epoch_len
        if s.dice.random() < 0.3:
            conf = {"dp_rank": dp_rank, "dp_size": size, "epochs": left, "state": state, "job": job.job}
            argv = [sys.executable, "-c", PYTHON_RANK, Path(__file__).parent, s.spec, json.dumps(conf)]
            env = {**job.environment(), **script_environment()}
        else:
            argv = [job.exe, "-i", "-S", "-r", dp_rank, "-w", size, "-e", left, *(["-s", state] if state else []), s.spec]
            env = job.environment()
        self.popen = subprocess.Popen(list(map(str, argv)), env={**env, "TMPDIR": str(s.tmp / "tmp")}, text=True,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def go(self, n):
        self.popen.stdin.write("\n" * n)
        self.popen.stdin.flush()

    def take(self, s):
        """One line."""
        line = self.popen.stdout.readline()
        if not line.endswith("\n"):
            _, said = self.popen.communicate(timeout=LOST_S)
            raise AssertionError(f"rank {self.dp_rank} ended with {self.popen.returncode}: {said[-3000:]}")
        self._use(s, line)

    def _use(self, s, line):
        if line.startswith("position="):
            self.positions.append((self.step, s.deliver(line.rstrip("\n"))))
        elif line.startswith("state="):
            self._use_state(s, line[6:].rstrip("\n"))

    def _use_state(self, s, state):
        consumed = json.loads(state)["consumed"]
        # A rank in C says its state once more at its end.
        if consumed != s.end_of(self.step):
            self.step, self.state = self.step + 1, state
            assert consumed == s.end_of(self.step)

    def end(self, s, sig=None):
        """Ends it, by a signal or by the end of its input; what it said before is taken."""
        if sig:
            self.popen.send_signal(sig)
        self.popen.stdin.close()
        # Not communicate(): it forgets what readline() has read ahead.
        while (line := self.popen.stdout.readline()).endswith("\n"):
            self._use(s, line)
        said = self.popen.stderr.read()
        self.popen.wait(LOST_S)
        _no_reports(said)
        assert self.popen.returncode == (-sig if sig else 0), said[-3000:]


class Job:
    """Ranks that share a loader."""

    def __init__(self, s, build):
        self.s = s
        self.names = Ranks(build, f"real-{uuid.uuid4()}", s.tmp / "loader.log")
        self.saved = (0, None)
        self.target = 0
        self.ranks = []
        self.start_all(s.size)

    def start_all(self, size):
        self.size = size
        self.ranks = [Rank(self.s, self.names, r, size, self.saved) for r in range(size)]

    # --- what may happen

    def victim(self, pids):
        """One of them, by one roll whatever their number is."""
        roll = self.s.dice.random()
        return pids[int(roll * len(pids))] if pids else None

    def a_worker(self):
        return self.victim([w for loader in self.names.loaders() for w in children_of(loader)])

    def a_loader(self):
        return self.victim(self.names.loaders())

    def kill_worker(self):
        pid = self.a_worker()
        return pid is not None and send(pid, signal.SIGKILL)

    def kill_loader(self):
        pid = self.a_loader()
        return pid is not None and send(pid, signal.SIGKILL)

    def kill_rank(self):
        old = self.s.dice.choice(self.ranks)
        old.end(self.s, signal.SIGKILL)
        self.s.take_back([p for step, p in old.positions if step >= self.saved[0]])
        new = Rank(self.s, self.names, old.dp_rank, self.size, self.saved)
        new.go(self.target - new.step)
        self.ranks[self.ranks.index(old)] = new
        return True

    def nothing(self):
        return True

    def _stop(self, pid):
        """Stops it, meanwhile something else may happen, and lets it go on or kills it."""
        meanwhile = self.s.dice.choice([self.nothing, self.kill_worker, self.kill_rank, self.kill_loader])
        then = self.s.dice.choice([signal.SIGCONT, signal.SIGCONT, signal.SIGKILL])
        if pid is None or not send(pid, signal.SIGSTOP):
            return False
        try:
            wait_until(lambda: state_of(pid) in ("T", "Z", None))
            self.count(meanwhile)
        finally:
            send(pid, then)
        return True

    def stop_worker(self):
        return self._stop(self.a_worker())

    def stop_loader(self):
        return self._stop(self.a_loader())

    def restart_all(self):
        """Everything, on another number of ranks, from the last checkpoint."""
        dice, s = self.s.dice, self.s
        for r in self.ranks:
            r.end(s, dice.choice([signal.SIGKILL, signal.SIGTERM, None]))
            s.take_back([p for step, p in r.positions if step >= self.saved[0]])
        # A loader that is just ending is no reason to fail either.
        if dice.random() < 0.5:
            wait_until(lambda: not self.names.loaders())
        self.start_all(dice.choice([w for w in range(1, 5) if w != self.size]))
        for r in self.ranks:
            r.go(self.target - r.step)
        return True

    def count(self, action):
        if action():
            self.s.met[action.__name__] += 1

    # --- the run

    def events(self, n_lines):
        """[(after so many lines, what)]; fewer than what a rank takes for a loader that cannot live."""
        kinds = [self.kill_worker, self.kill_worker, self.stop_worker, self.stop_loader, self.kill_loader, self.kill_rank,
                 self.restart_all]
        dice = self.s.dice
        return sorted(((dice.randint(0, n_lines), dice.choice(kinds)) for _ in range(dice.randint(0, 2))), key=lambda e: e[0])

    def go(self, n_steps):
        s = self.s
        begin, self.target = self.target, min(self.target + n_steps, s.n_steps)
        for r in self.ranks:
            r.go(self.target - r.step)
        events = self.events(s.end_of(self.target) - s.end_of(begin))
        n_lines = 0
        while behind := [r for r in self.ranks if r.step < self.target]:
            while events and events[0][0] <= n_lines:
                self.count(events.pop(0)[1])
                behind = [r for r in self.ranks if r.step < self.target]
            if behind:
                s.dice.choice(behind).take(s)
            n_lines += 1
        if s.dice.random() < 0.5:
            self.saved = (self.target, self.ranks[0].state)

    def run(self):
        while self.target < self.s.n_steps:
            self.go(self.s.dice.randint(1, 5))
        for r in self.ranks:
            r.end(self.s)

    def release(self):
        for r in self.ranks:
            r.popen.kill()
            r.popen.wait()


class Reads:
    """Ranks that are `olddog read` each, with a file of state each; they go on together after each run of so many steps."""

    def __init__(self, s):
        self.s, self.size, self.step = s, s.size, 0
        self.under_way = []

    def start(self, rank, n):
        s = self.s
        left = EPOCHS - s.end_of(self.step) // s.epoch_len
        p = s.olddog.start("read", s.spec, "--dp-rank", rank, "--dp-size", self.size, "--digest=sample", "--epochs", left,
                           "--samples", n, "--state", s.tmp / f"{rank}.state", "--workers", s.dice.randint(1, 3),
                           env={"TMPDIR": s.tmp / "tmp"})
        # What a pipe holds is as far as it gets ahead.
        fcntl.fcntl(p.popen.stdout, fcntl.F_SETPIPE_SZ, 4096)
        return p

    def read(self, rank, n):
        """One process; the positions that came, and whether it came to its end."""
        s, dice = self.s, self.s.dice
        p = self.start(rank, n)
        what = dice.choice(["kill_worker", "stop_worker", "kill_read", "interrupt", "nothing"])
        after, got = dice.randint(0, n - 1), []
        while len(got) < after and (line := p.read_line()):
            got.append(s.deliver(line.rstrip("\n")))
        self.happen(p, what)
        while (line := p.read_line()).endswith("\n"):
            got.append(s.deliver(line.rstrip("\n")))
        rc, _, said = p.wait()
        # An interruption that comes before it is listened for ends it like any program.
        ends = {"kill_read": (0, -signal.SIGKILL), "interrupt": (0, 1, -signal.SIGINT)}
        assert rc in ends.get(what, (0,)), said
        return got, rc

    def happen(self, p, what):
        workers = p.children("olddog-worker")
        roll = self.s.dice.random()
        pid = workers[int(roll * len(workers))] if workers else None
        if what == "kill_worker" and pid:
            send(pid, signal.SIGKILL)
        elif what == "stop_worker" and pid:
            send(pid, signal.SIGSTOP)
            wait_until(lambda: state_of(pid) in ("T", "Z", None))
            send(pid, signal.SIGCONT)
        elif what in ("kill_read", "interrupt"):
            p.kill(signal.SIGKILL if what == "kill_read" else signal.SIGINT)
        elif what != "nothing":
            return
        self.s.met[what] += 1

    def run_rank(self, rank, n):
        """Until it has its n samples, however often it is started."""
        while n:
            got, rc = self.read(rank, n)
            if rc < 0:
                # Its state was written at its end, or not at all.
                path = self.s.tmp / f"{rank}.state"
                if len(got) == n and path.exists() and json.loads(path.read_text())["consumed"] > self.s.end_of(self.step):
                    return
                self.s.take_back(got)
            else:
                n -= len(got)

    def run(self):
        s = self.s
        while self.step < s.n_steps:
            target = min(self.step + s.dice.randint(20, 60), s.n_steps)
            for rank in range(self.size):
                self.run_rank(rank, s.share_of(rank, self.size, self.step, target))
            state = json.loads((s.tmp / "0.state").read_text())
            self.step = target
            self.size = s.dice.randint(1, 4)
            s.met["restart_all"] += 1
            # What the next ones go on from, however many they are.
            state["consumed"] = s.end_of(target)
            for rank in range(4):
                (s.tmp / f"{rank}.state").write_text(json.dumps(state))

    def release(self):
        pass


# --- what is left

@pytest.fixture
def nothing_left(tmp_path):
    """Whatever loses its parent becomes our child: so all that is left at the end is known."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    assert prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    (tmp_path / "tmp").mkdir()
    shm = set(os.listdir("/dev/shm"))
    mine = set(children_of(os.getpid()))
    yield
    try:
        while left := set(children_of(os.getpid())) - mine:
            for pid in left:
                has_ended(pid)
        while reap():
            pass
        assert not {name for name in set(os.listdir("/dev/shm")) - shm if "olddog" in name}
        assert os.listdir(tmp_path / "tmp") == []
    finally:
        prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def has_ended(pid):
    """Waits for the end of an orphan, and reaps it."""
    try:
        handle = os.pidfd_open(pid)
        assert select.select([handle], [], [], LOST_S)[0], Path(f"/proc/{pid}/cmdline").read_bytes()
        os.close(handle)
        os.waitpid(pid, 0)
    except (ProcessLookupError, ChildProcessError):
        pass


def reap():
    """One that ended long ago."""
    try:
        return os.waitpid(-1, os.WNOHANG)[0]
    except ChildProcessError:
        return 0


def socket_of(job):
    """A job's abstract name (src/feed/job.c)."""
    return f"@olddog-{os.getuid()}-{hashlib.sha256(job.encode()).hexdigest()[:32]}"


def listing(folder):
    return {p.relative_to(folder): (p.stat().st_size, p.stat().st_mtime_ns) for p in folder.rglob("*")}


@pytest.fixture(scope="session")
def some_pictures(media, tmp_path_factory):
    """60 of the set's pictures in three folders."""
    folder = tmp_path_factory.mktemp("pictures")
    for i, picture in enumerate(sorted((media / "set").glob("*.jpg"))[100:160]):
        to = folder / "abc"[i % 3] / f"{i:03d}.jpg"
        to.parent.mkdir(exist_ok=True)
        to.write_bytes(picture.read_bytes())
    return folder


def run(s, job):
    try:
        job.run()
    finally:
        job.release()
    s.check()


@pytest.mark.parametrize("seed", seeds())
def test_ranks_that_share_a_loader(seed, olddog, build, set_shards, some_pictures, nothing_left, tmp_path):
    s = Schedule(seed, olddog, set_shards, some_pictures, tmp_path)
    before = listing(s.data)
    job = Job(s, build)
    run(s, job)
    for pid in job.names.loaders():
        has_ended(pid)
    assert socket_of(job.names.job) not in Path("/proc/net/unix").read_text()
    log = tmp_path / "loader.log"
    assert not log.exists() or not re.search("Sanitizer|runtime error", log.read_text())
    assert listing(s.data) == before


@pytest.mark.parametrize("seed", [seed for seed in seeds() if seed % 5 == 0 or len(seeds()) == 1])
def test_ranks_that_are_reads(seed, olddog, set_shards, some_pictures, nothing_left, tmp_path):
    s = Schedule(seed, olddog, set_shards, some_pictures, tmp_path)
    before = listing(s.data)
    run(s, Reads(s))
    assert listing(s.data) == before

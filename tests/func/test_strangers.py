# SPDX-License-Identifier: Apache-2.0
"""A loader's socket and strangers: other users, garbage, floods, peers that say or read nothing, a thousand of them. The
loader goes on, its ranks get what they would have got, and it keeps nothing of the strangers."""

import array
import errno
import hashlib
import os
import random
import resource
import select
import socket
import struct
import time
from pathlib import Path

import pytest
from python_help import olddog as package
from test_loader import ranks, spec  # noqa: F401 (fixtures)

NOBODY = 65534
USER = os.getuid()
OPEN, NEXT, RELEASE, OPENED, BATCH, END, FAIL = range(1, 8)
STEPS = 21  # of 16 samples, three epochs of 100


def address(job):
    return f"\0olddog-{USER}-{hashlib.sha256(job.encode()).hexdigest()[:32]}"


def value(tag, data):
    return struct.pack("<HHI", tag, 0, len(data)) + data + bytes(-len(data) % 4)


def opening(path):
    """An OPEN record (src/wire/rankmsg.h) of rank 0 of 1, for an endless number of epochs."""
    return struct.pack("<I", OPEN) + value(1, struct.pack("<I", 1)) + value(3, os.fsencode(path) + b"\0") + value(
        7, struct.pack("<I", 1)) + value(14, struct.pack("<Q", 8 << 20))


def kind_of(record):
    return struct.unpack_from("<I", record)[0] if record else 0


def until(condition):
    """What comes by itself, soon; a minute is for ever."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, condition.__code__.co_names


@pytest.fixture
def as_nobody():
    """as_nobody(function): runs it in a child of another user, until the test ends or it returns. When it calls what it is
    given, as_nobody() returns."""
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    children = []

    def start(function):
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                os.setgroups([])
                os.setresgid(NOBODY, NOBODY, NOBODY)
                os.setresuid(NOBODY, NOBODY, NOBODY)
                function(lambda: os.write(writer, b"."))
                os._exit(0)
            except BaseException:
                os._exit(1)
        children.append(pid)
        os.close(writer)
        said = os.read(reader, 1)
        os.close(reader)
        return pid, said
    yield start
    for pid in children:
        try:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass


class Job:
    """A rank that goes step by step, and its loader."""

    def __init__(self, ranks, spec, olddog):
        self.ranks, self.spec, self.olddog = ranks, spec, olddog
        self.rank = ranks.start("-i", "-e", 3, "-m", 8 << 20, spec)
        assert self.rank.stdout.readline().startswith("open")
        (self.pid,) = ranks.loaders()
        self.lines, self.n = [], 0

    def connect(self):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.connect(address(self.ranks.job))
        return s

    def step(self):
        """The rank takes one more batch."""
        self.rank.stdin.write("\n")
        self.rank.stdin.flush()
        self.n += 1
        for _ in range(4 if self.n % 7 == 0 else 16):
            self.lines.append(self.rank.stdout.readline().rstrip("\n"))
            assert self.lines[-1].startswith("position="), self.rank.stderr.read()[-3000:]

    def n_connections(self):
        """That it has taken; those that wait have no inode yet."""
        name = address(self.ranks.job).replace("\0", "@")
        found = [line.split() for line in Path("/proc/net/unix").read_text().splitlines() if line.endswith(name)]
        return sum(line[6] != "0" for line in found) - 1

    def memory_bytes(self):
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * resource.getpagesize()

    def end(self):
        while self.n < STEPS:
            self.step()
        assert self.ranks.loaders() == [self.pid]
        self.rank.stdin.write("\n")
        self.ranks.end(self.rank)
        assert self.lines == self.olddog.lines("read", self.spec, "--epochs", 3, "--digest=sample")


@pytest.fixture
def job(ranks, spec, olddog):  # noqa: F811
    return Job(ranks, spec, olddog)


def is_closed(s):
    """Waits until the loader has closed it; what came before is dropped."""
    s.settimeout(60)
    try:
        while s.recv(1 << 17):
            pass
    except ConnectionResetError:
        pass
    s.close()
    return True


def test_another_user_is_not_let_in(job, as_nobody):
    job.step()

    def knock(done):
        for _ in range(300):
            s = job.connect()
            try:
                s.send(opening(job.spec))
            except BrokenPipeError:
                pass
            assert is_closed(s)
        done()
    pid, said = as_nobody(knock)
    assert said == b"." and os.waitpid(pid, 0)[1] == 0
    assert job.n_connections() == 1
    job.end()


@pytest.mark.parametrize("backlog", [8, None], ids=["listens", "does-not-listen"])
def test_a_name_that_another_user_has_taken_is_told(ranks, spec, as_nobody, backlog):  # noqa: F811
    def squat(done):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.bind(address(ranks.job))
        if backlog:
            s.listen(backlog)
        done()
        select.select([], [], [])
    assert as_nobody(squat)[1] == b"."
    said = ranks(spec, rc=1)[2]
    assert ("another user's" if backlog else "who does not listen") in said and "set OLDDOG_JOB" in said
    assert ranks.loaders() == []


def test_a_full_door_is_waited_for_no_longer_than_asked(spec, ranks):  # noqa: F811
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.bind(address(ranks.job))
    s.listen(0)
    waiting = []
    while not waiting or waiting[-1]:
        c = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
        error = c.connect_ex(address(ranks.job))
        assert error in (0, errno.EAGAIN)
        waiting.append(c if error == 0 else None)
    with pytest.raises(package.TimedOut):
        package.Loader(spec, batch=2, job=ranks.job, timeout=0.2)
    # One that was let in and gets no answer is the same.
    s.accept()[0].close()
    with pytest.raises(package.TimedOut):
        package.Loader(spec, batch=2, job=ranks.job, timeout=0.2)


def garbage(dice, path):
    """A record of no sense; sometimes an OPEN that was changed, or what must not come before it."""
    kind = dice.randrange(5)
    if kind == 0:
        return dice.randbytes(dice.randint(1, 5000))
    if kind == 1:
        return struct.pack("<I", dice.choice([0, NEXT, RELEASE, OPENED, BATCH, FAIL, 9, 1 << 31])) + dice.randbytes(dice.randint(0, 40))
    if kind == 2:
        return opening(path)[:dice.randint(1, 60)]
    if kind == 3:
        return bytes(dice.randint(60000, 70000))
    record = bytearray(opening(path))
    record[dice.randrange(4, 20)] ^= 1 << dice.randrange(8)
    return bytes(record) + value(0x8000 | 77, b"x")


def test_garbage_ends_the_connection_that_it_came_by(job):
    dice = random.Random(7)
    reader, writer = os.pipe()
    for i in range(400):
        s = job.connect()
        files = array.array("i", [writer] * dice.randint(0, 9))
        try:
            s.sendmsg([garbage(dice, job.spec)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)] if files else [])
        except BrokenPipeError:
            pass
        s.shutdown(socket.SHUT_WR)
        assert is_closed(s)
        if i % 30 == 0:
            job.step()
    # Descriptors that came along went with them.
    os.close(writer)
    assert select.select([reader], [], [], 60)[0] and os.read(reader, 1) == b""
    os.close(reader)
    assert job.n_connections() == 1
    job.end()


def open_stranger(job):
    """A rank that is let in."""
    s = job.connect()
    s.send(opening(job.spec))
    while kind_of(s.recv(1 << 16)) != OPENED:
        pass
    return s


def take_all(s):
    """Takes batches, and gives none back, until there is no room for more."""
    kind = BATCH
    while kind == BATCH:
        s.send(struct.pack("<I", NEXT))
        record, _, _, _ = s.recvmsg(1 << 16, socket.CMSG_SPACE(4))
        kind = kind_of(record)
    assert kind == FAIL


def test_one_that_asks_and_never_reads_is_cut_off(job):
    before = job.memory_bytes()
    s = open_stranger(job)
    take_all(s)
    job.step()
    with pytest.raises((BrokenPipeError, ConnectionResetError)):
        for i in range(100000):
            s.send(struct.pack("<I", NEXT))
            if i % 1000 == 0 and job.n < STEPS - 5:
                job.step()
    assert job.memory_bytes() - before < 100 << 20
    s.close()
    job.end()


def ask_without_end(s, waits):
    """Until it is killed, or cut off."""
    s.setblocking(waits)
    while True:
        for act in (lambda: s.send(struct.pack("<I", NEXT)), lambda: s.recv(1 << 16)):
            try:
                act()
            except BlockingIOError:
                pass
            except OSError:
                os._exit(0)


@pytest.mark.parametrize("waits", [True, False], ids=["waits-for-answers", "does-not-wait"])
def test_one_that_asks_without_end_does_not_stop_the_others(job, waits):
    s = open_stranger(job)
    take_all(s)
    pid = os.fork()
    if pid == 0:
        ask_without_end(s, waits)
    try:
        job.end()
        # Who waits for its answers does nothing wrong.
        assert not waits or os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        s.close()


def test_records_without_sense_after_opening_end_it(job):
    for record in (struct.pack("<I", NEXT) * 2, struct.pack("<I", RELEASE) + value(21, struct.pack("<I", 60000)), opening(job.spec),
                   struct.pack("<I", BATCH)):
        s = open_stranger(job)
        s.send(record)
        assert is_closed(s)
        job.step()
    job.end()


def test_a_thousand_that_say_nothing_are_borne(job):
    memory = job.memory_bytes()
    strangers = [job.connect() for _ in range(1000)]
    until(lambda: job.n_connections() == 1001)
    job.step()
    assert job.memory_bytes() - memory < 64 << 20
    got = job.ranks("-n", 2, job.spec)[0]
    assert len(got) == 32
    for s in strangers:
        s.close()
    until(lambda: job.n_connections() == 1)
    job.end()


def test_strangers_do_not_take_the_descriptors_that_data_needs(job):
    resource.prlimit(job.pid, resource.RLIMIT_NOFILE, (200, 200))
    strangers = [job.connect() for _ in range(100)]
    until(lambda: job.n_connections() == 100)
    job.step()
    assert "no descriptors left" in job.ranks("-n", 2, job.spec, rc=1)[2]
    for s in strangers:
        s.close()
    until(lambda: job.n_connections() == 1)
    assert len(job.ranks("-n", 2, job.spec)[0]) == 32
    job.end()

# SPDX-License-Identifier: Apache-2.0
"""Many of everything: workers, ranks, loaders that open and close; and whoever shares a host or a job's name."""

import os
import resource
import signal
import socket
import struct
import subprocess
import uuid
from pathlib import Path

import pytest
from process_help import has_ended
from test_abuse_host import run
from test_loader import Ranks, RudeRank, ranks, spec  # noqa: F401 (fixtures)
from test_read import position


def test_hundreds_of_workers_on_few_processors(olddog, spec):  # noqa: F811
    want = olddog.lines("read", spec, "--epochs", 2, "--digest=sample")
    rc, lines, said = run(olddog, "read", spec, "--epochs", 2, "--digest=sample", "--workers", 300)
    assert (rc, lines, said) == (0, want, "")
    for n in (40, 64, 128):
        rc, lines, said = run(olddog, "read", spec, "--epochs", 2, "--digest=sample", "--workers", 300,
                              preexec_fn=lambda n=n: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)))
        assert (rc, lines, said) == (0, want, "") or (n < 128 and rc == 1 and "Too many open files" in said), said


def test_two_hundred_ranks_of_one_loader(olddog, ranks, spec):  # noqa: F811
    n = 200
    started = [ranks.start("-i", "-b", n, "-r", r, "-w", n, spec) for r in range(n)]
    for p in started:
        assert p.stdout.readline().startswith("open")
    assert len(ranks.loaders()) == 1
    lines = []
    for p in started:
        p.stdin.write("\n" * 9)
        lines += ranks.end(p)[0]
    assert sorted(lines, key=position) == olddog.lines("read", spec, "--batch", n, "--digest=sample")


def test_ranks_that_come_and_go_leave_nothing_in_their_loader(olddog, ranks, spec, sanitized):  # noqa: F811
    first = ranks.start("-i", spec)
    assert first.stdout.readline().startswith("open")
    (loader,) = ranks.loaders()

    def come_and_go(n):
        """What it has then: descriptors, kilobytes of its own, children of any state."""
        for _ in range(n):
            r = RudeRank(ranks.job)
            assert r.open(spec) == 4
            r.ask()
            assert r.answer() == 5
            r.socket.close()
        # One that waits for an answer knows that all before it are gone.
        r = RudeRank(ranks.job)
        assert r.open(spec) == 4
        r.socket.close()
        memory = [int(line.split()[1]) for line in Path(f"/proc/{loader}/status").read_text().splitlines()
                  if line.startswith("RssAnon:")]
        return len(os.listdir(f"/proc/{loader}/fd")), memory[0]

    come_and_go(10)
    fds, kilobytes = come_and_go(1)
    more_fds, more_kilobytes = come_and_go(40)
    assert more_fds <= fds + 8
    # A sanitizer keeps what was freed.
    assert sanitized or more_kilobytes <= kilobytes + 1024
    first.stdin.write("\n" * 8)
    assert ranks.end(first)[0] == olddog.lines("read", spec, "--digest=sample")


def test_a_name_that_another_user_has_taken_is_told(build, spec, ranks):  # noqa: F811
    if os.geteuid() != 0:
        pytest.skip("needs another user")
    taker = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    name = RudeRank.name_of(ranks.job)
    os.setegid(65534)
    os.seteuid(65534)
    try:
        taker.bind(name)
        taker.listen()
    finally:
        os.seteuid(0)
        os.setegid(0)
    assert "is another user's" in ranks(spec, rc=1)[2]
    taker.close()
    ranks("-n", 1, spec)


def test_jobs_of_one_name_of_two_users_do_not_meet(olddog, build, ranks, spec, tmp_path, set_shards):  # noqa: F811
    if os.geteuid() != 0:
        pytest.skip("needs another user")
    for folder in {tmp_path, *tmp_path.parents, set_shards[0], *set_shards[0].parents}:
        if not folder.stat().st_mode & 0o005:
            folder.chmod(0o755)
    want = olddog.lines("read", spec, "--digest=sample")
    mine = ranks.start("-i", spec)
    theirs = ranks.start("-i", spec, user=65534, group=65534, extra_groups=[])
    for p in (mine, theirs):
        assert p.stdout.readline().startswith("open")
    assert len(ranks.loaders()) == 2
    for p in (mine, theirs):
        p.stdin.write("\n" * 8)
        assert ranks.end(p)[0] == want


def test_jobs_of_two_names_do_not_meet(olddog, build, ranks, spec, tmp_path):  # noqa: F811
    other = Ranks(build, f"test-{uuid.uuid4()}", tmp_path / "other.log")
    started = [(r, r.start("-i", spec)) for r in (ranks, other)]
    for _, p in started:
        assert p.stdout.readline().startswith("open")
    (a,), (b,) = ranks.loaders(), other.loaders()
    assert a != b
    os.kill(a, signal.SIGKILL)
    for r, p in started:
        p.stdin.write("\n" * 8)
        assert r.end(p)[0] == olddog.lines("read", spec, "--digest=sample")


def test_a_loader_of_another_version_refuses_in_words(ranks, spec):  # noqa: F811
    first = ranks.start("-i", spec)
    assert first.stdout.readline().startswith("open")
    rude = RudeRank(ranks.job)
    rude.socket.send(struct.pack("<I", 1) + rude.value(1, struct.pack("<I", 99)) + rude.value(3, os.fsencode(spec) + b"\0"))
    said = rude.socket.recv(65536)
    assert struct.unpack("<I", said[:4])[0] == 7 and b"version" in said
    # What this version has not heard of and may not skip.
    rude = RudeRank(ranks.job)
    rude.socket.send(struct.pack("<I", 1) + rude.value(1, struct.pack("<I", 1)) + rude.value(0x9fff, b"new"))
    said = rude.socket.recv(65536)
    assert not said or b"version" in said
    first.stdin.write("\n" * 8)
    ranks.end(first)


@pytest.mark.parametrize("sig", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGQUIT])
def test_a_signal_ends_a_reader_and_its_workers(olddog, spec, tmp_path, sig):  # noqa: F811
    olddog("plan", spec, "-o", "p.plan")
    reader = olddog.start("read", "p.plan", "--epochs", 0, "--digest=sample", "--state", "state")
    assert reader.read_line()
    handles = [os.pidfd_open(p) for p in reader.children("olddog-worker")]
    # Twice, as people do.
    reader.kill(sig)
    reader.kill(sig)
    reader.popen.stdout.close()
    assert reader.popen.wait(60) != 0
    assert handles and all(map(has_ended, handles))

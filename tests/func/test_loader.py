# SPDX-License-Identifier: Apache-2.0
"""olddog-loader and libolddog: ranks that share one, that come, go and die, and a loader that is killed."""

import hashlib
import os
import re
import resource
import select
import signal
import socket
import struct
import subprocess
import uuid
from pathlib import Path

import pytest

from test_read import position, write_spec


class Ranks:
    """Ranks of one job."""

    def __init__(self, build, job, log):
        self.exe = build / "tests/func/olddog-rank"
        self.job = job
        self.log = log
        self.started = []

    def environment(self):
        env = {k: v for k, v in os.environ.items() if k not in ("SLURM_JOB_ID", "MASTER_ADDR", "MASTER_PORT")}
        for name in ("OLDDOG_JOB", "HADOOP_CONF_DIR", "HADOOP_HOME", "HADOOP_USER_NAME"):
            env.pop(name, None)
        return {**env, **({"OLDDOG_JOB": self.job} if self.job else {}), "ASAN_OPTIONS": "exitcode=99",
                "OLDDOG_LOADER_LOG": str(self.log)}

    def start(self, *args, more=(), **kw):
        p = subprocess.Popen([self.exe, *map(str, args)], env={**self.environment(), **dict(more)}, text=True, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw)
        self.started.append(p)
        return p

    def __call__(self, *args, rc=0):
        """(lines of samples, all of stdout, stderr)"""
        return self.end(self.start(*args), rc)

    def end(self, p, rc=0):
        out, err = p.communicate(timeout=120)
        assert p.returncode == rc, f"{out[-1000:]}\n{err[-3000:]}"
        assert "Sanitizer" not in err and "runtime error" not in err
        return [line for line in out.splitlines() if line.startswith("position=")], out, err

    def loaders(self):
        """Pids of this job's loaders."""
        found = {}
        for p in Path("/proc").glob("[0-9]*"):
            try:
                argv = (p / "cmdline").read_bytes().split(b"\0")
                parent = int((p / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if argv[0].endswith(b"olddog-loader") and self.job.encode() in argv:
                found[int(p.name)] = parent
        # A worker that is just being started looks like its parent.
        return [pid for pid, parent in found.items() if parent not in found]


class RudeRank:
    """A rank's connection without its manners, by wire/rankmsg.h."""

    NEXT = struct.pack("<I", 2)

    def __init__(self, job):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(60)
        self.socket.connect(self.name_of(job))

    @staticmethod
    def name_of(job):
        return f"\0olddog-{os.getuid()}-{hashlib.sha256(job.encode()).hexdigest()[:32]}".encode()

    @staticmethod
    def value(tag, value):
        return struct.pack("<HHI", tag, 0, len(value)) + value + bytes(-len(value) % 4)

    def open(self, path):
        """One epoch of one rank, all of it in one batch."""
        self.socket.send(struct.pack("<I", 1) + self.value(1, struct.pack("<I", 1)) +
                         self.value(3, os.fsencode(path) + b"\0") + self.value(7, struct.pack("<I", 1)) +
                         self.value(8, struct.pack("<Q", 1000)) + self.value(0x800c, struct.pack("<Q", 1)))
        return self.answer()

    def answer(self):
        """The type of the next record."""
        return struct.unpack("<I", self.socket.recv(65536)[:4])[0]

    def ask(self):
        self.socket.send(self.NEXT)


def ended(pid):
    """Waits for the end of a process that is no child."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], 60)[0])
    finally:
        os.close(handle)


@pytest.fixture
def ranks(build, tmp_path):
    r = Ranks(build, f"test-{uuid.uuid4()}", tmp_path / "loader.log")
    yield r
    for p in r.started:
        p.kill()
        p.communicate()
    for pid in r.loaders():
        assert ended(pid)
    assert not r.log.exists() or r.log.read_text() == ""


@pytest.fixture
def spec(set_shards, tmp_path):
    return write_spec(tmp_path, f"{set_shards[0]}/*.tar")


def test_a_rank_gets_what_read_gets(olddog, ranks, spec):
    got, out, _ = ranks(spec)
    assert got == olddog.lines("read", spec, "--digest=sample")
    assert out.startswith("open len=7\n") and "\nlen=7\n" in out and '"consumed": 100' in out


def test_a_rank_without_stdin_has_a_loader_like_any_other(olddog, ranks, spec):
    got = ranks.end(ranks.start(spec, preexec_fn=lambda: os.close(0)))[0]
    assert got == olddog.lines("read", spec, "--digest=sample")


def test_without_a_job_each_rank_has_its_own_loader(olddog, build, spec, tmp_path):
    alone = Ranks(build, None, tmp_path / "loader.log")
    assert alone(spec)[0] == olddog.lines("read", spec, "--digest=sample")


def test_ranks_of_a_job_share_one_loader(olddog, ranks, spec):
    started = [ranks.start("-i", "-r", r, "-w", 8, spec) for r in range(8)]
    for p in started:
        assert p.stdout.readline().startswith("open")
    assert len(ranks.loaders()) == 1
    lines = []
    for p in started:
        p.stdin.write("\n" * 8)
        lines += ranks.end(p)[0]
    assert sorted(lines, key=position) == olddog.lines("read", spec, "--digest=sample")


def test_ranks_with_other_rights_have_another_loader(ranks, spec):
    started = [ranks.start("-i", spec, more={"HADOOP_USER_NAME": user}) for user in ("alice", "alice", "bob")]
    for p in started:
        assert p.stdout.readline().startswith("open")
    loaders = ranks.loaders()
    users = {line for pid in loaders for line in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
             if line.startswith(b"HADOOP_USER_NAME=")}
    assert len(loaders) == 2 and users == {b"HADOOP_USER_NAME=alice", b"HADOOP_USER_NAME=bob"}


def test_a_loader_serves_several_plans_and_ends_with_its_last_rank(olddog, ranks, spec, set_shards, tmp_path):
    other = write_spec(tmp_path, f"{set_shards[0]}/0000[0-3].tar", "sequential")
    first = ranks.start("-i", spec)
    assert first.stdout.readline().startswith("open")
    (pid,) = ranks.loaders()
    assert ranks(other)[0] == olddog.lines("read", other, "--digest=sample")
    assert ranks.loaders() == [pid]
    first.stdin.write("\n" * 8)
    assert ranks.end(first)[0] == olddog.lines("read", spec, "--digest=sample")
    assert ended(pid)


def test_a_killed_loader_is_started_again_at_the_same_place(olddog, ranks, spec):
    rank = ranks.start("-i", "-e", 2, spec)
    assert rank.stdout.readline().startswith("open")
    seen = []
    for round in range(5):
        rank.stdin.write("\n")
        rank.stdin.flush()
        seen += [rank.stdout.readline().rstrip("\n") for _ in range(16)]
        if round % 2 == 0:
            for pid in ranks.loaders():
                os.kill(pid, signal.SIGKILL)
    rank.stdin.write("\n" * 20)
    rest, out, _ = ranks.end(rank)
    assert seen + rest == olddog.lines("read", spec, "--epochs", 2, "--digest=sample")
    assert '"consumed": 200' in out


def test_a_rank_that_dies_takes_nothing_from_the_others(olddog, ranks, spec):
    doomed = ranks.start("-i", "-H", "-r", 0, "-w", 2, "-e", 0, spec)
    other = ranks.start("-i", "-r", 1, "-w", 2, spec)
    for p in (doomed, other):
        assert p.stdout.readline().startswith("open")
    doomed.stdin.write("\n\n\n")
    doomed.stdin.flush()
    for _ in range(8):
        assert doomed.stdout.readline().startswith("position=")
    doomed.kill()
    other.stdin.write("\n" * 8)
    rest = ranks.end(other)[0]
    again = ranks("-r", 0, "-w", 2, spec)[0]
    assert sorted(rest + again, key=position) == olddog.lines("read", spec, "--digest=sample")


def test_a_state_goes_on_with_other_ranks(olddog, ranks, spec):
    first, out, _ = ranks("-n", 2, "-e", 3, spec)
    state = re.search(r"^state=(.*)$", out, re.MULTILINE).group(1)
    second = [ranks("-n", 2, "-r", r, "-w", 3, "-e", 3, "-s", state, spec) for r in range(3)]
    state = re.search(r"^state=(.*)$", second[0][1], re.MULTILINE).group(1)
    third = ranks("-e", 3, "-s", state, spec)[0]
    lines = first + sorted(sum((s[0] for s in second), []), key=position) + third
    assert lines == olddog.lines("read", spec, "--epochs", 3, "--digest=sample")


def test_a_state_of_another_order_or_other_fields_is_told(ranks, spec, set_shards, tmp_path):
    out = ranks("-n", 1, spec)[1]
    state = re.search(r"^state=(.*)$", out, re.MULTILINE).group(1)
    other = write_spec(tmp_path, f"{set_shards[0]}/*.tar", "sequential")
    said = ranks("-s", state, other, rc=1)[2]
    assert "-1010" in said and "other data, seed or shuffle" in said
    assert "other fields or transforms" in ranks("-n", 1, "-s", state, "-f", "label", spec)[2]


def test_fields_and_transforms_are_chosen_by_the_rank(olddog, ranks, spec, tmp_path):
    chain = "{resize: 40, center_crop: 32, dtype: uint8, layout: hwc}"
    got = ranks("-n", 2, "-f", "label", "-f", "image", "-t", chain, spec)[0]
    text = spec.read_text().replace("random_resized_crop: 64, hflip: 0.5, normalize: imagenet, dtype: float32, "
                                    "layout: chw", "resize: 40, center_crop: 32, dtype: uint8, layout: hwc")
    same = tmp_path / "same.yaml"
    same.write_text(text)
    assert got == olddog.lines("read", same, "--samples", 32, "-f", "label", "-f", "image", "--digest=sample")
    assert "no field" in ranks("-f", "nothing", spec, rc=1)[2]


def test_batches_that_are_all_held_end_in_words(ranks, spec):
    got, _, said = ranks("-H", "-e", 0, "-m", 8 << 20, spec, rc=1)
    assert str(-105) in said and "release some, or raise the limit" in said and str(8 << 20) in said
    assert len(got) > 32


def test_a_rank_that_does_not_read_is_cut_off(olddog, ranks, spec):
    other = ranks.start("-i", spec)
    assert other.stdout.readline().startswith("open")
    rude = RudeRank(ranks.job)
    assert rude.open(spec) == 4
    rude.ask()
    assert rude.answer() == 5
    with pytest.raises((ConnectionError, BrokenPipeError)):
        for _ in range(20000):
            rude.ask()
    other.stdin.write("\n" * 8)
    assert ranks.end(other)[0] == olddog.lines("read", spec, "--digest=sample")


def test_a_loader_without_descriptors_says_so(olddog, ranks, spec):
    n = 100
    first = ranks.start("-i", spec, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)))
    assert first.stdout.readline().startswith("open")
    rude = [RudeRank(ranks.job) for _ in range(n)]
    assert "no descriptors left" in ranks(spec, rc=1)[2]
    for r in rude:
        r.socket.close()
    first.stdin.write("\n" * 8)
    ranks.end(first)
    assert ranks(spec)[0] == olddog.lines("read", spec, "--digest=sample")


@pytest.mark.parametrize("times", [1, 1000])
def test_a_loader_that_is_killed_while_it_starts_is_one_that_ended(olddog, build, ranks, spec, tmp_path, monkeypatch, times):
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "olddog-worker").symlink_to(build / "olddog-worker")
    (programs / "olddog-loader").write_text(f"""#!/bin/sh
echo >> '{programs}/starts'
[ $(wc -l < '{programs}/starts') -gt {times} ] || kill -9 $$
exec '{build}/olddog-loader' "$@"
""")
    (programs / "olddog-loader").chmod(0o755)
    monkeypatch.setenv("OLDDOG_LIBEXEC", str(programs))
    if times == 1:
        assert ranks(spec)[0] == olddog.lines("read", spec, "--digest=sample")
    else:
        assert "was killed before it listened" in ranks(spec, rc=1)[2]


def test_a_forked_child_is_refused(ranks, spec):
    out = ranks("-n", 2, "-H", "-F", spec)[1]
    assert "child=refused words=this loader belongs to process" in out


def test_what_cannot_be_opened_is_told(ranks, tmp_path):
    said = ranks(tmp_path / "nothing.plan", rc=1)[2]
    assert "nothing.plan" in said


def test_pictures_of_all_sizes_come_padded(olddog, ranks, media, tmp_path):
    spec = tmp_path / "sizes.yaml"
    spec.write_text(f"sources: [{{data: '{media}/set'}}]\nfields:\n  jpg: {{from: [jpg], collate: pad}}\nbatch: 8\n")
    assert ranks("-n", 3, spec)[0] == olddog.lines("read", media / "set", "--samples", 24, "--digest=sample")

# SPDX-License-Identifier: Apache-2.0
"""Hosts that are against us: quotas, memory limits, full and read-only file systems, bare containers, system calls that are
refused, other users. What is needed of the kernel (root, control groups, namespaces) and is not there is a named skip."""

import os
import subprocess
import uuid
from pathlib import Path

import pytest
from test_loader import ranks, spec  # noqa: F401 (fixtures)

V1 = Path("/sys/fs/cgroup")


class Group:
    """A control group of this test, of version 1."""

    def __init__(self, controller):
        self.path = V1 / controller / f"olddog-test-{uuid.uuid4()}"

    def __getitem__(self, name):
        return (self.path / name).read_text()

    def __setitem__(self, name, value):
        (self.path / name).write_text(str(value))

    def enter(self):
        """For preexec_fn: what is started then is in it."""
        (self.path / "cgroup.procs").write_text("0")


@pytest.fixture
def group():
    """group(controller): a new one, removed with the test."""
    made = []

    def make(controller):
        g = Group(controller)
        try:
            g.path.mkdir()
        except OSError as e:
            pytest.skip(f"no control group of version 1 can be made for {controller}: {e}")
        made.append(g)
        return g
    yield make
    for g in made:
        for pid in g["cgroup.procs"].split():
            os.kill(int(pid), 9)
        while g["cgroup.procs"]:
            pass
        g.path.rmdir()


def run(olddog, *args, argv=(), **kw):
    """(exit code, lines of stdout, stderr) of olddog behind argv, such as a program that restricts it."""
    p = subprocess.run([*map(str, argv), str(olddog.exe), *map(str, args)], stdin=subprocess.DEVNULL, capture_output=True,
                       cwd=olddog.cwd, timeout=240, text=True, errors="replace", **kw)
    return p.returncode, p.stdout.splitlines(), p.stderr


# Processors.

def workers_in(olddog, spec, before):  # noqa: F811
    reader = subprocess.Popen([olddog.exe, "read", spec, "--epochs", "0", "--digest=sample"], preexec_fn=before,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=olddog.cwd)
    try:
        assert reader.stdout.readline()
        # It waits to be read, and had work for all that it may start.
        children = Path(f"/proc/{reader.pid}/task/{reader.pid}/children").read_text().split()
        return len(children)
    finally:
        reader.kill()
        reader.communicate()


def test_workers_are_as_many_as_processors_may_be_used(olddog, spec, group):  # noqa: F811
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one processor")
    cpu = group("cpu")
    if not (cpu.path / "cpu.cfs_quota_us").exists():
        pytest.skip("a kernel without CONFIG_CFS_BANDWIDTH")
    cpu["cpu.cfs_period_us"] = 100000
    cpu["cpu.cfs_quota_us"] = 90000
    inner = Group("cpu")
    inner.path = cpu.path / "inner"
    inner.path.mkdir()
    try:
        assert workers_in(olddog, spec, inner.enter) == 1
    finally:
        while inner["cgroup.procs"]:
            pass
        inner.path.rmdir()
    one = min(os.sched_getaffinity(0))
    assert workers_in(olddog, spec, lambda: os.sched_setaffinity(0, {one})) == 1
    assert workers_in(olddog, spec, None) > 1

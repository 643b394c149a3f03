# SPDX-License-Identifier: Apache-2.0
"""The active one of two NameNodes goes away under a reader, a writer and many calls: the other takes over, none fails."""

import json
import os
import signal

import pytest
from conftest import BUILD, Process, _environment
from fault_help import BLOCK, CHUNK, KEY, SIZE, far_env
from hdfs_help import folder_in, wait_for
from ops_help import Io, stream


@pytest.fixture
def pair(hdfs_ha, request):
    """A folder of a pair whose first NameNode is the active one."""
    if hdfs_ha.active() != "nn1":
        hdfs_ha.activate("nn1")
        wait_for("no safe mode", hdfs_ha.is_writable)
    with folder_in(hdfs_ha, request) as f:
        yield f
        # One that was stopped would go on as the active one beside the other, and there is no fencing here.
        if hdfs_ha.active() != "nn1" and hdfs_ha.is_up("nn1"):
            hdfs_ha.kill("nn1")
        hdfs_ha.heal()


def take_over(cluster, how):
    getattr(cluster, how)("nn1")
    cluster.activate("nn2")


@pytest.mark.parametrize("verb", ["read", "write"])
@pytest.mark.parametrize("how", ["kill", "pause"])
def test_another_namenode_takes_over(pair, tmp_path, verb, how):
    env = far_env(pair.cluster, tmp_path / "far", dfs__client__read__prefetch__size=BLOCK,
                  dfs__client__max__block__acquire__failures=300)
    if verb == "read":
        pair.put("x", stream(KEY, 0, SIZE), blocksize=BLOCK)
    with Io(verb, pair.url("x"), KEY, SIZE, CHUNK, 3, BLOCK, env=env) as io:
        io.to(SIZE // 2)
        io.strikes(SIZE)
        if verb == "read":  # so that it must ask where blocks are
            for dn in pair.cluster.dns:
                pair.cluster.kill(dn)
        take_over(pair.cluster, how)
        for dn in pair.cluster.dns if verb == "read" else ():
            pair.cluster.up(dn, wait=False)
        io.end()
        io.recovered("nn_failovers")
    if how == "pause":  # WebHDFS would wait for it
        pair.cluster.kill("nn1")
    assert pair.get("x") == stream(KEY, 0, SIZE)


@pytest.mark.parametrize("how", ["kill", "pause"])
@pytest.mark.parametrize("verb", ["stat", "rename"])
def test_many_calls_go_on_at_the_other(pair, verb, how):
    """
    A rename that were executed twice, or never, would fail. A NameNode that becomes active lets calls in before it has replayed
    the last edits, and so before it knows which calls were answered (state set, then edits read, both under the lock that the
    call waits for behind the look into the retry cache): repeated in that moment, what was done is done again, whoever the
    client is. So renames stand still until it is active.
    """
    n = 3000
    pair.put("x", b"x")
    argv = [BUILD / "tests/func/hdfs-calls", pair.cluster.name, verb, pair.path("x" if verb == "stat" else ""), n, 32]
    p = Process([str(a) for a in argv], _environment(pair.env), None)
    try:
        assert p.read_line() == "begun\n"
        if verb == "rename":
            os.kill(p.pid, signal.SIGSTOP)
        take_over(pair.cluster, how)
        os.kill(p.pid, signal.SIGCONT)
        code, out, err = p.wait()
    finally:
        if p.popen.poll() is None:
            p.end()
    said = json.loads(out.splitlines()[-1])
    assert code == 0 and said["failed"] == 0 and said["n"] == n, (said, err)
    assert said["nn_failovers"] > 0 and said["nn_calls"] > n
    if verb == "rename":
        assert pair.names() == ["x"]

# SPDX-License-Identifier: Apache-2.0
"""What goes wrong under a writer of HDFS, in the middle: each fault strikes, and a named recovery has run."""

import resource

import hdfs_process
import pytest
from fault_help import BLOCK, SIZE, WRITE_RECOVERIES, far_env, is_whole, put, write

MIDDLE = 4 * BLOCK + BLOCK // 2  # of a block


@pytest.fixture
def far(hdfs_faulty, tmp_path):
    return far_env(hdfs_faulty, tmp_path / "far")


def block_of(folder):
    """The one that is being written: its file has another name until it is whole."""
    name, = (n for n in folder.names() if n.startswith(".olddog-tmp") or (n == "x" and len(folder.names()) == 1))
    return folder.blocks(name)[-1]


def pipeline(folder, io):
    """DataNodes of the block that is being written; whom the writer talks to first."""
    nodes = block_of(folder)["dns"]
    first = [dn for dn in io.peers(folder.cluster) if dn in nodes]
    assert len(first) == 1, (first, nodes)
    return first + [dn for dn in nodes if dn != first[0]]


@pytest.mark.parametrize("replicas, at", [(2, 0), (2, 1), (3, 0), (3, 1)])
def test_a_datanode_is_killed_under_a_writer(faulty_dir, far, replicas, at):
    with write(faulty_dir, far, replicas=replicas) as io:
        io.to(MIDDLE)
        io.strikes(SIZE)
        faulty_dir.cluster.kill(pipeline(faulty_dir, io)[at])
        io.end()
        io.recovered("pipeline_updates")
        assert io.counters["bytes_written"] == SIZE
    is_whole(faulty_dir)


@pytest.mark.parametrize("at", [0, 1])
def test_a_datanode_stops_under_a_writer(faulty_dir, far, at, request):
    if at:
        request.getfixturevalue("full")  # it is waited for, for as long as Hadoop does
    with write(faulty_dir, far, replicas=2) as io:
        io.to(MIDDLE)
        io.strikes(SIZE)
        stopped = pipeline(faulty_dir, io)[at]
        faulty_dir.cluster.pause(stopped)
        io.end()
        io.recovered("pipeline_updates")
    faulty_dir.cluster.resume(stopped)
    is_whole(faulty_dir)


def test_the_only_datanode_of_a_block_is_killed(faulty_dir, far):
    with write(faulty_dir, far, replicas=1) as io:
        io.to(MIDDLE)
        io.strikes(SIZE)
        faulty_dir.cluster.kill(pipeline(faulty_dir, io)[0])
        assert "the last DataNode of the pipeline failed" in io.end(rc=1)
        assert io.counters["bytes_written"] < SIZE


@pytest.mark.parametrize("at", [0, 1])
def test_another_datanode_takes_the_place_of_one_that_failed(faulty_dir, far, at):
    """What was flushed is to stay on three: the fourth gets a copy of the block so far, from one of those that are left."""
    with write(faulty_dir, far) as io:
        io.to(MIDDLE)
        io.say("flush")
        io.to(MIDDLE + BLOCK // 8)
        io.strikes(SIZE)
        nodes = pipeline(faulty_dir, io)
        block = block_of(faulty_dir)["id"]
        faulty_dir.cluster.kill(nodes[at])
        io.end()
        io.recovered("pipeline_additions")
        io.recovered("pipeline_updates")
    new, = set(faulty_dir.cluster.dns) - set(nodes)
    assert faulty_dir.cluster.replicas(block, new)
    is_whole(faulty_dir)


def test_datanodes_go_away_one_after_the_other(faulty_dir, far):
    cluster = faulty_dir.cluster
    with write(faulty_dir, far) as io:
        io.to(BLOCK + BLOCK // 2)
        for i in range(3):
            io.strikes(SIZE)
            dn = pipeline(faulty_dir, io)[min(i, 1)]
            cluster.kill(dn)
            io.on(BLOCK)
            io.strikes(SIZE)
            assert io.counters["pipeline_updates"] > i
            cluster.up(dn)
        io.end()
    is_whole(faulty_dir)


def test_a_datanode_goes_away_under_an_append(faulty_dir, far):
    put(faulty_dir)
    with write(faulty_dir, far, verb="append") as io:
        io.begun = SIZE
        io.to(SIZE + BLOCK // 2)
        io.strikes(SIZE)
        faulty_dir.cluster.kill(pipeline(faulty_dir, io)[1])
        io.end()
        assert io.counters["pipeline_updates"] >= 2  # one is the append's own
    is_whole(faulty_dir, 2 * SIZE)


@pytest.fixture
def full_volumes(hdfs_faulty):
    """Gives a function after which a DataNode's files cannot grow; undone at the end."""
    def fill(dn, n=BLOCK // 2):
        pid = hdfs_process.pid_of(hdfs_faulty.record(dn))
        before[pid] = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (n, before[pid][1]))
    before = {}
    yield fill
    for pid, limits in before.items():
        try:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, limits)
        except ProcessLookupError:
            pass  # one that takes its volume for broken ends; it is started again


def test_a_volume_that_is_full_is_left_out(faulty_dir, far, full_volumes):
    with write(faulty_dir, far) as io:
        io.to(MIDDLE - BLOCK // 4)
        io.strikes(SIZE)
        full_volumes(pipeline(faulty_dir, io)[1])
        io.end()
        io.recovered("pipeline_updates")
    is_whole(faulty_dir)


def test_volumes_that_are_all_full_are_an_error(faulty_dir, far, full_volumes):
    with write(faulty_dir, far) as io:
        io.to(SIZE // 4)
        io.strikes(SIZE)
        for dn in faulty_dir.cluster.dns:
            full_volumes(dn)
        assert "/x" in io.end(rc=1)
        io.recovered(*WRITE_RECOVERIES)


def test_a_quota_is_an_error_that_says_so(faulty_dir, far):
    faulty_dir.cluster.admin("-setSpaceQuota", 6 * BLOCK, faulty_dir.path())
    with write(faulty_dir, far, replicas=1) as io:
        assert "quota" in io.end(rc=1).lower()
        assert 0 < io.counters["bytes_written"] < SIZE


def test_a_namenode_is_started_again_under_a_writer(faulty_dir, tmp_path):
    patient = far_env(faulty_dir.cluster, tmp_path / "patient", ipc__client__connect__max__retries=300)
    with write(faulty_dir, patient) as io:
        io.to(MIDDLE)
        io.strikes(SIZE)
        faulty_dir.cluster.kill("nn1")
        faulty_dir.cluster.up("nn1", wait=False)
        io.end()
        # As often as it was not quite there yet; a call is repeated only if one was under way.
        assert io.counters["nn_connects"] >= 2
    is_whole(faulty_dir)

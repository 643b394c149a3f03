# SPDX-License-Identifier: Apache-2.0
"""What goes wrong under a reader of HDFS, in the middle: each fault strikes, and a named recovery has run."""

import pytest
from fault_help import BLOCK, KEY, READ_RECOVERIES, SIZE, far_env, put, read
from hdfs_help import flip, wait_for
from ops_help import stream


@pytest.fixture
def far(hdfs_faulty, tmp_path):
    return far_env(hdfs_faulty, tmp_path / "far")


@pytest.fixture
def there(faulty_dir):
    """A file of eight blocks and a bit, three replicas each on four DataNodes."""
    put(faulty_dir)
    return faulty_dir


def hurt_readers_node(there, io, hurt, heal, counters):
    """Hurts two of three nodes; the two before are well again if the reader did not notice: it likes the third then."""
    a, b, c = there.blocks("x")[0]["dns"]
    for pair in ((a, b), (c, a)):
        io.strikes(SIZE)
        for dn in pair:
            hurt(dn)
        io.on(SIZE // 4)
        if any(io.count()[name] for name in counters):
            return
        for dn in pair:
            heal(dn)
    raise AssertionError(f"no DataNode was missed: {io.counters}")


@pytest.mark.parametrize("how", ["kill", "pause"])
def test_datanodes_go_away_under_a_reader(faulty_dir, far, how):
    put(faulty_dir, block=16 * BLOCK)
    cluster = faulty_dir.cluster
    hurt, heal = (cluster.kill, cluster.up) if how == "kill" else (cluster.pause, cluster.resume)
    with read(faulty_dir, far) as io:
        io.to(SIZE // 8)
        hurt_readers_node(faulty_dir, io, hurt, heal, ["failed_reads"] if how == "kill" else ["hedge_wins"])
        io.end()
        io.recovered("dead_nodes" if how == "kill" else "hedge_wins")
        assert io.counters["bytes_read"] >= SIZE


@pytest.mark.parametrize("what", ["datanodes", "everything"])
def test_all_nodes_go_away_and_come_back(there, tmp_path, what):
    cluster = there.cluster
    nodes = cluster.dns if what == "datanodes" else [*cluster.nns, *cluster.dns]
    patient = far_env(cluster, tmp_path / "patient", dfs__client__max__block__acquire__failures=300,
                      ipc__client__connect__max__retries=300)
    with read(there, patient) as io:
        io.to(SIZE // 4)
        io.strikes(SIZE)
        for node in nodes:
            cluster.kill(node)
        for node in nodes:
            cluster.up(node, wait=False)
        io.end()
        io.recovered("failed_reads")
        io.recovered("refetches")
        assert io.counters["nn_connects"] == 1 or what == "everything"


def test_the_only_replica_is_gone(faulty_dir, far):
    put(faulty_dir, replication=1)
    with read(faulty_dir, far) as io:
        io.to(SIZE // 4)
        io.strikes(SIZE)
        faulty_dir.cluster.kill(faulty_dir.blocks("x")[-1]["dns"][0])
        said = io.end(rc=1)
        assert "/x" in said and io.counters["refetches"] > 0 and 0 < io.counters["bytes_read"] < SIZE


def bad_replicas(folder):
    """Two replicas of each block; the good one is on another node each time."""
    for i, block in enumerate(folder.blocks("x")):
        replicas = sorted(folder.cluster.replicas(block["id"]).items())
        assert len(replicas) == 3
        del replicas[i % 3]
        yield from (path for _, path in replicas)


@pytest.mark.parametrize("where", ["far", "local"])
@pytest.mark.parametrize("what", ["block", "meta"])
def test_bad_replicas_are_found_and_others_read(there, far, where, what):
    moved = "bytes_read" if where == "far" else "bytes_local"
    with read(there, far if where == "far" else there.env) as io:
        io.to(SIZE // 8)
        io.strikes(SIZE)
        for path in bad_replicas(there):
            flip(path if what == "block" else there.cluster.meta_of(path), 7 + path.stat().st_size // 300, 0x04)
        io.end()
        io.recovered("bad_checksums")
        assert io.counters[moved] > 0


@pytest.mark.parametrize("where", ["far", "local"])
def test_bytes_that_are_bad_everywhere_are_an_error(there, far, tmp_path, where):
    near = far_env(there.cluster, tmp_path / "near", dfs__client__read__shortcircuit="true")
    with read(there, far if where == "far" else near) as io:
        io.to(SIZE // 4)
        io.strikes(SIZE)
        for path in there.cluster.replicas(there.blocks("x")[5]["id"]).values():
            flip(path, 5000)
        said = io.end(rc=1)
        assert "differ from their checksum" in said
        assert io.counters["bad_checksums"] >= 3 and io.counters["refetches"] > 0


def test_lost_replicas_are_read_elsewhere(there, far):
    with read(there, far) as io:
        io.to(SIZE // 8)
        io.strikes(SIZE)
        for path in bad_replicas(there):
            there.cluster.meta_of(path).unlink()
            path.unlink()
        io.end()
        io.recovered("failed_reads")


def no_replicas(there):
    """Those of a file that was deleted are, in a while."""
    for dn in there.cluster.dns:
        wait_for(f"no replicas on {dn}", lambda dn=dn: not any(
            there.cluster.replicas(block, dn) for block in there.old), 60)


def test_a_file_that_is_deleted_under_its_reader(there, far):
    there.old = [b["id"] for b in there.blocks("x")]
    with read(there, far) as io:
        io.to(SIZE // 4)
        io.strikes(SIZE)
        assert there.cluster.web("DELETE", there.path("x"), "DELETE")[0] == 200
        no_replicas(there)
        said = io.end(rc=1)
        assert "/x" in said and io.counters["refetches"] > 0 and io.counters["bytes_read"] < SIZE


def test_a_file_that_is_written_anew_under_its_reader(there, far):
    there.old = [b["id"] for b in there.blocks("x")]
    with read(there, far) as io:
        io.to(SIZE // 4)
        io.strikes(SIZE)
        there.put("x", stream(KEY + 1, 0, SIZE), blocksize=BLOCK)
        no_replicas(there)
        said = io.end(rc=1)
        assert "changed" in said and io.counters["bytes_read"] < SIZE

# SPDX-License-Identifier: Apache-2.0
"""The clusters of the other tests: that faults are what they claim to be, and that nothing outlives its run."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import hdfs_process
from hdfs_help import flip, native_client, wait_for

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


def content(n, seed=1):
    return random.Random(seed).randbytes(n)


def test_peers_see_each_others_files(hdfs, hdfs_dir, tmp_path):
    data = content(3_000_000)
    hdfs_dir.put("web", data, blocksize=1 << 20, replication=2)
    client = native_client(hdfs)
    with client.create(hdfs_dir.path("native")) as f:
        f.write(data)
    (tmp_path / "shell").write_bytes(data)
    hdfs.fs("-put", tmp_path / "shell", hdfs_dir.url("shell"))
    for name in ("web", "native", "shell"):
        assert hdfs_dir.get(name) == data
        with client.read(hdfs_dir.path(name)) as f:
            assert bytes(f.read()) == data
    assert hdfs.fs("-cat", *map(hdfs_dir.url, ("web", "native")), text=False).stdout == 2 * data
    assert [(b["offset"], len(b["dns"])) for b in hdfs_dir.blocks("web")] == [(0, 2), (1 << 20, 2), (2 << 20, 2)]


def test_local_replicas_are_given_by_descriptor(hdfs, hdfs_dir):
    hdfs_dir.put("x", content(100_000))
    block = hdfs_dir.blocks("x")[0]
    hdfs.fs("-cat", hdfs_dir.url("x"), text=False)
    assert any(f"op: REQUEST_SHORT_CIRCUIT_FDS, blockid: {block['id']}" in hdfs.log(dn) for dn in block["dns"])


def test_a_killed_datanode_is_known_to_be_dead_and_comes_back(hdfs_faulty, faulty_dir):
    data = content(1_000_000)
    faulty_dir.put("x", data, replication=3)
    hdfs_faulty.kill("dn1")
    wait_for("dn1 dead", lambda: hdfs_faulty.live() == ["dn2", "dn3", "dn4"])
    assert faulty_dir.get("x") == data
    hdfs_faulty.up("dn1")
    assert hdfs_faulty.live() == ["dn1", "dn2", "dn3", "dn4"]


def test_a_flipped_bit_is_in_one_replica_only(hdfs_faulty, faulty_dir):
    data = content(200_000)
    faulty_dir.put("x", data, replication=3)
    replicas = hdfs_faulty.replicas(faulty_dir.blocks("x")[0]["id"])
    good, bad, _ = sorted(replicas)
    flip(replicas[bad], 77_777)
    assert replicas[good].read_bytes() == data and replicas[bad].read_bytes() != data
    assert hdfs_faulty.meta_of(replicas[bad]).read_bytes() == hdfs_faulty.meta_of(replicas[good]).read_bytes()
    assert faulty_dir.get("x") == data


def test_the_other_namenode_takes_over(hdfs_ha):
    hdfs_ha.web("PUT", "/x", "CREATE", body=b"kept")
    assert hdfs_ha.active() == "nn1"
    hdfs_ha.kill("nn1")
    hdfs_ha.activate("nn2")
    assert hdfs_ha.active() == "nn2" and hdfs_ha.web("GET", "/x", "OPEN") == (200, b"kept")


OWNER = """
import sys
sys.path.insert(0, sys.argv[1])
import hdfs_process as process
folder = process.root() / process.own_name() / "x"
for part in ("pid", "log"):
    (folder / part).mkdir(parents=True)
process.spawn(folder / "pid/dn1", ["sleep", "1000"], None, folder / "log/dn1")
print(folder.parent, process.pid_of(folder / "pid/dn1"), flush=True)
sys.stdin.read()
"""


def test_what_a_killed_run_left_is_ended_by_the_next(tmp_path):
    owners = [subprocess.Popen([sys.executable, "-c", OWNER, SCRIPTS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
              for _ in range(2)]
    folders, pids = zip(*(owner.stdout.readline().split() for owner in owners))
    killed, lives = owners
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    try:
        hdfs_process.sweep()
        # Another test's sweep may have been faster, or be under way.
        wait_for("the killed one's folder gone", lambda: not Path(folders[0]).exists(), 60)
        assert hdfs_process.start_time(int(pids[0])) is None
        assert Path(folders[1]).exists() and hdfs_process.start_time(int(pids[1])) is not None
    finally:
        lives.communicate()
        hdfs_process.remove(Path(folders[1]))
    assert hdfs_process.start_time(int(pids[1])) is None


def test_a_record_of_another_process_is_not_killed(tmp_path):
    record = tmp_path / "dn1"
    record.write_text(f"{os.getpid()} 12345\n")  # our pid, but of somebody who began at another time
    assert hdfs_process.pid_of(record) is None
    hdfs_process.end([record])

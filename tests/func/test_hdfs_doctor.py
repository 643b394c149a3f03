# SPDX-License-Identifier: Apache-2.0
"""olddog doctor on real clusters: healthy ones and broken ones, each fault told where it is, nothing changed by asking."""

import json
import socket

import pytest
from hdfs_help import wait_for

TIMEOUT = 5


def doctor(olddog, url, rc=0, env=None, timeout=TIMEOUT):
    """topic -> [(grade, words)]."""
    done = olddog("doctor", "--json", "--timeout", timeout, url, rc=rc, env=env)
    (report,) = json.loads(done.stdout)
    found = {}
    for line in report["lines"]:
        found.setdefault(line["topic"], []).append((line["grade"], line["words"]))
    grades = [line["grade"] for line in report["lines"]]
    assert (rc == 1) == ("fail" in grades) == (report["grade"] == "fail")
    return found


def one(found, topic):
    (line,) = found[topic]
    return line


def wait_replicas(folder, name, n):
    """A file is closed when one replica is there."""
    wait_for(f"{n} replicas of {name}", lambda: all(len(b["dns"]) == n for b in folder.blocks(name)))


def refuses(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) != 0


def kill(cluster, node):
    """Its sockets may live a little longer than its first thread."""
    cluster.kill(node)
    wait_for(f"{node} refuses", lambda: refuses(cluster.port(node)))


def test_a_healthy_cluster(olddog, hdfs, hdfs_dir):
    hdfs_dir.put("a/x", b"x" * 100_000, blocksize=1 << 16, replication=3)
    wait_replicas(hdfs_dir, "a/x", 3)
    before = hdfs_dir.status("a/x")
    found = doctor(olddog, hdfs_dir.url(), env=hdfs_dir.env)
    assert not {"warn", "fail"} & {grade for lines in found.values() for grade, _ in lines}, found
    assert one(found, "configuration") == ("ok", f"{hdfs.conf} (HADOOP_CONF_DIR): core-site.xml, hdfs-site.xml")
    assert "answers, alone (no HA), in " in one(found, "namenode")[1] and "safe mode off" in one(found, "namenode")[1]
    assert one(found, "login")[1].startswith("olddog by HADOOP_USER_NAME")
    assert one(found, "path")[1].startswith(f"{hdfs_dir.path()} is a folder, rwxrwxrwx, of ")
    assert one(found, "read") == one(found, "write") == ("ok", "olddog may")
    grade, words = one(found, "datanode")
    assert grade == "ok" and words.startswith(f"3 of 3 that have blocks of {hdfs_dir.path('a/x')} connect by address")
    assert one(found, "local reads")[1].startswith("can: ")
    assert one(found, "more replicas")[1].startswith("can: ")
    assert one(found, "datanodes")[0] == "note"  # for the superuser only
    found = doctor(olddog, hdfs_dir.url("a/x"), env={**hdfs_dir.env, "HADOOP_USER_NAME": "hdfs"})
    assert one(found, "datanodes")[1].startswith("3 live, 0 dead")
    assert one(found, "path")[1].startswith(f"{hdfs_dir.path('a/x')} is a file of 100.0 kB, ")
    assert {**hdfs_dir.status("a/x"), "accessTime": 0} == {**before, "accessTime": 0}


def test_lines_for_people(olddog, hdfs_dir):
    lines = olddog("doctor", hdfs_dir.url(), env=hdfs_dir.env).stdout.splitlines()
    assert all(line.split()[0] in ("ok", "note", "warn", "fail") and line.split()[1][-1] in ":abcdefghijklmnopqrstuvwxyz"
               for line in lines)
    assert any(line.startswith("ok    namenode:") for line in lines)


def test_what_is_there_for_whom(olddog, hdfs, hdfs_dir):
    assert one(doctor(olddog, hdfs_dir.url("nope"), rc=1, env=hdfs_dir.env), "path")[0] == "fail"
    hdfs.web_json("PUT", hdfs_dir.path("own"), "MKDIRS", permission="700")
    hdfs_dir.put("own/x", b"x")
    eve = {**hdfs_dir.env, "HADOOP_USER_NAME": "eve"}
    found = doctor(olddog, hdfs_dir.url("own"), rc=1, env=eve)
    grade, words = one(found, "read")
    assert grade == "fail" and "eve may not" in words and "rwx------, of olddog:" in words
    assert one(found, "write")[0] == "note" and one(found, "datanode")[0] == "note"
    grade, words = one(doctor(olddog, hdfs_dir.url("own/x"), rc=1, env=eve), "path")
    assert grade == "fail" and words.startswith("eve may not look at ")


def test_quota_and_erasure_coding(olddog, hdfs, hdfs_dir):
    hdfs.web_json("PUT", hdfs_dir.path("small"), "MKDIRS", permission="777")
    hdfs.admin("-setQuota", 2, hdfs_dir.path("small"))
    hdfs.admin("-setSpaceQuota", "1g", hdfs_dir.path("small"))
    hdfs_dir.put("small/x", b"x")
    found = doctor(olddog, hdfs_dir.url("small"), env=hdfs_dir.env)
    assert found["quota"][0] == ("warn", "2 of 2 names used")
    assert found["quota"][1] == ("ok", "3 bytes of 1.1 GB used, counted with replicas")
    hdfs.web_json("PUT", hdfs_dir.path("coded"), "MKDIRS", permission="777")
    hdfs.client("tools.ECAdmin", "-enablePolicy", "-policy", "XOR-2-1-1024k", user="hdfs")
    hdfs.client("tools.ECAdmin", "-setPolicy", "-path", hdfs_dir.path("coded"), "-policy", "XOR-2-1-1024k", user="hdfs")
    grade, words = one(doctor(olddog, hdfs_dir.url("coded"), env=hdfs_dir.env), "erasure code")
    assert grade == "warn" and "has the policy XOR-2-1-1024k" in words


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@pytest.mark.parametrize("where, words", [
    ("nowhere.invalid", "the name nowhere.invalid does not resolve on this host"),
    ("127.0.0.1:{free}", "nobody listens there"),
    ("127.0.0.1:{web}", "speaks no Hadoop RPC"),
    ("127.0.0.1:{data}", "closes it without an answer"),
    ("127.0.0.1:{mute}", "does not answer in 1000 ms"),
])
def test_what_is_no_namenode(olddog, hdfs, where, words):
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        where = where.format(free=free_port(), web=hdfs.port("nn1", "http"), data=hdfs.port("dn1"), mute=mute.getsockname()[1])
        grade, said = one(doctor(olddog, f"hdfs://{where}/", rc=1, env=hdfs.env(), timeout=1), "namenode")
        assert grade == "fail" and words in said


def test_no_configuration(olddog, hdfs, tmp_path):
    env = {"HADOOP_CONF_DIR": None, "HADOOP_HOME": None, "HADOOP_USER_NAME": "olddog"}
    found = doctor(olddog, f"hdfs://127.0.0.1:{hdfs.port('nn1')}/", env=env)
    assert one(found, "configuration")[0] == "warn" and one(found, "namenode")[0] == "ok"
    assert found["configuration"][0][1].startswith("none: HADOOP_CONF_DIR is not set")
    found = doctor(olddog, "hdfs:///", rc=1, env=env)
    assert "fs.defaultFS, which is not set" in found["configuration"][1][1]
    found = doctor(olddog, "hdfs:///", rc=1, env={**env, "HADOOP_CONF_DIR": tmp_path / "none"})
    assert "is no folder" in one(found, "configuration")[1]
    kerberos = hdfs.env_with(tmp_path / "kerberos", {"hadoop.security.authentication": "kerberos"})
    found = doctor(olddog, hdfs.url + "/", rc=1, env=kerberos)
    assert "hadoop.security.authentication is kerberos" in found["configuration"][1][1]
    assert one(found, "namenode")[0] == "ok"  # all the same


def test_safe_mode_and_dead_datanodes(olddog, hdfs_faulty, faulty_dir):
    n = len(hdfs_faulty.dns)
    faulty_dir.put("x", b"x" * 1000, replication=n)
    faulty_dir.put("y/single", b"x" * 1000, replication=1)
    wait_replicas(faulty_dir, "x", n)
    boss = {**faulty_dir.env, "HADOOP_USER_NAME": "hdfs"}
    hdfs_faulty.admin("-safemode", "enter")
    try:
        grade, words = one(doctor(olddog, faulty_dir.url(), env=faulty_dir.env), "namenode")
        assert grade == "warn" and "safe mode on" in words and "Nothing can be written" in words
    finally:
        hdfs_faulty.admin("-safemode", "leave")
    (dn,) = faulty_dir.blocks("y/single")[0]["dns"]
    kill(hdfs_faulty, dn)
    found = doctor(olddog, faulty_dir.url("x"), env=boss)
    assert found["datanode"][0][1].startswith(f"{n - 1} of {n} that have blocks of")
    assert found["datanode"][1] == ("warn", f"127.0.0.1:{hdfs_faulty.port(dn)}: nobody listens there: the DataNode is down")
    found = doctor(olddog, faulty_dir.url("y"), rc=1, env=boss)
    assert one(found, "replicas")[0] == "fail" and one(found, "replicas")[1].startswith("1 of 1 blocks of")
    wait_for(f"{dn} dead", lambda: dn not in hdfs_faulty.live())
    grade, words = one(doctor(olddog, faulty_dir.url("x"), env=boss), "datanodes")
    assert grade == "warn" and words.startswith(f"{n - 1} live, 1 dead")


def test_a_pair_of_namenodes(olddog, hdfs_ha):
    if hdfs_ha.active() != "nn1":
        hdfs_ha.activate("nn1")
    wait_for("no safe mode", hdfs_ha.is_writable)
    hdfs_ha.web("PUT", "/doctor/x", "CREATE", body=b"kept", overwrite="true")
    hdfs_ha.web_json("GET", "/doctor/x", "GETFILESTATUS")
    found = doctor(olddog, hdfs_ha.url + "/doctor", env=hdfs_ha.env())
    assert one(found, "cluster")[1].startswith(f"nameservice {hdfs_ha.name}, 2 NameNodes")
    assert [(g, w.split(",")[1]) for g, w in found["namenode"]] == [("ok", " active"), ("ok", " standby")]
    kill(hdfs_ha, "nn1")
    found = doctor(olddog, hdfs_ha.url + "/doctor", rc=1, env=hdfs_ha.env())
    assert [g for g, _ in found["namenode"]] == ["fail", "ok"]
    assert "no NameNode is active" in one(found, "ha")[1]
    hdfs_ha.activate("nn2")
    found = doctor(olddog, hdfs_ha.url + "/doctor", env=hdfs_ha.env())
    assert [g for g, _ in found["namenode"]] == ["warn", "ok"] and "nobody listens there" in found["namenode"][0][1]
    assert one(found, "ha") == ("warn", "1 of 2 NameNodes answer: it works, with none to take over")
    assert one(found, "datanode")[0] == "ok"
    kill(hdfs_ha, "nn2")
    found = doctor(olddog, hdfs_ha.url + "/doctor", rc=1, env=hdfs_ha.env())
    assert [g for g, _ in found["namenode"]] == ["fail", "fail"]
    assert "no NameNode answers" in one(found, "ha")[1] and "datanode" not in found


def test_other_stores(olddog, tmp_path):
    (tmp_path / "x").write_bytes(b"x")
    found = doctor(olddog, tmp_path)
    assert one(found, "reading") == ("ok", "the folder can be listed: 1 names") and one(found, "space")[0] in ("ok", "warn")
    found = doctor(olddog, f"file://{tmp_path}/x")
    assert one(found, "reading") == ("ok", "its first bytes can be read")
    assert one(found, "write") == ("ok", "this process may") and one(found, "file system")[0] == "ok"
    assert one(doctor(olddog, tmp_path / "none", rc=1), "path")[0] == "fail"
    assert "no store" in one(doctor(olddog, "gopher://x/y", rc=1), "store")[1]


def test_a_name_that_nobody_knows_is_no_missing_file(olddog, hdfs, tmp_path):
    for verb in (["ls"], ["cat"], ["plan", "-o", tmp_path / "x.plan"]):
        said = olddog(*verb, "hdfs://nowhere.invalid/train", rc=1, env=hdfs.env()).stderr
        assert "nowhere.invalid:8020: no such host" in said and str(hdfs.conf)[:40] in said

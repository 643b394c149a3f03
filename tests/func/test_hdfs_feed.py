# SPDX-License-Identifier: Apache-2.0
"""Plans, samples and the loader over hdfs://: what comes out is what comes out of a folder, also while DataNodes die."""

import collections
import json
import os
import re
import subprocess
import sys

import pytest
from hdfs_help import client_env, wait_for
from python_help import script_environment
from test_read import ORDERS, write_spec

RECOVERIES = ("failed_reads", "dead_nodes", "refetches", "hedge_wins")
N_BATCHES = 19
LOOP = """
import hashlib, itertools, json, sys, olddog
n, state = int(sys.argv[2]), json.loads(sys.argv[3]) if len(sys.argv) > 3 else None
with olddog.Loader(sys.argv[1], batch=16, state=state) as loader:
    for batch in itertools.islice((b for _ in itertools.count() for b in loader), n):
        h = hashlib.sha256()
        for name in ("image", "label"):
            h.update(batch[name].tobytes())
        print(json.dumps([h.hexdigest(), loader.state_dict()]), flush=True)
"""


def counters(text):
    """Of one process or several, added up."""
    found = collections.Counter()
    for name, n in re.findall(r"^hdfs_(\w+) (\d+)$", text, re.MULTILINE):
        found[name] += int(n)
    return found


def put_all(folder, files, **keys):
    for f in files:
        folder.put(f.name, f.read_bytes(), **keys)


@pytest.fixture
def shards(hdfs_dir, set_shards):
    """The shards, in blocks of half a megabyte."""
    put_all(hdfs_dir, sorted(set_shards[0].glob("*.tar")), blocksize=1 << 19)
    return hdfs_dir


@pytest.mark.parametrize("order", ORDERS)
def test_samples_are_those_of_the_folder(olddog, set_shards, shards, tmp_path, order):
    (tmp_path / "here").mkdir()
    here = write_spec(tmp_path / "here", f"{set_shards[0]}/*.tar", order)
    there = write_spec(tmp_path, shards.url("*.tar"), order)
    wanted = olddog.lines("read", here, "--digest=sample")
    assert len(wanted) == 100
    assert olddog.lines("read", there, "--digest=sample", env=shards.env) == wanted
    olddog("plan", there, "-o", tmp_path / "x.plan", env=shards.env)
    ranks = [olddog.lines("read", tmp_path / "x.plan", "--dp-rank", r, "--dp-size", 3, "--digest=sample", env=shards.env)
             for r in range(3)]
    assert sorted(sum(ranks, []), key=lambda line: int(re.match(r"position=(\d+)", line)[1])) == wanted


def test_local_replicas_give_the_same(olddog, shards, tmp_path):
    spec = write_spec(tmp_path, shards.url("*.tar"))
    local = olddog("read", spec, "--digest=sample", "--stats", env=shards.env)
    far = olddog("read", spec, "--digest=sample", "--stats",
                 env=client_env(shards.cluster, tmp_path / "far", dfs__client__read__shortcircuit="false"))
    assert local.stdout == far.stdout
    assert counters(local.stderr)["bytes_local"] > 0 == counters(local.stderr)["bytes_read"]
    assert counters(far.stderr)["bytes_read"] > 0 == counters(far.stderr)["bytes_local"]


def test_names_are_found_by_braces_and_lists(olddog, set_shards, shards):
    some = olddog.lines("read", shards.url("{00002..00004}.tar"), "--field", "txt", "--digest=sample", env=shards.env)
    assert some == olddog.lines("read", f"{set_shards[0]}/{{00002..00004}}.tar", "--field", "txt", "--digest=sample")
    assert len(some) == 30
    said = olddog("read", shards.url("no-such-*.tar"), env=shards.env, rc=1).stderr
    assert "no-such-" in said


def test_a_folder_of_pictures_in_classes(olddog, media, hdfs_dir, tmp_path):
    pictures = sorted((media / "set").glob("*.jpg"))[:30]
    for i, p in enumerate(pictures):
        to = tmp_path / f"set/c{i % 3}" / p.name
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(p.read_bytes())
        hdfs_dir.put(f"set/c{i % 3}/{p.name}", p.read_bytes())
    here = olddog.lines("read", tmp_path / "set", "--digest=sample")
    assert len(here) == 30
    assert olddog.lines("read", hdfs_dir.url("set"), "--digest=sample", env=hdfs_dir.env) == here


def test_data_that_changed_is_an_error_with_words(olddog, set_shards, shards, tmp_path):
    spec = write_spec(tmp_path, shards.url("00003.tar"))
    olddog("plan", spec, "-o", tmp_path / "x.plan", env=shards.env)
    shards.put("00003.tar", (set_shards[0] / "00004.tar").read_bytes())
    said = olddog("read", tmp_path / "x.plan", rc=1, env=shards.env).stderr
    assert "changed since the plan was made" in said


def test_a_state_is_kept_in_hdfs(olddog, shards, tmp_path):
    spec, state = write_spec(tmp_path, shards.url("*.tar")), shards.url("state.json")
    whole = olddog.lines("read", spec, "--digest=sample", env=shards.env)
    parts = [olddog.lines("read", spec, "--digest=sample", "--samples", n, "--state", state, env=shards.env) for n in (37, 63)]
    assert sum(parts, []) == whole
    assert json.loads(shards.get("state.json"))["consumed"] == 100


@pytest.mark.parametrize("how", ["kill", "pause"])
def test_a_datanode_goes_away_in_the_middle(olddog, hdfs_faulty, faulty_dir, set_shards, tmp_path, how):
    put_all(faulty_dir, sorted(set_shards[0].glob("*.tar")), blocksize=1 << 19, replication=3)
    env = client_env(hdfs_faulty, tmp_path / "far", dfs__client__read__shortcircuit="false")
    spec = write_spec(tmp_path, faulty_dir.url("*.tar"))
    olddog("plan", spec, "-o", tmp_path / "x.plan", env=env)
    args = ("read", tmp_path / "x.plan", "--epochs", 6, "--digest=sample", "--stats")
    whole = olddog(*args, env=env)
    run = olddog.start(*args, env=env)
    got = [run.read_line() for _ in range(60)]
    getattr(hdfs_faulty, how)("dn2")
    while line := run.read_line():
        got.append(line)
    rc, _, said = run.wait(timeout=300)
    assert rc == 0, said
    assert "".join(got) == whole.stdout
    count = counters(said)
    total = counters(whole.stderr)
    assert count["bytes_read"] > 0 and any(count[name] for name in RECOVERIES), count
    assert how == "pause" or count["dead_nodes"] > 0, count
    # The node had been read from, and was to be read from again: two thirds of what it has are left by then.
    assert total["bytes_read"] > 0 and not any(total[name] for name in RECOVERIES), total


def consumed(lines):
    return [json.loads(line)[0] for line in lines]


def test_the_loader_over_hdfs_is_killed_and_resumed_while_a_datanode_dies(hdfs_faulty, faulty_dir, set_shards, tmp_path):
    put_all(faulty_dir, sorted(set_shards[0].glob("*.tar")), blocksize=1 << 19, replication=3)
    (tmp_path / "here").mkdir()
    here = write_spec(tmp_path / "here", f"{set_shards[0]}/*.tar")
    there = write_spec(tmp_path, faulty_dir.url("*.tar"))
    far = client_env(hdfs_faulty, tmp_path / "far", dfs__client__read__shortcircuit="false")
    env = script_environment(**far, OLDDOG_LOADER_LOG=str(tmp_path / "log"), OLDDOG_JOB=f"feed-{os.getpid()}")
    argv = [sys.executable, "-c", LOOP]
    wanted = subprocess.run([*argv, here, str(N_BATCHES)], env=script_environment(), stdout=subprocess.PIPE, check=True, text=True,
                            timeout=300).stdout.splitlines()
    with subprocess.Popen([*argv, there, str(N_BATCHES)], env=env, stdout=subprocess.PIPE, text=True) as p:
        got = [p.stdout.readline()]
        hdfs_faulty.kill("dn3")
        got += [p.stdout.readline() for _ in range(8)]
        p.kill()
    # What it had said before it was killed but was not read is what a job loses: it goes on from what it kept.
    state = json.dumps(json.loads(got[-1])[1])
    again = subprocess.run([*argv, there, str(N_BATCHES - len(got)), state], env=env, stdout=subprocess.PIPE, check=True,
                           text=True, timeout=300)
    assert consumed(got) + consumed(again.stdout.splitlines()) == consumed(wanted)
    wait_for("both loaders' last words", lambda: (tmp_path / "log").read_text().count("hdfs_bytes_read") == 2, 60)
    count = counters((tmp_path / "log").read_text())
    assert count["failed_reads"] > 0 and count["dead_nodes"] > 0, count


def test_no_rights_are_an_error_with_words(olddog, hdfs, hdfs_dir, set_shards):
    hdfs_dir.put("secret.tar", (set_shards[0] / "00000.tar").read_bytes(), permission="600")
    said = olddog("read", hdfs_dir.url("secret.tar"), "--field", "txt", env=hdfs.env("mallory"), rc=1).stderr
    assert "secret.tar" in said and "ermission" in said
    olddog("read", hdfs_dir.url("secret.tar"), "--field", "txt", env=hdfs.env())

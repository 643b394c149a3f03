# SPDX-License-Identifier: Apache-2.0
"""olddog cp, rm, mkdir, df on real files: what is copied is equal, whole, and goes on after any end."""

import json
import os
import random
import signal
import time

import pytest

PART = 65536


def tree_of(folder):
    """name -> bytes of each file, None of each directory; hidden ones too, but for what killed writers left."""
    found = {}
    for p in sorted(folder.rglob("*")):
        if not p.name.startswith(".olddog-tmp-"):
            found[str(p.relative_to(folder))] = None if p.is_dir() else p.read_bytes()
    return found


def make_tree(folder, n=40, seed=1, largest=700_000):
    """Files of many sizes, some of many parts, in directories, one of them empty; odd names."""
    rng = random.Random(seed)
    sizes = [0, 1, PART - 1, PART, PART + 1, 2 * PART - 1, 2 * PART, 2 * PART + 1, 10 * PART + 7]
    for i in range(n):
        size = sizes[i] if i < len(sizes) else int(2 ** rng.uniform(0, 20)) % largest
        name = folder / f"d{i % 3}" / ("e" * (i % 4) or ".") / f"f{i:03d}"
        name.parent.mkdir(parents=True, exist_ok=True)
        name.write_bytes(rng.randbytes(size))
    (folder / "empty").mkdir()
    (folder / "100%#1 {a}*").write_bytes(b"odd")
    (folder / "d0" / ".hidden").write_bytes(b"hidden")
    return folder


@pytest.fixture
def tree(tmp_path):
    return make_tree(tmp_path / "tree")


def summary(olddog, *args, rc=0, **kw):
    return json.loads(olddog("cp", "--json", *args, rc=rc, **kw).stdout)


def test_a_tree_becomes_the_target_and_a_second_time_nothing(olddog, tree, tmp_path):
    to = tmp_path / "copy"
    got = summary(olddog, "--part-size", PART, tree, to)
    want = tree_of(tree)
    assert tree_of(to) == want
    files = [v for v in want.values() if v is not None]
    assert got["copied"] == got["files"] == len(files) and got["bytes_copied"] == sum(map(len, files))
    assert got["failed"] == got["skipped"] == 0 and got["failures"] == []
    again = summary(olddog, "-r", "--part-size", PART, tree, to)
    assert again["copied"] == 0 and again["skipped"] == len(files) and again["bytes_skipped"] == got["bytes_copied"]
    assert tree_of(to) == want


def test_files_go_into_directories_by_their_names(olddog, tree, tmp_path):
    to = tmp_path / "to"
    to.mkdir()
    olddog("cp", tree / "d0" / "f000", to)
    olddog("cp", tree / "d1" / "e" / "f001", to / "new")
    olddog("cp", tree / "d0", tree / "empty", tree / "d2/ee/f002", to / "many")
    olddog("cp", f"{tree}/d?", f"{to}/globs/")
    olddog("cp", tree / "d0", f"{to}/slash/")
    assert (to / "f000").read_bytes() == (tree / "d0" / "f000").read_bytes()
    assert (to / "new").read_bytes() == (tree / "d1" / "e" / "f001").read_bytes()
    assert sorted(os.listdir(to / "many")) == ["d0", "empty", "f002"]
    assert sorted(os.listdir(to / "globs")) == ["d0", "d1", "d2"]
    assert tree_of(to / "globs" / "d0") == tree_of(to / "slash" / "d0") == tree_of(tree / "d0")


def test_what_differs_is_refused_or_replaced(olddog, tree, tmp_path):
    to = tmp_path / "copy"
    olddog("cp", tree, to)
    same_length, longer = to / "d0" / "eee" / "f003", to / "d1" / "f004"
    damaged = bytearray(same_length.read_bytes())
    damaged[-1] ^= 1
    same_length.write_bytes(damaged)
    longer.write_bytes(b"longer" * 100000)
    got = summary(olddog, tree, to, rc=1)
    assert got["failed"] == 2 and {f["to"] for f in got["failures"]} == {str(same_length), str(longer)}
    assert all("--overwrite" in f["why"] for f in got["failures"])
    assert same_length.read_bytes() == damaged
    plan = olddog.lines("cp", "-n", "--overwrite", tree, to)
    assert sum(line.startswith("replace ") for line in plan) == 2
    assert same_length.read_bytes() == damaged
    assert summary(olddog, "--overwrite", tree, to)["copied"] == 2
    assert tree_of(to) == tree_of(tree)


def test_a_dry_run_changes_nothing(olddog, tree, tmp_path):
    to = tmp_path / "copy"
    lines = olddog.lines("cp", "-n", tree, to)
    assert sum(line.startswith("copy ") for line in lines) == 42 and lines[-1].startswith("would copy 42 files")
    assert not to.exists()


def test_times_and_modes_are_kept_when_asked(olddog, tree, tmp_path):
    os.chmod(tree / "d0" / "f000", 0o640)
    os.utime(tree / "d0" / "f000", ns=(10**18, 10**18 + 7))
    os.chmod(tree / "d1", 0o750)
    os.utime(tree / "d1", ns=(10**18, 2 * 10**17))
    plain, kept = tmp_path / "plain", tmp_path / "kept"
    olddog("cp", tree, plain)
    olddog("cp", "-p", tree, kept)
    for name in ("d0/f000", "d1"):
        a, b = (tree / name).stat(), (kept / name).stat()
        assert (a.st_mode, a.st_mtime_ns, a.st_uid) == (b.st_mode, b.st_mtime_ns, b.st_uid)
    assert (plain / "d0/f000").stat().st_mtime_ns != 10**18 + 7
    olddog("cp", "-p", tree, plain)
    assert (plain / "d0/f000").stat().st_mtime_ns == 10**18 + 7


def test_a_killed_copy_goes_on_where_it_stopped(olddog, tmp_path):
    """kill -9 at ten random moments; under a final name there never is but the whole."""
    tree, to = make_tree(tmp_path / "tree", n=120, seed=5, largest=3_000_000), tmp_path / "copy"
    want = tree_of(tree)
    slow, rng = f"{tree}#fault=delay:1ms-20ms", random.Random(int(os.environ.get("OLDDOG_REAL_SEED", "7")))
    args = ("cp", "--part-size", PART, "-j", 4, slow, to)
    started = time.monotonic()
    olddog(*args[:-1], tmp_path / "whole")
    whole_s = time.monotonic() - started
    n_struck = 0
    for _ in range(10):
        p = olddog.start(*args)
        time.sleep(rng.uniform(0, whole_s / 4))  # the moment of the kill is what is drawn
        p.kill(signal.SIGKILL)
        p.wait()
        have = tree_of(to) if to.exists() else {}
        for name, data in have.items():
            if name in want:
                assert data == want[name], f"half a file under its name: {name}"
        n_struck += 0 < len(have) < len(want)
    assert n_struck > 0
    got = summary(olddog, *args[1:])
    assert got["failed"] == 0 and got["skipped"] + got["copied"] == got["files"]
    assert tree_of(to) == want
    assert not list(to.rglob(".olddog-tmp-*"))


def test_ctrl_c_ends_in_order_and_can_be_resumed(olddog, tree, tmp_path):
    to = tmp_path / "copy"
    p = olddog.start("cp", "-v", "-j", 1, f"{tree}#fault=delay:20ms", to)
    assert p.read_line().startswith("copied ")
    p.kill(signal.SIGINT)
    code, _, err = p.wait()
    assert code == 130 and "the same command goes on" in err
    have = tree_of(to)
    assert 0 < len(have) < len(tree_of(tree)) and all(have[k] == tree_of(tree)[k] for k in have)
    assert summary(olddog, tree, to)["skipped"] > 0
    assert tree_of(to) == tree_of(tree)


@pytest.mark.parametrize("fault", ["fail:0.05", "short:0.05", "stale:0.05"])
def test_failures_are_told_and_leave_no_half_files(olddog, tree, tmp_path, fault):
    to, want = tmp_path / "copy", tree_of(tree)
    p = olddog("cp", "--json", f"{tree}#fault={fault},seed:3", to, rc=None)
    have = tree_of(to) if to.exists() else {}
    assert all(have[k] == want[k] for k in have)
    if p.returncode:
        got = json.loads(p.stdout)
        assert got["failed"] + got["skipped"] + got["copied"] == got["files"]
        assert p.stderr
    olddog("cp", tree, to)
    assert tree_of(to) == want


def test_what_cannot_be_is_refused_with_words(olddog, tree, tmp_path):
    def words(*args, rc=1):
        return olddog("cp", *args, rc=rc).stderr

    assert words(tree, rc=2)
    assert "cannot look at" in words(tmp_path / "missing", tmp_path / "x")
    assert "nothing matches" in words(f"{tmp_path}/missing*", tmp_path / "x")
    assert "into itself" in words(tree, tree / "below")
    assert "no directory" in words(tree / "d0", tree / "d1", tree / "d0/f000")
    assert "irectory" in words(tree / "d0", f"{tree}/d0/f000/")
    (tmp_path / "into" / "f000").mkdir(parents=True)
    assert "not copied over it" in words(tree / "d0/f000", tmp_path / "into")
    assert "only fault" in words(tree, f"file://{tmp_path}/x#throtle=1")
    assert not (tmp_path / "x").exists()


def test_staging_directories_are_not_copied(olddog, tree, tmp_path):
    (tree / ".f.olddog-cp").mkdir()
    (tree / ".f.olddog-cp" / "part").write_bytes(b"1")
    olddog("cp", tree, tmp_path / "copy")
    assert not (tmp_path / "copy" / ".f.olddog-cp").exists()


def test_rm_mkdir_and_df(olddog, tree, tmp_path):
    assert "-r removes" in olddog("rm", tree / "d0", rc=1).stderr
    olddog("rm", f"{tree}/d0/f*", tree / "d0/.hidden")
    olddog("rm", "-r", tree / "d0")
    assert not (tree / "d0").exists() and (tree / "d1").exists()
    assert "look at" in olddog("rm", tree / "d0", rc=1).stderr
    olddog("rm", "-f", tree / "d0", f"{tree}/none*")
    assert "whole store" in olddog("rm", "-r", "/", rc=1).stderr
    (tree / "file").touch()
    olddog("rm", "-f", tree / "file/below")
    olddog("mkdir", tmp_path / "a/b/c", tmp_path / "a/b/c")
    assert (tmp_path / "a/b/c").is_dir()
    got = json.loads(olddog("df", "--json", tmp_path).stdout)[0]
    st = os.statvfs(tmp_path)
    assert got["total_bytes"] == st.f_blocks * st.f_frsize and 0 < got["free_bytes"] <= got["total_bytes"]
    assert olddog.lines("df", tmp_path)[0].split() == ["TOTAL", "USED", "FREE", "USED%", "URL"]


def test_what_a_pattern_finds_is_removed_but_for_what_cannot_be(olddog, tmp_path):
    (tmp_path / "a-folder").mkdir()
    for i in range(3):
        (tmp_path / f"a{i}").touch()
    for options in ([], ["-f"]):
        (tmp_path / "a1").touch()
        assert "a-folder is a directory" in olddog("rm", *options, tmp_path / "a*", rc=1).stderr
        assert [p.name for p in tmp_path.glob("a*")] == ["a-folder"]


def test_a_name_with_the_characters_of_a_pattern_is_a_name(olddog, tmp_path):
    (tmp_path / "a[1].txt").write_text("odd")
    olddog("cp", tmp_path / "a[1].txt", tmp_path / "b.txt")
    assert (tmp_path / "b.txt").read_text() == "odd"

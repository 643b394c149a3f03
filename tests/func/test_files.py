# SPDX-License-Identifier: Apache-2.0
"""olddog ls, cat, stat on real files; and what all verbs share: usage and help."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest


@pytest.fixture
def files(tmp_path):
    """A folder: a few files, one with an odd name, and a directory."""
    folder = tmp_path / "files"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.bin").write_bytes(bytes(range(256)) * 40000)
    (folder / "100%#1").write_text("odd")
    Path(os.fsdecode(os.fsencode(folder) + b"/b\xff\x1b[2J")).write_text("not UTF-8")
    return folder


def test_ls_prints_a_table_names_or_json(olddog, files):
    table = olddog.lines("ls", files)
    assert table[0].split() == ["BYTES", "MODIFIED", "NAME"]
    assert [line.split()[0] for line in table[1:]] == ["3", "10240000", "9", "-"]
    assert table[1].endswith(" 100%#1") and table[4].endswith(" sub/")
    assert "\x1b" not in "".join(table)
    assert olddog("ls", "-1", files, text=False).stdout == b"100%#1\na.bin\nb\xff\x1b[2J\nsub\n"
    entries = json.loads(olddog("ls", "--json", files).stdout)
    assert [e["kind"] for e in entries] == ["file", "file", "file", "dir"]
    assert bytes.fromhex(entries[2]["name_hex"]) == b"b\xff\x1b[2J"
    assert entries[1] == {**entries[1], "name": "a.bin", "length": 10240000}
    assert entries[1]["mtime_ns"] == (files / "a.bin").stat().st_mtime_ns


def test_ls_long_and_deep(olddog, files):
    (files / "sub/deeper").mkdir()
    (files / "sub/deeper/x").write_text("x")
    (files / "sub/deeper/x").chmod(0o4710)
    assert olddog.lines("ls", "-1", "-R", files, text=False)[-2:] == [b"sub/deeper", b"sub/deeper/x"]
    table = olddog.lines("ls", "-l", "-R", files)
    assert table[0].split() == ["MODE", "REPLICAS", "OWNER", "GROUP", "BLOCK", "BYTES", "MODIFIED", "NAME"]
    assert table[-1].split()[:2] == ["-rws--x---", "-"] and table[-1].endswith(" sub/deeper/x")
    st = (files / "sub/deeper/x").stat()
    found = json.loads(olddog("ls", "--json", files / "sub/deeper").stdout)[0]
    assert (found["mode"], found["atime_ns"]) == (0o4710, st.st_atime_ns)
    assert found["owner"] and found["group"] and "replication" not in found
    text = olddog("stat", files / "sub/deeper/x").stdout
    assert "  mode      -rws--x--- (4710)\n" in text and f"  owner     {found['owner']}\n" in text


def test_ls_of_a_ring_of_links_ends(olddog, files):
    (files / "sub/ring").symlink_to("..")
    assert "ring of symbolic links" in olddog("ls", "-1", "-R", files / "sub", rc=1, text=False).stderr.decode()


def test_stats_are_lines_of_name_and_number(olddog, files):
    for line in olddog("ls", "--stats", files).stderr.splitlines():
        assert re.fullmatch(r"\w+ \d+", line)


def test_ls_is_of_the_working_folder_and_of_several(olddog, files):
    assert olddog.lines("ls", "-1", cwd=files / "sub") == []
    assert olddog.lines("ls", "-1", "..", cwd=files / "sub")[1] == "a.bin"
    assert len(json.loads(olddog("ls", "--json", files, files / "a.bin").stdout)) == 5
    p = olddog("ls", files / "missing", files / "sub", rc=1)
    assert "missing" in p.stderr and f"{files}/sub:" in p.stdout


def test_ls_of_many_pages_is_all_in_order(olddog, tmp_path):
    names = sorted(f"{i * 7919 % 10007:05d}" for i in range(2500))
    for name in names:
        (tmp_path / name).touch()
    assert olddog.lines("ls", "-1", tmp_path) == names
    assert [e["name"] for e in json.loads(olddog("ls", "--json", tmp_path).stdout)] == names


def test_cat_gives_the_bytes_or_parts_of_them(olddog, files):
    data = (files / "a.bin").read_bytes()

    def cat(*args, **kw):
        return olddog("cat", *args, text=False, **kw).stdout

    assert cat(files / "a.bin", f"file://{files}/100%25%231") == data + b"odd"
    assert cat("--offset", "5M", "--length", "4100K", files / "a.bin") == data[5 << 20:(5 << 20) + 4100 * 1024]
    assert cat("--offset", "1G", files / "a.bin") == b""
    assert cat(f"{files}/a.bin#fault=delay:1us-1ms,seed:2") == data
    assert cat(files, rc=1) == b""
    assert cat(f"file://{files}/a.bin#fault=fail:1", rc=1) == b""


def test_cat_to_a_full_disk_fails(olddog, files):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full")
    with open("/dev/full", "wb") as full:
        for argv in (["cat", files / "100%#1"], ["ls", files], ["stat", "--json", files]):
            p = subprocess.run([olddog.exe, *argv], stdout=full, stderr=subprocess.PIPE)
            assert p.returncode == 1 and b"No space left" in p.stderr


def test_stat_tells_the_version_that_changes_with_the_file(olddog, files):
    def version():
        return json.loads(olddog("stat", "--json", files / "100%#1").stdout)[0]["version"]

    before = version()
    assert version() == before
    (files / "new").write_text("new")
    (files / "new").rename(files / "100%#1")
    assert version() != before
    text = olddog("stat", files / "a.bin", files).stdout
    assert "  bytes     10240000\n" in text and "  kind      dir\n" in text
    assert "missing" in olddog("stat", files / "missing", rc=1).stderr


def test_words_for_what_is_wrong(olddog):
    assert "only file:, hdfs:, ram:" in olddog("ls", "gopher://x", rc=1).stderr
    assert "did you mean cat?" in olddog("caat", rc=2).stderr
    assert "did you mean --json?" in olddog("ls", "--jsn", rc=2).stderr
    assert "which verb" in olddog(rc=2).stderr
    assert olddog("cat", rc=2).stderr.startswith("usage: olddog cat")
    assert re.fullmatch(r"olddog \d+\.\d+\.\d+\n", olddog("--version").stdout)


def test_every_verb_has_help(olddog):
    verbs = re.findall(r"^  (\w+) +\w", olddog("--help").stdout, re.MULTILINE)
    assert {"ls", "cat", "stat"} <= set(verbs)
    for verb in verbs:
        text = olddog(verb, "--help").stdout
        assert text.startswith(f"usage: olddog {verb}") and "--help" in text


def test_rm_refuses_a_store_and_a_home(olddog, tmp_path):
    home = tmp_path / "home"
    (home / "x").mkdir(parents=True)
    env = {"HOME": str(home)}
    assert "whole store" in olddog("rm", "-r", "ram:a/", rc=1).stderr
    assert "home directory" in olddog("rm", "-r", home, rc=1, env=env).stderr
    olddog("rm", "-r", home / "x", env=env)
    assert home.is_dir() and not (home / "x").exists()
    olddog("mkdir", "-p", home / "y/z", env=env)
    assert (home / "y/z").is_dir()

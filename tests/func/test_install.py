# SPDX-License-Identifier: Apache-2.0
"""`make install`: a tree that works wherever it is moved to."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from test_read import write_spec

# Two that install at once would be in each other's way.
pytestmark = pytest.mark.xdist_group("install")


@pytest.fixture(scope="module")
def tree(full, tmp_path_factory):
    """Installed for one prefix, and moved to another place."""
    folder = tmp_path_factory.mktemp("install")
    done = subprocess.run(["make", "-C", ROOT, "install", f"DESTDIR={folder / 'stage'}", "PREFIX=/opt/olddog"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout[-4000:]
    return (folder / "stage/opt/olddog").rename(folder / "moved")


def environment(**more):
    return {**{k: v for k, v in os.environ.items() if not re.match("OLDDOG|PYTHON|LD_", k)}, **more}


def output(*argv, **env):
    done = subprocess.run(list(map(str, argv)), env=environment(**env), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


@pytest.fixture
def spec(set_shards, tmp_path):
    return write_spec(tmp_path, f"{set_shards[0]}/0000[0-2].tar")


def test_what_is_installed_and_nothing_else(tree):
    files = {str(p.relative_to(tree)) for p in tree.rglob("*") if not p.is_dir() and p.parent.name != "__pycache__"}
    expected = {"bin/olddog", "libexec/olddog/olddog-loader", "libexec/olddog/olddog-worker", "include/olddog.h"}
    expected |= {f"share/man/man{p.name.split('.')[1]}/{p.name.removesuffix('.scd')}" for p in (ROOT / "doc/man").glob("*.scd")}
    expected |= {f"lib/olddog/python/olddog/{p.name}" for p in (ROOT / "python/olddog").iterdir() if p.suffix in (".py", ".typed")}
    expected |= {"lib/olddog/python/olddog/_olddog.abi3.so"}
    library = {f for f in files if re.fullmatch(r"lib/([^/]+/)?libolddog\.so(\.\d+)*", f)}
    assert len(library) == 3
    assert files == expected | library


def test_programs_find_each_other(olddog, tree, spec):
    lines = olddog.lines("read", spec, "--digest=sample")
    assert output(tree / "bin/olddog", "read", spec, "--digest=sample") == lines
    # Also by a link, as in ~/bin.
    (tree.parent / "link").symlink_to(tree / "bin/olddog")
    assert output(tree.parent / "link", "read", spec, "--digest=sample") == lines


def test_the_python_package_works(tree, spec):
    script = f"""
import olddog
print(olddog.__file__)
print(sum(len(b.key) for b in olddog.Loader({str(spec)!r}, epochs=1)))
"""
    where, n = output(sys.executable, "-c", script, PYTHONPATH=str(tree / "lib/olddog/python"))
    assert Path(where).is_relative_to(tree) and n == "30"


def test_programs_are_linked_with_the_library(tree, spec, tmp_path):
    (library,) = tree.rglob("libolddog.so")
    rank = tmp_path / "rank"
    subprocess.run(["gcc", "-D_GNU_SOURCE", "-I", tree / "include", "-o", rank, ROOT / "tests/func/rank.c", library, "-lcrypto",
                    f"-Wl,-rpath,{library.parent}"], check=True)
    assert output(rank, spec)[1:31] == output(tree / "bin/olddog", "read", spec, "--digest=sample")


def test_nothing_names_the_place_where_it_was_built(tree):
    for path in tree.rglob("*"):
        if path.is_file():
            assert str(ROOT).encode() not in path.read_bytes(), path

# SPDX-License-Identifier: Apache-2.0
"""The house itself: the checks find what they are for, environments survive kills, the program links no decoder."""

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAD = "/* SPDX-License-Identifier: Apache-2.0 */\n/* A file for a test. */\n"


@pytest.fixture
def tree(tmp_path):
    """A small tree of its own with scripts/check in it; gives a function that runs one check on it."""
    (tmp_path / "scripts").mkdir()
    for name in ("check", "check.py", "env.sh"):
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "src").mkdir()
    (tmp_path / "src/meson.build").write_text("subdir('base')\nsubdir('net')\n")

    def check(name, **files):
        for path, text in files.items():
            path = tmp_path / path.replace("__", "/").replace("_dot_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return subprocess.run([tmp_path / "scripts/check", name], stdout=subprocess.PIPE, text=True)
    return check


def test_check_accepts_what_is_right(tree):
    source = HEAD + '#include "base/x.h"\n\nint f(void)\n{\n\treturn 0;\n}\n'
    for name in ("layers", "limits", "heads", "calls", "words", "symbols"):
        p = tree(name, src__net__a_dot_c=source, src__base__x_dot_h=HEAD)
        assert p.returncode == 0, p.stdout


@pytest.mark.parametrize("name, text, told", [
    ("layers", HEAD + '#include "net/x.h"\n', "src/base/a.c:3: base/ comes before net/"),
    ("layers", HEAD + '#include "x.h"\n', "src/base/a.c:3: include by path"),
    ("layers", HEAD + '#include "feed/x.h"\n', "src/base/a.c:3: feed/ is not in src/meson.build"),
    ("limits", HEAD + "int f(void)\n{\n" + "\tg();\n" * 61 + "}\n", "src/base/a.c:4: a function of 61 lines"),
    ("limits", HEAD + "int a;\n" * 600, "src/base/a.c: 602 lines"),
    ("heads", "int a;\n", "src/base/a.c:1: not"),
    ("heads", HEAD.splitlines()[0] + "\nint a;\n", "src/base/a.c:2: no comment"),
    ("calls", HEAD + "void f(void)\n{\n\tfree(p);\n}\n", "src/base/a.c:5: free( - use mem_*"),
    ("calls", HEAD + "/* free(p)\n * goto */\nint a; /* free( */\nvoid f(void)\n{\n\tgoto out;\n}\n", "src/base/a.c:8: goto"),
    ("words", HEAD + "/* TO" + "DO */\n", "src/base/a.c:3: /* TO" + "DO"),
    ("words", HEAD + "int a; \n", "src/base/a.c:3: white space"),
])
def test_check_finds(tree, name, text, told):
    p = tree(name, src__base__a_dot_c=text)
    assert p.returncode == 1 and told in p.stdout, p.stdout


def test_check_compares_header_map_and_man_page(tree):
    files = {"include__olddog_dot_h": HEAD + "int olddog_a(void);\nint olddog_b(void);\n",
             "src__x_dot_map": "{ global: olddog_a; olddog_c; };\n", "doc__man__libolddog_dot_3_dot_scd": "olddog_a\n"}
    out = tree("symbols", **files).stdout
    assert "src/x.map: olddog_b of olddog.h is not in the map" in out
    assert "src/x.map: olddog_c is not in olddog.h" in out
    assert "doc/man/libolddog.3.scd: olddog_b of olddog.h is not in the man page" in out


def venv(cache, requirements, **kw):
    env = {k: v for k, v in os.environ.items() if k != "HOME"}
    return subprocess.Popen([ROOT / "scripts/venv", requirements], env={**env, "OLDDOG_CACHE": str(cache)},
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True, **kw)


def test_environment_made_by_two_at_once_and_after_a_kill(tmp_path):
    """An empty list of requirements: what is tested is the making, which needs no network then."""
    requirements = tmp_path / "none.txt"
    requirements.write_text("# none\n")
    cache = tmp_path / "cache"
    killed = venv(cache, requirements)
    while not list(cache.glob("venv-*-*/pyvenv.cfg")):
        assert killed.poll() is None
        time.sleep(0.01)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate()
    two = [venv(cache, requirements) for _ in range(2)]
    folders = {p.communicate(timeout=120)[0].strip() for p in two}
    assert len(folders) == 1
    (folder,) = folders
    subprocess.run([f"{folder}/bin/python", "-m", "pip", "--version"], check=True, stdout=subprocess.DEVNULL)
    # The link, what it points to, and nothing that the killed one left.
    assert len(list(cache.glob("venv-*"))) == 2


def test_program_links_no_decoder(build, olddog):
    """Pictures are a stranger's bytes: only the confined worker may have code that decodes them."""
    needed = subprocess.run(["readelf", "-d", olddog.exe], stdout=subprocess.PIPE, check=True, text=True).stdout
    assert "NEEDED" in needed
    assert not re.search(r"NEEDED.*lib(jpeg|turbojpeg|spng|png|webp|avcodec|avformat|swscale)", needed)


def test_words_about_usage(olddog):
    assert "usage: olddog VERB" in olddog("--help").stdout
    p = olddog("no-such-verb", rc=2)
    assert p.stdout == "" and "no-such-verb" in p.stderr
    assert olddog(rc=2).stdout == ""

# SPDX-License-Identifier: Apache-2.0
"""What the README shows is what happens: its ten lines, and its first minute but for what needs a fresh machine."""

import re
import shlex
import subprocess

from conftest import ROOT
from python_help import scripts  # noqa: F401 (fixture)

README = (ROOT / "README.md").read_text()
TEN_LINES = README.split("## Ten lines")[1].split("```\n")[1].splitlines()
EDIT = re.compile(r"vi (\S+) +# in place of what it has: (jpg: \{.*?\}); (order: \w+)")


def shape(line):
    """A line without its numbers, units and identities."""
    return re.sub(r"\b[0-9a-f]{8,64}\b|[\d,.]+( [kMG]?B\b(/s)?)?", "#", line)


def commands():
    """(command, lines that it prints) of each shell command."""
    found = []
    for line in TEN_LINES:
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif not line.startswith(">>> "):
            found[-1][1].append(line)
    return found


def edit(path, jpg, order):
    """As a person would with an editor: the field's line and all that is its own, and the order's."""
    text, n = re.subn(r"(?m)^  jpg:\n(    .*\n)+", f"  {jpg}\n", path.read_text())
    text, m = re.subn(r"(?m)^order: .*$", order, text)
    assert n == m == 1
    path.write_text(text)


def test_the_ten_lines_do_what_they_say(olddog, set_shards, tmp_path, scripts):  # noqa: F811
    for command, wanted in commands():
        if match := EDIT.match(command):
            edit(tmp_path / match[1], match[2], match[3])
            continue
        argv = shlex.split(command, comments=True)
        if argv[0] != "build/olddog":
            assert argv == ["PYTHONPATH=build/python", "python3"]
            continue
        argv = [a.replace("/data/cc/{00000..00020}", f"{set_shards[0]}/{{00000..00009}}") for a in argv[1:]]
        lines = olddog.lines(*argv)
        assert not wanted or list(map(shape, lines)) == list(map(shape, wanted))
    python = [line[4:] for line in TEN_LINES if line.startswith(">>> ")]
    text = "\n".join(["import os, sys", "os.chdir(sys.argv[1])", "n = 0",
                      "def step(pictures, labels):", "    global n", "    n += len(pictures)",
                      "    assert pictures.shape[1:] == (3, 224, 224) and len(labels) == len(pictures)",
                      "def save(state): assert state", *python, "print(n)"])
    # Of 100 samples rank 0 of 8 has twelve.
    assert scripts(text, tmp_path).end() == "12\n"


def test_the_first_minute_ends_with_a_batch(olddog, media, tmp_path, scripts):  # noqa: F811
    p = subprocess.run([ROOT / "scripts/first-minute", "--commands"], stdout=subprocess.PIPE, text=True, check=True)
    *_, plan, python = p.stdout.splitlines()
    folder = tmp_path / "pictures"
    for i, picture in enumerate(sorted((media / "set").glob("*.jpg"))[:40]):
        (folder / str(i % 2)).mkdir(parents=True, exist_ok=True)
        (folder / str(i % 2) / picture.name).symlink_to(picture)
    argv = shlex.split(plan)
    assert argv[0] == "build/olddog"
    olddog(*(str(folder) if a == "/data/pictures" else a for a in argv[1:]))
    code = shlex.split(python)[3]
    script = scripts(f"import os\nos.chdir({str(tmp_path)!r})\n{code}")
    assert "cls: int64 (32,), jpg: float32 (32, 3, 224, 224)" in script.end()

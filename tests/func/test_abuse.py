# SPDX-License-Identifier: Apache-2.0
"""Surroundings that are against us: closed descriptors, full disks, limits, broken plans, strange files and names. Each
ends well or in words with the right exit code; nothing hangs, nothing is left behind, no position is lost."""

import json
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
from pathlib import Path

import pytest

from test_read import write_spec

FILES = ("plan.json", "shards.bin", "part-0000", "bind-0000")


def content(folder):
    return {p.name: p.read_bytes() for p in sorted(folder.iterdir())}


def run(olddog, *args, before=None, **kw):
    """(exit code, stdout, stderr), with before() in the child."""
    p = subprocess.run([olddog.exe, *map(str, args)], stdin=subprocess.DEVNULL, cwd=olddog.cwd, preexec_fn=before,
                       timeout=120, stderr=subprocess.PIPE, **{"stdout": subprocess.PIPE, **kw})
    return p.returncode, (p.stdout or b"").decode(errors="replace"), p.stderr.decode(errors="replace")


@pytest.fixture
def plan(olddog, set_shards, tmp_path):
    """(spec, plan, its lines undisturbed)"""
    spec = write_spec(tmp_path, f"{set_shards[0]}/*.tar")
    olddog("plan", spec, "-o", "p.plan")
    return spec, tmp_path / "p.plan", olddog.lines("read", "p.plan", "--digest=sample")


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
def test_closed_descriptors_let_nothing_be_printed_into_files(olddog, tar, tmp_path, closed):
    # Many warnings, on stderr; names and counts, on stdout.
    for i in range(3):
        tar(tmp_path / f"{i}.tar", [("a.txt", b"x"), ("b.txt", b"x"), ("a.txt", b"again"), (f"{i}.22.txt", b"odd")])
    olddog("plan", *sorted(tmp_path.glob("*.tar")), "-o", "whole.plan")

    def close():
        for fd in closed:
            os.close(fd)

    p = subprocess.run([olddog.exe, "plan", *sorted(tmp_path.glob("*.tar")), "-o", "p.plan"], cwd=tmp_path,
                       preexec_fn=close, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    assert p.returncode == (1 if 1 in closed else 0)
    assert content(tmp_path / "p.plan") == content(tmp_path / "whole.plan")


@pytest.mark.parametrize("args", [[], ["--json"]])
def test_lines_that_could_not_be_written_are_not_consumed(olddog, plan, tmp_path, args):
    with open("/dev/full", "wb") as full:
        rc, _, said = run(olddog, "read", plan[1], "--digest=sample", "--state", "state", *args, stdout=full)
    assert rc == 1 and "stdout" in said
    assert not (tmp_path / "state").exists()


def test_a_run_without_end_ends_when_nobody_can_hear_it(olddog, plan):
    endless = ("read", plan[1], "--digest=sample", "--epochs", 0)
    with open("/dev/full", "wb") as full:
        rc, _, said = run(olddog, *endless, stdout=full)
    assert rc == 1 and "stdout" in said
    reader, writer = os.pipe()
    os.close(reader)
    rc, _, said = run(olddog, *endless, stdout=writer, restore_signals=False,
                      before=lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN))
    os.close(writer)
    assert rc == 1 and "stdout" in said


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["fifo", "folder"])
def test_a_plan_of_other_things_than_files_is_told(olddog, plan, name, make):
    (plan[1] / name).unlink()
    make(plan[1] / name)
    said = olddog("read", plan[1], "--digest=sample", rc=1).stderr
    assert name in said
    p = olddog("plan", plan[0], "-o", plan[1], rc=None)
    assert p.returncode in (0, 1)
    assert stat.S_ISREG((plan[1] / name).stat().st_mode) == (p.returncode == 0)


def test_a_digit_that_changed_in_a_plan_is_noticed(olddog, plan):
    path = plan[1] / "plan.json"
    text = path.read_text()
    places = [m.end(1) - 1 for m in re.finditer(r": (\d+)", text)]
    assert len(places) > 10 and "seed: 11" in text
    for at in places:
        path.write_text(text[:at] + str(int(text[at]) ^ 1) + text[at + 1:])
        said = olddog("read", plan[1], "-n", 1, rc=1).stderr
        assert "plan" in said and ("make the plan again" in said or "version" in said)
    path.write_text(text)
    assert olddog.lines("read", plan[1], "--digest=sample") == plan[2]


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.write_bytes(b"x")],
                         ids=["fifo", "folder", "file"])
def test_data_that_is_replaced_under_a_reader_is_told(olddog, set_shards, tmp_path, make):
    data = tmp_path / "data"
    shutil.copytree(set_shards[0], data)
    spec = write_spec(tmp_path, f"{data}/*.tar")
    olddog("plan", spec, "-o", "p.plan")
    lines = olddog.lines("read", "p.plan", "--epochs", 2, "--digest=sample")
    reader = olddog.start("read", "p.plan", "--epochs", 0, "--digest=sample")
    got = [reader.read_line()]
    (data / "00003.tar").unlink()
    make(data / "00003.tar")
    while got[-1]:
        got.append(reader.read_line())
    rc, _, said = reader.wait()
    assert rc == 1 and re.search("00003.tar has (changed|gone) since the plan was made; make the plan again", said)
    got = "".join(got).splitlines()
    assert got[:len(lines)] == lines[:len(got)]


def test_files_of_two_plans_do_not_mix(olddog, plan, set_shards, tmp_path):
    other = write_spec(tmp_path, f"{set_shards[0]}/0000[0-4].tar", "sequential")
    olddog("plan", other, "-o", "other.plan")
    for name in FILES:
        mixed = tmp_path / f"{name}.plan"
        shutil.copytree(plan[1], mixed)
        shutil.copy(tmp_path / "other.plan" / name, mixed / name)
        p = olddog("read", mixed, "--digest=sample", rc=None)
        # Its bytes lie where those of this plan lie: then it is as good.
        assert p.returncode == 1 and "make the plan again" in p.stderr or p.stdout.splitlines() == plan[2]


def test_a_plan_that_found_no_room_leaves_no_temporaries_and_goes_on(olddog, plan, tmp_path):
    whole = content(plan[1])
    seen = set()
    for limit in range(0, max(map(len, whole.values())) + 400, 400):
        to = tmp_path / f"{limit}.plan"
        rc, _, said = run(olddog, "plan", plan[0], "-o", to,
                          before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        assert rc == 0 or (rc == 1 and "File too large" in said)
        assert not to.exists() or set(content(to)) <= set(FILES)
        seen.add(rc)
        olddog("plan", plan[0], "-o", to)
        assert content(to) == whole
    assert seen == {0, 1}


def test_half_a_file_is_not_left_for_a_whole_one(olddog, plan, tmp_path):
    out = tmp_path / "npy"
    out.mkdir()
    (out / "0.image.npy").symlink_to("/dev/full")
    assert "No space left" in olddog("read", plan[1], "-o", out, rc=1).stderr
    assert not os.path.lexists(out / "0.image.npy")


@pytest.mark.plain  # a shadow takes more than any limit
def test_workers_keep_limits_that_are_lower_already(olddog, plan):
    def lower():
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))

    rc, out, said = run(olddog, "read", plan[1], "--digest=sample", before=lower)
    assert rc == 0 and out.splitlines() == plan[2], said


def test_names_of_any_bytes_come_through_json(olddog, media, tmp_path):
    pictures = sorted((media / "set").glob("*.jpg"))[:3]
    folder = tmp_path / "odd"
    folder.mkdir()
    for i, name in enumerate((b"a\xff\n\x1b\"", "ü".encode(), b"z")):
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name + b".jpg")).write_bytes(
            pictures[i].read_bytes() if i else b"broken")
    spec = tmp_path / "odd.yaml"
    spec.write_text(f"sources: [{{data: '{folder}'}}]\nfields: {{jpg: {{from: [jpg], center_crop: 8}}}}\nbatch: 2\n"
                    "on_error: {decode: skip, stop_above: 50%}\n")
    lines = [json.loads(line) for line in olddog.lines("read", spec, "--digest=sample", "--json")]
    text = olddog.lines("read", spec, "--digest=sample")
    assert lines[0]["for"] == 'a%FF%0A%1B"' and text[0].endswith(' for=a%FF%0A%1B"')
    assert [x["sha256"] for x in lines] == [re.search("sha256=([0-9a-f]+)", x).group(1) for x in text]


def test_few_descriptors_are_waited_for_or_told(olddog, plan):
    seen = set()
    for n in range(4, 80, 4):
        rc, out, said = run(olddog, "read", plan[1], "--digest=sample",
                            before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)))
        if rc == 127:  # not even its libraries could be opened
            continue
        assert (rc == 0 and out.splitlines() == plan[2]) or (rc == 1 and "Too many open files" in said), said
        assert said == "" or not said.startswith("olddog: Too many")
        seen.add(rc)
    assert seen == {0, 1}


def test_the_end_of_all_positions_is_told(olddog, plan):
    said = olddog("read", plan[1], "--from", (1 << 62) - 1, "--epochs", 0, rc=1).stderr
    assert "no positions left" in said


def test_a_long_pattern_does_not_push_the_reason_out(olddog):
    assert "longer than 4096 bytes or has more than 16 braces" in olddog("read", "/x/" + "{a,b}" * 700, rc=1).stderr

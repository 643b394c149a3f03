# SPDX-License-Identifier: Apache-2.0
"""olddog plan: what it finds, what it refuses, what it says, and that being killed costs nothing but time."""

import hashlib
import io
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import tarfile
import time

import pytest


def tar_bytes(members, fmt=tarfile.PAX_FORMAT):
    """members: (name, bytes) or TarInfo."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=fmt) as t:
        for m in members:
            if isinstance(m, tarfile.TarInfo):
                t.addfile(m)
                continue
            info = tarfile.TarInfo(m[0])
            info.size = len(m[1])
            t.addfile(info, io.BytesIO(m[1]))
    return out.getvalue()


def pairs(first, n):
    """n samples of two members."""
    return [(f"{i:06d}.{ext}", f"{ext} of {i}".encode()) for i in range(first, first + n) for ext in ("jpg", "txt")]


@pytest.fixture
def plan(olddog, tmp_path):
    """Makes a plan and gives its JSON."""
    def make(*args, to="p.plan", **kw):
        p = olddog("plan", *args, "-o", to, "--json", **kw)
        return json.loads(p.stdout) if p.returncode == 0 else p
    return make


@pytest.fixture
def shards(tmp_path):
    """Ten archives of a hundred samples."""
    folder = tmp_path / "data"
    folder.mkdir()
    for k in range(10):
        (folder / f"{k:05d}.tar").write_bytes(tar_bytes(pairs(100 * k, 100)))
    return folder


def test_text_output_tells_what_was_found(olddog, shards, tmp_path):
    p = olddog("plan", shards / "{00000..00009}.tar", "-o", "p.plan")
    assert p.stderr == ""
    first, second = p.stdout.splitlines()
    assert first.startswith("10 shards, ") and "1,000 samples   jpg 1,000  txt 1,000" in first
    assert second.startswith("p.plan: 1,000 samples, 1,000 an epoch   Spec written: p.yaml   id ")
    assert "from: [jpg]" in (tmp_path / "p.yaml").read_text()


def test_the_spec_that_was_inferred_makes_the_same_plan(plan, shards):
    one = plan(shards)
    two = plan("p.yaml", to="q.plan")
    assert one["order_id"] == two["order_id"] and one["fields_id"] == two["fields_id"]


def test_a_spec_of_ones_own_is_not_overwritten(olddog, shards, tmp_path):
    (tmp_path / "p.yaml").write_text("# mine\n")
    assert "p.yaml was left as it is, and not followed" in olddog("plan", shards, "-o", "p.plan").stdout
    assert (tmp_path / "p.yaml").read_text() == "# mine\n"


def test_a_spec_without_fields_is_followed_and_stays(olddog, shards, tmp_path):
    text = f"sources: [{{data: '{shards}'}}]\nseed: 5\n"
    (tmp_path / "p.yaml").write_text(text)
    assert "p.yaml" not in olddog("plan", "p.yaml", "-o", "p.plan").stdout
    assert (tmp_path / "p.yaml").read_text() == text


@pytest.mark.parametrize("fmt", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_names_in_every_format(plan, tmp_path, fmt):
    long = "d" * 60 + "/" + "e" * 60 + "/" + "f" * (30 if fmt == tarfile.USTAR_FORMAT else 300)
    (tmp_path / "a.tar").write_bytes(tar_bytes([(f"{long}.jpg", b"1"), (f"{long}.txt", b"2")], fmt))
    p = plan("a.tar")
    assert p["samples"] == 1 and p["extensions"] == {"jpg": 1, "txt": 1}
    assert p["warnings"] == []


@pytest.mark.parametrize("options", [["--format=v7"], ["--format=oldgnu"], ["--format=gnu"], ["--format=ustar"],
                                     ["--format=posix"]])
def test_archives_of_gnu_tar(plan, tmp_path, options):
    folder = tmp_path / "in"
    (folder / "sub").mkdir(parents=True)
    for i in range(5):
        (folder / "sub" / f"{i}.jpg").write_bytes(b"x" * (i * 500))
        (folder / "sub" / f"{i}.cls").write_text(str(i))
    subprocess.run(["tar", *options, "--sort=name", "-cf", tmp_path / "a.tar", "-C", folder, "sub"], check=True)
    p = plan("a.tar")
    assert p["samples"] == 5 and p["extensions"] == {"cls": 5, "jpg": 5} and p["warnings"] == []


def test_odd_groupings_are_told_with_file_and_offset(plan, tmp_path):
    (tmp_path / "numbers.tar").write_bytes(tar_bytes([("22.05.png", b"1"), ("22.05.txt", b"2"), ("22.06.png", b"3")]))
    (tmp_path / "apart.tar").write_bytes(tar_bytes([("a.jpg", b"1"), ("b.jpg", b"2"), ("a.txt", b"3"), ("b.txt", b"4")]))
    (tmp_path / "twice.tar").write_bytes(tar_bytes([("a.jpg", b"1"), ("a.JPG", b"2"), ("b.jpg", b"3")]))
    (tmp_path / "spec.yaml").write_text("sources: [{data: '*.tar'}]\nfields: {j: {from: [jpg, png], on_missing: empty,"
                                        " as: bytes}}\n")
    p = plan("spec.yaml")
    told = "\n".join(p["warnings"])
    assert "numbers.tar: at 0: 22.05.png " in told and "(the first of 3)" in told
    assert "apart.tar: at " in told and "a begins another sample of a key that occurred before" in told
    assert "twice.tar: at 1024: a.JPG is a second member" in told
    assert p["found"] == 1 + 4 + 2, "nothing is regrouped silently"


def test_bad_archives_are_named_left_out_and_strict_stops(olddog, plan, shards, tmp_path):
    whole = (shards / "00003.tar").read_bytes()
    (shards / "00003.tar").write_bytes(whole[:5 * 1024 + 100])
    bare = whole.rstrip(b"\0")
    (shards / "00004.tar").write_bytes(bare + b"\0" * (-len(bare) % 512))
    (shards / "00005.tar").write_bytes(whole[:5 * 1024 + 513])
    (shards / "00006.tar").write_bytes(b"")
    (shards / "00007.tar").write_bytes(whole[:1024] + b"\x55" * 512 + whole[1536:])
    holes = tmp_path / "holes.jpg"
    with open(holes, "wb") as f:
        f.write(b"x")
        f.truncate(1 << 20)
    subprocess.run(["tar", "-S", "--format=gnu", "-cf", shards / "00008.tar", "-C", tmp_path, "holes.jpg"], check=True)
    subprocess.run(["tar", "-S", "--format=posix", "-cf", shards / "00009.tar", "-C", tmp_path, "holes.jpg"], check=True)
    p = plan(shards)
    assert p["samples"] == 300 and p["shards"] == 3 and p["left_out"]["shards"] == 7
    told = "\n".join(p["warnings"])
    assert "00003.tar ends inside a header at 5220: left out" in told
    assert f"00004.tar lacks its end blocks at {len(bare) + -len(bare) % 512}" in told
    assert "00005.tar is cut off: member 000302.txt at 5120" in told
    assert "00006.tar lacks its end blocks at 0" in told
    assert "00007.tar has no header at 1024" in told
    assert "00008.tar has a sparse member holes.jpg at 0" in told
    assert "00009.tar has a sparse member" in told
    text = olddog("plan", shards, "-o", "q.plan").stdout
    assert "7 bad shards left out (--strict stops): 00003.tar ends inside a header at 5220; 00004.tar" in text
    strict = olddog("plan", shards, "-o", "s.plan", "--strict", rc=1)
    assert "00003.tar ends inside a header at 5220" in strict.stderr


def test_names_that_climb_and_members_that_are_no_files_touch_nothing(plan, tmp_path):
    device, link, directory = tarfile.TarInfo("dev.jpg"), tarfile.TarInfo("link.jpg"), tarfile.TarInfo("dir.jpg")
    device.type, link.type, directory.type = tarfile.CHRTYPE, tarfile.SYMTYPE, tarfile.DIRTYPE
    device.devmajor, device.devminor, link.linkname = 1, 3, "/etc/passwd"
    hard = tarfile.TarInfo("hard.jpg")
    hard.type, hard.linkname = tarfile.LNKTYPE, "../../../etc/passwd"
    inside = tmp_path / "in"
    inside.mkdir()
    (inside / "a.tar").write_bytes(tar_bytes([("../../up.jpg", b"1"), ("/abs.jpg", b"2"), device, link, hard, directory]))
    before = sorted(os.listdir("/")), sorted(os.listdir(tmp_path.parent))
    p = plan("in/a.tar")
    assert p["samples"] == 2
    assert any("dev.jpg is no regular file" in w and "(the first of 3)" in w for w in p["warnings"])
    assert before == (sorted(os.listdir("/")), sorted(os.listdir(tmp_path.parent)))


def test_a_copy_elsewhere_has_the_same_identity(plan, shards, tmp_path):
    one = plan(shards)
    shutil.copytree(shards, tmp_path / "other" / "place")
    two = plan(tmp_path / "other" / "place", to="q.plan")
    assert one["order_id"] == two["order_id"] and one["fields_id"] == two["fields_id"]
    (tmp_path / "other" / "place" / "00009.tar").write_bytes(tar_bytes(pairs(900, 99)))
    assert plan(tmp_path / "other" / "place", to="r.plan")["order_id"] != one["order_id"]


def test_batch_size_and_tail_are_in_no_identity(plan, shards, tmp_path):
    ids = set()
    for extra in ("batch: 7", "global_batch: 64\ntail: drop", "skip_samples: [[3, 9]]"):
        (tmp_path / "s.yaml").write_text(f"sources: [{{data: {shards}}}]\nfields: {{t: {{from: txt, as: text}}}}\n{extra}\n")
        p = plan("s.yaml")
        ids.add((p["order_id"], p["fields_id"]))
    assert len(ids) == 1


def test_missing_fields_are_skipped_refused_or_empty(plan, tmp_path):
    members = pairs(0, 50)
    del members[2 * 17 + 1]
    (tmp_path / "a.tar").write_bytes(tar_bytes(members))
    spec = "sources: [{{data: a.tar}}]\nfields: {{t: {{from: txt, as: text, on_missing: {}}}, j: {{from: jpg, as: bytes}}}}\n"
    got = {}
    for how in ("skip", "empty"):
        (tmp_path / "s.yaml").write_text(spec.format(how))
        got[how] = plan("s.yaml", to=f"{how}.plan")
    assert got["skip"]["samples"] == 49 and got["empty"]["samples"] == 50
    assert got["skip"]["missing"]["t"] == {"samples": 1, "first": "a.tar:000017", "on_missing": "skip"}
    assert got["skip"]["order_id"] != got["empty"]["order_id"]
    (tmp_path / "s.yaml").write_text(spec.format("fail"))
    assert "a.tar:000017 has no t" in plan("s.yaml", to="f.plan", rc=1).stderr


def test_folders_have_classes_in_bytewise_order(plan, tmp_path):
    for name in ("b/1.jpg", "b/2.JPEG", "a/9.png", "Z/0.jpg", "a/.hidden.jpg"):
        (tmp_path / "pics" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "pics" / name).write_bytes(name.encode())
    p = plan("pics")
    assert p["samples"] == 4 and p["files"] == 4
    assert p["extensions"] == {"jpg": 2, "jpeg": 1, "png": 1}
    assert "from: [cls]" in (tmp_path / "p.yaml").read_text()
    (tmp_path / "pics" / "top.jpg").write_bytes(b"")
    assert plan("pics", to="q.plan")["samples"] == 5
    assert "cls" not in (tmp_path / "q.yaml").read_text()


def test_what_a_directory_is_for(plan, shards, tmp_path):
    (shards / "00000.json").write_text("{}")
    p = plan(shards)
    assert p["shards"] == 10 and any("1 files that are no tar" in w for w in p["warnings"])
    (shards / "x.jpg").write_text("")
    assert "say in the spec which are meant" in plan(shards, to="q.plan", rc=1).stderr


@pytest.mark.parametrize("data, words", [
    ("nowhere", "nowhere"),
    ("*.tar", "no file is there or matches"),
    ("data/{00000..00010}.tar", "00010.tar"),
    ("data/{9..1}.tar", "runs backwards"),
    ("data/{x}.tar", "neither a range"),
    ("data/**/x", "** is not known"),
    ("data/{0..99999999}.tar", "more than 1000000 names"),
    ("nosuch:thing/x", "nosuch"),
])
def test_data_that_is_not_there_is_told(plan, shards, data, words):
    assert words in plan(data, rc=1).stderr


def test_other_peoples_directories_are_left_alone(plan, olddog, shards, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("important")
    assert "is no plan's directory" in plan(shards, to=mine, rc=1).stderr
    assert os.listdir(mine) == ["thesis.txt"]
    assert olddog("plan", shards, rc=2).stderr.count("-o X.plan") == 1


def test_an_unfinished_plan_says_so(olddog, plan, shards, tmp_path):
    plan(shards)
    (tmp_path / "p.plan" / "plan.json").unlink()
    assert plan(shards)["taken_over"] == 10
    assert (tmp_path / "p.plan" / "plan.json").exists()


def test_changed_archives_are_read_again_and_others_are_not(plan, shards, tmp_path):
    one = plan(shards)
    assert one["taken_over"] == 0 and one["bytes_read"] > 0
    again = plan(shards)
    assert again["taken_over"] == 10 and again["bytes_read"] == 0 and again["order_id"] == one["order_id"]
    (shards / "00004.tar").write_bytes(tar_bytes(pairs(400, 101)))
    changed = plan(shards)
    assert changed["taken_over"] == 9 and changed["samples"] == 1001 and changed["order_id"] != one["order_id"]


def test_a_plan_among_the_data_is_no_data(plan, tmp_path):
    folder = tmp_path / "pics" / "c"
    folder.mkdir(parents=True)
    (folder / "1.jpg").write_bytes(b"1")
    one = plan(".", to="x.plan", cwd=folder.parent)
    (folder.parent / "x.yaml").unlink()
    two = plan(".", to="x.plan", cwd=folder.parent)
    assert one["samples"] == two["samples"] == 1 and one["order_id"] == two["order_id"]


def test_archives_without_a_sample_are_shards_too(plan, shards):
    (shards / "00002.tar").write_bytes(tar_bytes([]))
    (shards / "00005.tar").write_bytes(tar_bytes([("only.txt", b"x")]))
    (shards / "s.yaml").write_text("sources: [{data: data}]\nfields: {j: {from: jpg, as: bytes, on_missing: skip}}\n"
                                   "order: shuffle\n")
    p = plan(shards / "s.yaml")
    assert p["shards"] == 10 and p["found"] == 801 and p["samples"] == 800


def test_removed_samples_leave_the_parts_as_they_are(plan, tmp_path):
    (tmp_path / "a.tar").write_bytes(tar_bytes(pairs(0, 10) + [("more.jpg", b"")]))
    (tmp_path / "s.yaml").write_text("sources: [{data: a.tar}]\nfields: {t: {from: txt, as: text, on_missing: skip}}\n")
    assert plan("s.yaml")["samples"] == 10
    before = files_of(tmp_path / "p.plan")
    assert plan("s.yaml")["samples"] == 10
    assert files_of(tmp_path / "p.plan") == before


def files_of(folder):
    return {f.name: f.read_bytes() for f in folder.iterdir()}


def test_the_same_data_gives_the_same_files(plan, shards, tmp_path):
    plan(shards, "--threads", 1)
    plan(shards, "--threads", 7, to="q.plan")
    one, two = files_of(tmp_path / "p.plan"), files_of(tmp_path / "q.plan")
    assert one == two


def test_killed_at_random_it_goes_on(olddog, plan, tmp_path):
    folder = tmp_path / "many"
    folder.mkdir()
    for k in range(150):
        (folder / f"{k:05d}.tar").write_bytes(tar_bytes(pairs(k, 60)))
    begin = time.monotonic()
    whole = plan(folder, to="whole.plan")
    took = time.monotonic() - begin
    rng = random.Random(3)
    n_killed = 0
    for _ in range(8):
        p = olddog.start("plan", folder, "-o", "p.plan", "--threads", 2)
        try:
            p.popen.wait(took * rng.random())
        except subprocess.TimeoutExpired:
            n_killed += 1
        p.kill(signal.SIGKILL)
        p.popen.communicate()
        # What an instant later a torn write would have left.
        part = tmp_path / "p.plan" / "part-0000"
        if part.exists() and rng.random() < 0.5:
            with open(part, "r+b") as f:
                f.truncate(max(0, part.stat().st_size - rng.randrange(300)))
    assert n_killed > 0
    again = plan(folder)
    assert again["order_id"] == whole["order_id"] and again["samples"] == whole["samples"] == 9000
    assert (tmp_path / "p.plan" / "plan.json").exists()


def test_interrupted_it_says_so_and_goes_on(olddog, plan, shards, tmp_path):
    slow = f"file://{shards}/*.tar#fault=delay:50ms"
    p = olddog.start("plan", slow, "-o", "p.plan", "--threads", 1)
    part = tmp_path / "p.plan" / "part-0000"
    while p.popen.poll() is None and not (part.exists() and part.stat().st_size):
        time.sleep(0.005)
    p.kill(signal.SIGINT)
    rc, _, err = p.wait()
    assert rc == 130 and "goes on where it was" in err
    again = plan(slow)
    assert again["samples"] == 1000 and again["taken_over"] > 0


def identity(order, seed, sources):
    """order_id as doc/design/0008-plan-files.md has it, of sources of (format, [(name, length, samples, removed)])."""
    def text(b):
        return struct.pack("<Q", len(b)) + b

    h = hashlib.sha256(text(b"olddog order 1") + struct.pack("<QIQII", seed, order, 0, 0, len(sources)))
    for fmt, shard_list in sources:
        h.update(struct.pack("<dIIQ", 1.0, 0, fmt, len(shard_list)))
        for name, length, samples, removed in shard_list:
            t = hashlib.sha256(text(b"olddog members 1") + struct.pack("<Q", len(samples)))
            for key, members in samples:
                t.update(text(key.encode()) + struct.pack("<I", len(members)))
                for ext, offset, size in members:
                    t.update(text(ext.encode()) + struct.pack("<QQ", offset, size))
            h.update(text(name.encode()) + struct.pack("<Q", length) + t.digest() + struct.pack("<I", len(removed)))
            h.update(b"".join(struct.pack("<I", i) for i in removed))
    return h.hexdigest()


def test_order_id_is_as_written_down(plan, shards, tmp_path):
    members = pairs(300, 100)
    del members[2 * 42 + 1]
    (shards / "00003.tar").write_bytes(tar_bytes(members))
    (tmp_path / "pics").mkdir()
    for name in ("b.JPG", "a.jpg", "a.txt", "b.txt"):
        (tmp_path / "pics" / name).write_bytes(name.encode() * 3)
    (tmp_path / "s.yaml").write_text("sources: [{data: data}, {data: pics}]\nseed: 11\norder: shuffle\n"
                                     "fields: {t: {from: txt, as: text, on_missing: skip}}\n")
    archives = []
    for f in sorted(shards.iterdir()):
        samples = {}
        with tarfile.open(f) as t:
            for m in t:
                samples.setdefault(m.name.split(".")[0], []).append((m.name.split(".")[1], m.offset_data, m.size))
        archives.append((f.name, f.stat().st_size, list(samples.items()), [42] if f.name == "00003.tar" else []))
    folder = [("", 60, [("a", [(".jpg", 0, 15), (".txt", 0, 15)]), ("b", [(".JPG", 0, 15), (".txt", 0, 15)])], [])]
    p = plan("s.yaml")
    assert p["samples"] == 999 + 2
    assert p["order_id"] == identity(1, 11, [(1, archives), (2, folder)])


def test_a_hundred_thousand_files(plan, tmp_path):
    folder = tmp_path / "tiny"
    for c in range(100):
        (folder / f"c{c:03d}").mkdir(parents=True)
        for i in range(1000):
            os.close(os.open(folder / f"c{c:03d}" / f"{i:05d}.jpg", os.O_CREAT | os.O_WRONLY))
    p = plan(folder)
    assert p["samples"] == p["files"] == 100_000
    files = sorted(f.name for f in (tmp_path / "p.plan").iterdir())
    assert files == ["bind-0000", "part-0000", "plan.json", "shards.bin"], "never a file per shard"
    assert (tmp_path / "p.plan" / "part-0000").stat().st_size < 30 * 100_000


def test_a_spec_that_cannot_be_used_names_line_and_key(plan, tmp_path):
    (tmp_path / "s.yaml").write_text("sources: [{data: x.tar}]\nfeilds: {}\n")
    assert "s.yaml:2:" in plan("s.yaml", rc=1).stderr

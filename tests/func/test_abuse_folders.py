# SPDX-License-Identifier: Apache-2.0
"""Files that change under a reader, and names that are strange: what a plan was made of is read as it was then or told as
changed, by name; nothing that is no file is ever waited for; what stayed goes on at its position."""

import ctypes
import os
import re
import shutil
import subprocess

import pytest

CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, PR_CAPBSET_DROP = 1, 2, 24
N = 60
SPEC = """
sources: [{data: 'data'}]
fields:
  image: {from: [jpg], resize: [32, 32]}
order: sequential
global_batch: 4
"""


def lose_powers():
    """In a child: what its owner may not read is not read by root either."""
    for cap in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, cap, 0, 0, 0)


@pytest.fixture
def folder(media, tmp_path):
    """data/ of N pictures."""
    data = tmp_path / "data"
    data.mkdir()
    for i, picture in enumerate(sorted((media / "set").glob("*.jpg"))[:N]):
        shutil.copyfile(picture, data / f"{i:03d}.jpg")
    return data


@pytest.fixture
def spec(folder, tmp_path, olddog):
    path = tmp_path / "s.yaml"
    path.write_text(SPEC)
    olddog("plan", path, "-o", "p.plan")
    return path


def unlinked(path):
    path.unlink()
    return path


def truncated(path):
    os.truncate(path, path.stat().st_size // 2)


def grown(path):
    with path.open("ab") as f:
        f.write(b"more")


def rewritten(path):
    """Other bytes of the same length in the same inode, and a clock that is put back."""
    st = path.stat()
    with path.open("r+b") as f:
        f.write(bytes(1000))
    os.utime(path, ns=(st.st_atime_ns, st.st_mtime_ns))


def replaced(path):
    """The same bytes and the same time, by another inode."""
    other = path.with_suffix(".new")
    shutil.copy2(path, other)
    other.rename(path)


CHANGES = {
    "deleted": unlinked,
    "renamed": lambda path: path.rename(path.with_suffix(".moved")),
    "truncated": truncated,
    "empty": lambda path: os.truncate(path, 0),
    "grown": grown,
    "rewritten": rewritten,
    "replaced": replaced,
    "folder": lambda path: unlinked(path).mkdir(),
    "fifo": lambda path: os.mkfifo(unlinked(path)),
    "loop": lambda path: unlinked(path).symlink_to(path.name),
    "link-to-nothing": lambda path: unlinked(path).symlink_to("nowhere"),
    "link-to-device": lambda path: unlinked(path).symlink_to("/dev/zero"),
    "link-to-process-memory": lambda path: unlinked(path).symlink_to("/proc/self/mem"),
    "link-to-other": lambda path: unlinked(path).symlink_to("005.jpg"),
}
CHANGED = r"data/030\.jpg has (changed|gone) since the plan was made; make the plan again"


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changed_is_told_and_the_others_go_on(olddog, folder, spec, change):
    lines = olddog.lines("read", "p.plan", "--digest=sample")
    CHANGES[change](folder / "030.jpg")
    p = olddog("read", "p.plan", "--digest=sample", "--state", "state", rc=1)
    assert re.search(CHANGED, p.stderr), p.stderr
    assert p.stdout.splitlines() == lines[:28]
    # What was not changed is still what it was, behind it too.
    assert olddog.lines("read", "p.plan", "--from", 32, "--digest=sample") == lines[32:]


@pytest.mark.parametrize("change", ["truncated", "replaced", "deleted"])
def test_a_skipping_job_does_not_take_changed_data_for_bad_ones(olddog, folder, spec, change):
    with spec.open("a") as f:
        f.write("on_error: {decode: skip, stop_above: 50%}\n")
    olddog("plan", spec, "-o", "p.plan")
    CHANGES[change](folder / "030.jpg")
    assert re.search(CHANGED, olddog("read", "p.plan", rc=1).stderr)


def test_a_plan_made_again_goes_on_where_the_other_stopped(olddog, folder, spec):
    lines = olddog.lines("read", "p.plan", "--digest=sample")
    replaced(folder / "030.jpg")
    first = olddog("read", "p.plan", "--digest=sample", "--state", "state", rc=1).stdout.splitlines()
    olddog("plan", spec, "-o", "p.plan")
    assert first + olddog.lines("read", "p.plan", "--state", "state", "--digest=sample") == lines


def test_a_file_that_may_no_longer_be_read_is_told(olddog, folder, spec):
    os.chmod(folder / "030.jpg", 0)
    p = subprocess.run([olddog.exe, "read", "p.plan"], cwd=olddog.cwd, preexec_fn=lose_powers, timeout=120, capture_output=True)
    said = p.stderr.decode()
    assert p.returncode == 1 and ("030.jpg has changed" in said or "030.jpg at byte 0: Permission denied" in said)


@pytest.mark.parametrize("there", ["nothing", "file", "fifo", "loop"])
def test_a_folder_that_goes_away_is_told(olddog, folder, spec, there):
    folder.rename(folder.with_name("elsewhere"))
    {"nothing": lambda: None, "file": folder.touch, "fifo": lambda: os.mkfifo(folder),
     "loop": lambda: folder.symlink_to("data")}[there]()
    said = olddog("read", "p.plan", rc=1).stderr
    assert re.search(r"data/000\.jpg has (changed|gone) since the plan was made", said), said


def test_files_that_change_while_they_are_read_never_give_other_bytes(olddog, folder, spec):
    """A rewriter at work from the first line on: each line is right, or the file is named."""
    lines = olddog.lines("read", "p.plan", "--digest=sample")
    reader = olddog.start("read", "p.plan", "--epochs", 0, "--digest=sample")
    got = [reader.read_line()]
    turn = 0
    while got[-1]:
        name = folder / f"{turn * 7 % N:03d}.jpg"
        data = name.read_bytes()
        if turn % 3 == 0:
            truncated(name)
        elif turn % 3 == 1:
            rewritten(name)
        else:
            name.unlink()
        name.write_bytes(data[:1 + turn * 97 % len(data)])
        turn += 1
        got.append(reader.read_line())
    rc, _, said = reader.wait()
    assert rc == 1 and re.search(r"data/\d\d\d\.jpg has (changed|gone) since the plan was made", said), said
    for i, line in enumerate("".join(got).splitlines()):
        assert line.split(" sha256=")[1] == lines[i % N].split(" sha256=")[1]


@pytest.mark.parametrize("how", ["rewritten", "grown", "replaced", "truncated"])
def test_an_archive_that_was_rewritten_in_place_is_told(olddog, folder, tar, tmp_path, how):
    shard = tar(tmp_path / "a.tar", [(f"{p.stem}.jpg", p.read_bytes()) for p in sorted(folder.iterdir())])
    (tmp_path / "t.yaml").write_text(SPEC.replace("'data'", "a.tar"))
    olddog("plan", "t.yaml", "-o", "t.plan")
    CHANGES[how](shard)
    said = olddog("read", "t.plan", rc=1).stderr
    assert "a.tar has changed since the plan was made; make the plan again" in said
    p = olddog("plan", "t.yaml", "-o", "t.plan", rc=None)
    assert p.returncode == (0 if how in ("grown", "replaced") else 1)
    assert p.returncode == 0 or "a.tar" in p.stderr


def test_what_is_no_file_is_passed_over_when_it_is_planned(olddog, folder, tmp_path):
    os.mkfifo(folder / "100.jpg")
    (folder / "101.jpg").symlink_to("101.jpg")
    (folder / "102.jpg").symlink_to("/dev/zero")
    (folder / "103.jpg").mkdir()
    (folder / "104.jpg").symlink_to("/nowhere")
    p = olddog("plan", folder, "-o", "p.plan")
    assert f"{N} samples" in p.stdout
    assert len(olddog.lines("read", "p.plan", "--digest=sample")) == N


def test_links_out_of_the_folder_are_followed(olddog, folder, tmp_path):
    """The folder is its user's own: people keep sets of links."""
    (tmp_path / "links").mkdir()
    for p in folder.iterdir():
        (tmp_path / "links" / p.name).symlink_to(p)
    assert (olddog.lines("read", "links", "--digest=sample") == olddog.lines("read", "data", "--digest=sample"))


NAMES = [b"line\nfeed", b"\xff\xfe\x80", b"e\xcc\x81", b"\xc3\xa9", b"Case", b"case", b"#fault=fail:1", b"100%25", b"http:x", b"{a,b}",
         b"*", b"?[x]", b" ", b"\x1b[2J", b"a" * 251, b"-o", b"~", b"\\", b"'\"", b"\xe2\x80\xae"]


def test_strange_names_are_names(olddog, media, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    pictures = sorted((media / "set").glob("*.jpg"))
    for name, picture in zip(NAMES, pictures):
        shutil.copyfile(picture, os.path.join(os.fsencode(data), name + b".jpg"))
    for i, picture in enumerate(pictures[:len(NAMES)]):
        (tmp_path / "plain").mkdir(exist_ok=True)
        order = sorted(NAMES, key=lambda n: n + b".jpg").index(NAMES[i])
        shutil.copyfile(picture, tmp_path / "plain" / f"{order:02d}.jpg")
    p = olddog("plan", "data", "-o", "p.plan")
    assert f"{len(NAMES)} samples" in p.stdout and "\x1b" not in p.stdout + p.stderr
    want = [line.split(" for=")[0] for line in olddog.lines("read", "plain", "--digest=sample")]
    assert olddog.lines("read", "p.plan", "--digest=sample") == want
    # Told, they are one line for a terminal.
    os.truncate(os.path.join(os.fsencode(data), b"line\nfeed.jpg"), 5)
    os.truncate(os.path.join(os.fsencode(data), b"\x1b[2J.jpg"), 5)
    said = olddog("read", "p.plan", rc=1).stderr
    assert "has changed since the plan was made" in said and "\x1b" not in said and said.count("\n") == 1


def deep_folders(top, n, name):
    """n folders, one in another; a path is longer than the kernel takes at once."""
    fd = os.open(top, os.O_RDONLY)
    for _ in range(n):
        os.mkdir(name, dir_fd=fd)
        below = os.open(name, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    return fd


@pytest.mark.parametrize("n, length", [(300, 1), (40, 200)])
def test_folders_deeper_than_a_path_may_be_are_told_or_read(olddog, media, tmp_path, n, length):
    data = tmp_path / "data"
    data.mkdir()
    shutil.copyfile(sorted((media / "set").glob("*.jpg"))[0], data / "a.jpg")
    fd = deep_folders(data, n, "d" * length)
    try:
        os.close(os.open("deep.jpg", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
        p = olddog("plan", "data", "-o", "p.plan", rc=None)
        assert p.returncode in (0, 1)
        said = p.stdout + p.stderr
        assert "data" in said and len(said) < 8192
        if p.returncode == 1:
            assert re.search("deep|name too long|too long", said, re.IGNORECASE)
    finally:
        os.close(fd)
        subprocess.run(["rm", "-rf", data], check=True)


def test_a_hundred_thousand_names_in_one_folder(olddog, tmp_path):
    n = 100_000 if os.environ.get("OLDDOG_FULL") == "1" else 20_000
    data = tmp_path / "data"
    data.mkdir()
    fd = os.open(data, os.O_RDONLY)
    for i in range(n):
        os.close(os.open(f"{i * 7919 % 100_003:06d}.txt", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.close(fd)
    assert f"{n:,} samples" in olddog("plan", "data", "-o", "p.plan").stdout
    assert len(olddog.lines("read", "p.plan", "--from", n - 10, "--digest=sample")) == 10

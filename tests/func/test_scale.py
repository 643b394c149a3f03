# SPDX-License-Identifier: Apache-2.0
"""Much of everything: files, epochs, workers. Folders give the digests of archives of the same; nothing grows with time."""

import json
import os
import statistics
from pathlib import Path

import pytest
from python_help import scripts  # noqa: F401 (fixture)
from test_python_faults import job, the_loader  # noqa: F401 (fixture)

FIELDS = "fields: {text: {from: txt}, label: {from: num, as: int}}\nseed: 3\norder: shuffle\nglobal_batch: 64\n"


def n_samples():
    """Two files each."""
    return 50000 if os.environ.get("OLDDOG_FULL") == "1" else 5000


def members(i):
    return [(f"{i:06d}.num", b"%d" % (i * 7)), (f"{i:06d}.txt", f"text {i}".encode() * (i % 5 + 1))]


def write_spec(path, data):
    path.write_text(f"sources: [{{data: '{data}'}}]\n" + FIELDS)
    return path


@pytest.fixture(scope="module")
def archives(tar, tmp_path_factory):
    folder = tmp_path_factory.mktemp("archives")
    n = n_samples()
    for k in range(10):
        tar(folder / f"{k}.tar", [m for i in range(k * n // 10, (k + 1) * n // 10) for m in members(i)])
    return folder


@pytest.mark.parametrize("nested", [False, True])
def test_many_files_are_planned_read_and_resumed_as_archives_are(olddog, archives, tmp_path, nested):
    n = n_samples()
    for i in range(n):
        folder = tmp_path / "data" / (f"{i // 1000:02d}/{i // 100 % 10}/{i // 10 % 10}" if nested else "")
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in members(i):
            (folder / name).write_bytes(data)
    olddog("plan", write_spec(tmp_path / "a.yaml", f"{archives}/*.tar"), "-o", "a.plan")
    found = json.loads(olddog("plan", write_spec(tmp_path / "f.yaml", "data"), "-o", "f.plan", "--json").stdout)
    assert found["samples"] == n, found
    want = olddog.lines("read", "a.plan", "--digest=sample")
    assert len(want) == n
    first = olddog.lines("read", "f.plan", "--digest=sample", "--samples", 999, "--state", "state")
    rest = olddog.lines("read", "f.plan", "--digest=sample", "--state", "state")
    assert [line.split()[1] for line in first + rest] == [line.split()[1] for line in want]


EPOCHS = """
import olddog, os, sys
loader = olddog.Loader("a.plan", batch=8, workers=1, job=sys.argv[1])
print("open", flush=True)
for epoch in range(2000):
    n = sum(batch.n_real for batch in loader)
    assert n == 16 and loader.epoch == epoch + 1
    if epoch % 100 == 99:
        print(epoch, flush=True)
        input()
"""


def use(pid):
    """Kilobytes of its own and descriptors."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("RssAnon:")[1].split()[0]), len(os.listdir(f"/proc/{pid}/fd"))


@pytest.mark.plain  # a sanitizer keeps what was freed
def test_thousands_of_epochs_leave_nothing_behind(olddog, tar, tmp_path, job, scripts):  # noqa: F811
    tar(tmp_path / "a.tar", [m for i in range(16) for m in members(i)])
    olddog("plan", write_spec(tmp_path / "a.yaml", tmp_path / "a.tar"), "-o", "a.plan")
    script = scripts(f"import os\nos.chdir({str(tmp_path)!r})\n{EPOCHS}", job)
    assert script.line() == "open"
    pids = [script.popen.pid, the_loader(job)]
    seen = []
    for _ in range(20):
        script.line()
        seen.append([use(pid) for pid in pids])
        script.go()
    script.end()
    for k in range(len(pids)):
        then, now = ([statistics.median(s[k][what] for s in part) for what in (0, 1)] for part in (seen[2:7], seen[-5:]))
        assert now[0] <= then[0] + 512 and now[1] <= then[1] + 2, (k, then, now)


def test_hundreds_of_workers_for_few_samples(olddog, tar, tmp_path):
    png = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
                        "0000000c49444154789c63f8ffff3f0005fe02fe0def46b80000000049454e44ae426082")
    tar(tmp_path / "p.tar", [(f"{i:03d}.png", png) for i in range(300)])
    want = olddog.lines("read", tmp_path / "p.tar", "--digest=sample", "--workers", 1)
    assert len(want) == 300
    assert olddog.lines("read", tmp_path / "p.tar", "--digest=sample", "--workers", 256) == want
    assert "1024" in olddog("read", tmp_path / "p.tar", "--workers", 1025, rc=2).stderr

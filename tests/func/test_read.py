# SPDX-License-Identifier: Apache-2.0
"""olddog read: the same lines whatever the ranks, the place it goes on from, and what happens to its workers."""

import hashlib
import json
import os
import random
import re
import select
import signal
import struct
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

SPEC = """
sources: [{{data: '{data}'}}]
fields:
  image: {{from: [jpg], random_resized_crop: 64, hflip: 0.5, normalize: imagenet, dtype: float32, layout: chw}}
  label: {{from: cls, as: int}}
  txt: {{from: txt, as: text}}
seed: 11
order: {order}
global_batch: 16
{more}
"""

ORDERS = {"sequential": "sequential", "shuffle": "shuffle", "window": "{shuffle: {window: 40, shards: 4}}"}


def write_spec(folder, data, order="shuffle", more=""):
    path = folder / f"{order}.yaml"
    path.write_text(SPEC.format(data=data, order=ORDERS[order], more=more))
    return path


def position(line):
    return int(re.match(r"position=(\d+) sha256=[0-9a-f]{64}", line).group(1))


def add(h, name, kind, a):
    """As doc/design/0009-digest.md has it."""
    for s in (name, kind):
        h.update(struct.pack("<Q", len(s)) + s.encode())
    h.update(struct.pack("<I", a.ndim) + struct.pack(f"<{a.ndim}Q", *a.shape) + a.tobytes())


def picture_line(i, path):
    h = hashlib.sha256()
    with Image.open(path) as picture:
        add(h, "jpg", "uint8", np.asarray(picture.convert("RGB")))
    return f"position={i} sha256={h.hexdigest()}"


def test_a_folder_of_photographs_is_what_pillow_makes_of_it(olddog, media):
    pictures = sorted((media / "set").glob("*.jpg"))[:100]
    got = olddog.lines("read", media / "set", "--samples", 100, "--digest=sample")
    assert got == [picture_line(i, p) for i, p in enumerate(pictures)]


@pytest.mark.parametrize("order", ORDERS)
def test_ranks_share_out_the_same_lines(olddog, set_shards, tmp_path, order):
    spec = write_spec(tmp_path, f"{set_shards[0]}/*.tar", order)
    whole = olddog.lines("read", spec, "--digest=sample")
    assert [position(line) for line in whole] == list(range(100))
    for size in (3, 8):
        ranks = [olddog.lines("read", spec, "--dp-rank", r, "--dp-size", size, "--digest=sample") for r in range(size)]
        assert sorted(sum(ranks, []), key=position) == whole


def test_text_and_labels_are_delivered_as_they_are(olddog, set_shards, tmp_path):
    spec = write_spec(tmp_path, f"{set_shards[0]}/*.tar", "sequential")
    got = olddog.lines("read", spec, "--samples", 20, "--field", "txt", "--field", "label", "--digest=sample")
    for i, line in enumerate(got):
        h = hashlib.sha256()
        add(h, "txt", "text", np.frombuffer(f"picture {i}".encode(), np.uint8))
        add(h, "label", "int64", np.array(i % 7, np.int64))
        assert line == f"position={i} sha256={h.hexdigest()}"


def test_a_run_goes_on_where_another_ended(olddog, set_shards, tmp_path):
    spec = write_spec(tmp_path, f"{set_shards[0]}/*.tar")
    epochs = ("--epochs", 3, "--digest=sample")
    whole = olddog.lines("read", spec, *epochs)
    assert len(whole) == 300
    assert olddog.lines("read", spec, "--from", 137, "--epochs", 2, "--digest=sample") == whole[137:]
    state = tmp_path / "state.json"
    parts = [olddog.lines("read", spec, *epochs, "--samples", n, "--state", state) for n in (5, 32, 48, 15)]
    assert sum(parts, []) == whole[:100]
    assert json.loads(state.read_text())["consumed"] == 100


def test_batches_keep_their_numbers_when_a_run_goes_on(olddog, set_shards, tmp_path):
    spec = write_spec(tmp_path, f"{set_shards[0]}/*.tar")
    whole = olddog.lines("read", spec, "--epochs", 2, "--digest=batch")
    assert [line.split()[0] for line in whole] == [f"batch={i}" for i in range(14)]
    assert olddog.lines("read", spec, "--from", 48, "--epochs", 2, "--digest=batch") == whole[3:]


def test_another_order_is_refused(olddog, set_shards, tmp_path):
    state = tmp_path / "state.json"
    a = write_spec(tmp_path, f"{set_shards[0]}/*.tar", "shuffle")
    b = write_spec(tmp_path, f"{set_shards[0]}/*.tar", "sequential")
    olddog("read", a, "--samples", 3, "--state", state)
    said = olddog("read", b, "--samples", 3, "--state", state, rc=1).stderr
    assert "order" in said and "seed or shuffle" in said


def test_unequal_shapes_are_refused_with_words(olddog, media):
    said = olddog("read", media / "set", "--samples", 40, rc=1).stderr
    assert "needs equal shapes" in said and "375x500x3" in said and "500x375x3" in said


@pytest.mark.parametrize("sig, chance", [(signal.SIGKILL, 0.02), (signal.SIGSTOP, 0.004)])
def test_workers_may_be_killed_or_stopped_at_any_time(olddog, set_shards, tmp_path, sig, chance):
    spec = write_spec(tmp_path, f"{set_shards[0]}/*.tar")
    args = ("read", spec, "--epochs", 12, "--digest=sample", "--workers", 2, "--time-limit", 4)
    whole = olddog.lines(*args)
    run = olddog.start(*args)
    dice = random.Random(5)
    got, n_hit = [], 0
    while line := run.read_line():
        got.append(line.rstrip("\n"))
        if dice.random() < chance:
            n_hit += sum(_signal(pid, sig) for pid in run.children("olddog-worker")[:1])
    rc, _, said = run.wait()
    assert rc == 0, said
    assert n_hit > 0
    assert got == whole


def _signal(pid, sig):
    try:
        os.kill(pid, sig)
    except ProcessLookupError:
        return False
    return True


def test_workers_end_with_their_owner_even_when_stopped(olddog, set_shards, tmp_path):
    spec = write_spec(tmp_path, f"{set_shards[0]}/*.tar")
    run = olddog.start("read", spec, "--epochs", 0, "--digest=sample", "--workers", 2)
    assert run.read_line()
    workers = run.children("olddog-worker")
    handles = [os.pidfd_open(pid) for pid in workers]
    assert handles
    for pid in workers:
        os.kill(pid, signal.SIGSTOP)
    run.kill(signal.SIGKILL)
    for h in handles:
        assert select.select([h], [], [], 60)[0]
        os.close(h)
    run.wait()


def test_an_interrupted_run_says_where_to_go_on(olddog, set_shards, tmp_path):
    spec = write_spec(tmp_path, f"{set_shards[0]}/*.tar")
    state = tmp_path / "state.json"
    run = olddog.start("read", spec, "--epochs", 0, "--digest=sample", "--state", state)
    got = [run.read_line().rstrip("\n") for _ in range(20)]
    run.kill(signal.SIGINT)
    while line := run.read_line():
        got.append(line.rstrip("\n"))
    rc, _, said = run.wait()
    assert rc == 1
    consumed = int(re.search(r"interrupted; go on with --from (\d+)", said).group(1))
    assert consumed == len(got) == json.loads(state.read_text())["consumed"]
    more = olddog.lines("read", spec, "--from", consumed, "--epochs", 0, "--samples", 20, "--digest=sample")
    assert [position(line) for line in got + more] == list(range(consumed + 20))


BAD = {3: "jpg", 40: "cls", 77: "txt"}


@pytest.fixture
def with_bad_samples(media, tar, tmp_path):
    """One shard of 100 samples, three of them bad."""
    members = []
    pictures = sorted((media / "set").glob("*.jpg"))[:100]
    for i, picture in enumerate(pictures):
        fields = {"cls": b"%d" % i, "jpg": picture.read_bytes(), "txt": b"fine"}
        if i in BAD:
            fields[BAD[i]] = {"jpg": picture.read_bytes()[:9000], "cls": b"seven", "txt": b"\xff"}[BAD[i]]
        members += [(f"s{i:03d}.{k}", v) for k, v in fields.items()]
    return tar(tmp_path / "bad.tar", members)


def test_a_bad_sample_stops_the_job_and_is_named(olddog, with_bad_samples, tmp_path):
    spec = write_spec(tmp_path, with_bad_samples, "sequential")
    said = olddog("read", spec, rc=1).stderr
    assert "position 3, sample s003" in said and "bad.tar at byte " in said
    said = olddog("read", spec, "--from", 4, rc=1).stderr
    assert "position 40, sample s040" in said and 'not a whole number: "seven"' in said
    said = olddog("read", spec, "--from", 41, rc=1).stderr
    assert "position 77, sample s077" in said and "UTF-8" in said


def test_a_bad_sample_is_stood_in_for(olddog, with_bad_samples, tmp_path):
    spec = write_spec(tmp_path, with_bad_samples, "sequential", "on_error: {decode: skip, stop_above: 1%}")
    got = olddog.lines("read", spec, "--digest=sample")
    assert [position(line) for line in got] == list(range(100))
    assert {i: line.split(" for=")[1] for i, line in enumerate(got) if " for=" in line} == {i: f"s{i:03d}" for i in BAD}
    ranks = [olddog.lines("read", spec, "--dp-rank", r, "--dp-size", 3, "--digest=sample") for r in range(3)]
    assert sorted(sum(ranks, []), key=position) == got


def test_too_many_bad_samples_stop_the_job(olddog, with_bad_samples, tmp_path):
    spec = write_spec(tmp_path, with_bad_samples, "sequential", "on_error: {decode: skip, stop_above: 0.02%}")
    said = olddog("read", spec, rc=1).stderr
    assert "3 of the last 10000 positions were bad samples" in said


def test_data_that_changed_is_an_error_with_words(olddog, set_shards, tar, tmp_path):
    shard = tmp_path / "moving.tar"
    shard.write_bytes((set_shards[0] / "00000.tar").read_bytes())
    spec = write_spec(tmp_path, shard)
    olddog("plan", spec, "-o", tmp_path / "x.plan")
    shard.write_bytes((set_shards[0] / "00001.tar").read_bytes())
    said = olddog("read", tmp_path / "x.plan", rc=1).stderr
    assert "changed since the plan was made" in said


def test_arrays_are_written_as_numpy_reads_them(olddog, set_shards, tmp_path):
    spec = write_spec(tmp_path, f"{set_shards[0]}/*.tar", "sequential")
    olddog("read", spec, "--samples", 3, "--out", tmp_path / "out")
    lines = olddog.lines("read", spec, "--samples", 3, "--digest=sample")
    for i, line in enumerate(lines):
        arrays = {f: np.load(tmp_path / "out" / f"{i}.{f}.npy") for f in ("image", "label", "txt")}
        assert arrays["image"].shape == (3, 64, 64) and arrays["image"].dtype == np.float32
        h = hashlib.sha256()
        add(h, "image", "float32", arrays["image"])
        add(h, "label", "int64", arrays["label"])
        add(h, "txt", "text", arrays["txt"])
        assert line.endswith(h.hexdigest())


def test_figures_come_as_a_table_and_as_json(olddog, set_shards, tmp_path):
    spec = write_spec(tmp_path, f"{set_shards[0]}/*.tar")
    assert "samples/s" in olddog("read", spec).stdout
    figures = json.loads(olddog("read", spec, "--json").stdout)
    assert figures["samples"] == figures["consumed"] == 100 and figures["bad"] == 0
    assert figures["workers_cpu_ms_per_sample"] > 0


def test_the_page_names_every_option(olddog):
    page = (Path(__file__).parents[2] / "doc/man/olddog-read.1.scd").read_text()
    for name in re.findall(r"--[a-z-]+", olddog("read", "--help").stdout):
        assert name in page or name == "--help"


@pytest.mark.parametrize("args", [("--digest=md5",), ("--dp-rank", 3, "--dp-size", 3), ("--workers", 99999),
                                  ("--batch", 0)])
def test_wrong_usage_is_2(olddog, media, args):
    assert olddog("read", media / "set", *args, rc=2).stderr

# SPDX-License-Identifier: Apache-2.0
"""Pixels against Pillow 13.0.0: every file of real media, and random chains over them, region decode included."""

import csv
import os
import random
import subprocess
import warnings
from pathlib import Path

import numpy as np
import PIL
import pixel_reference as reference
import pytest
from PIL import Image

TABLE = Path(__file__).resolve().parents[1] / "data" / "odd-files.tsv"
FOLDERS = ("photos", "photos-odd", "photos-broken", "photos-derived")
N_OF_SET = 200


@pytest.fixture(scope="module", autouse=True)
def quiet_pillow():
    assert PIL.__version__ == "13.0.0", "the reference is Pillow 13.0.0 (scripts/venv installs it)"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture(scope="module")
def media_run(build):
    """Runs jobs (file, chain, position, seed) and gives their lines; by a set of loops of one's choice."""
    def run(jobs, kernel=None):
        text = "".join("%s\t%s\t%d\t%d\n" % job for job in jobs)
        env = {**os.environ, "OLDDOG_KERNEL": kernel} if kernel else None
        done = subprocess.run([build / "tests" / "media-run"], input=text, capture_output=True, text=True, env=env)
        assert done.returncode == 0, done.stderr[-4000:]
        lines = done.stdout.splitlines()
        assert len(lines) == len(jobs)
        return lines
    return run


def table():
    with open(TABLE, newline="", encoding="utf-8") as f:
        rows = csv.DictReader((line for line in f if not line.startswith("#")), delimiter="\t")
        return {row["file"]: row for row in rows}


def without_warnings(line):
    return line if line.startswith("!") else line.rpartition(" ")[0]


def compare(jobs, lines):
    """Decodes each file once for all its jobs, which stand together."""
    image, name, differ = None, None, []
    for (path, chain, position, seed), line in zip(jobs, lines):
        if path != name:
            name, image = path, Image.open(path)
            image.load()
        try:
            want = reference.result(image, chain, position, seed)
        except reference.Refused:
            want = "! E_REFUSED_SAMPLE"
        if not line.startswith(want):
            differ.append(f"{path} {chain} position {position}: {line}, Pillow {want}")
    assert not differ, "%d of %d differ:\n%s" % (len(differ), len(jobs), "\n".join(differ[:20]))


def test_the_table_has_every_file(media):
    names = {f"{folder}/{path.name}" for folder in FOLDERS for path in (media / folder).iterdir()}
    assert names == set(table())


def test_files_that_the_table_calls_equal_are(media, media_run):
    chains = [f"mode={mode};orientation={o}" for mode in ("rgb", "gray", "keep") for o in ("apply", "ignore")]
    files = [media / name for name, row in table().items() if row["rule"] == "equal"]
    jobs = [(path, chain, 0, 0) for path in files for chain in chains]
    compare(jobs, media_run(jobs))


def test_files_with_a_rule_of_their_own_keep_to_it(media, media_run):
    rows = [row for row in table().values() if row["rule"] == "own"]
    lines = media_run([(media / row["file"], "mode=rgb;orientation=apply", 0, 0) for row in rows])
    assert [without_warnings(line) for line in lines] == [row["result"] for row in rows]


def test_files_that_the_table_refuses_are(media, media_run):
    rows = [row for row in table().values() if row["rule"] == "refused"]
    lines = media_run([(media / row["file"], "mode=rgb", 0, 0) for row in rows])
    assert [line.split()[1] for line in lines] == [row["result"] for row in rows]
    assert all(len(line.split()) > 4 for line in lines), "no words"


def test_16_bit_grey_is_its_high_byte(media, media_run):
    """Where Pillow's convert() clips at 255."""
    path = media / "photos-derived" / "grey16.png"
    want = (np.asarray(Image.open(path)) >> 8).astype(np.uint8)
    line = media_run([(path, "mode=gray", 0, 0)])[0]
    assert line.split()[3] == reference.hashlib.sha256(want.tobytes()).hexdigest()


def test_the_set_is_equal(media, media_run):
    jobs = [(path, "mode=rgb", 0, 0) for path in sorted((media / "set").glob("*.jpg"))[:N_OF_SET]]
    assert len(jobs) >= 100
    compare(jobs, media_run(jobs))


def random_chain(rng, width, height):
    """A chain of one to five steps that begins with a crop."""
    how = rng.choice(("box", "bilinear", "bicubic"))
    side = rng.choice((1, 7, 64, 160, 224, 224, 224, 400, 700))
    size = f"{side},{rng.choice((side, side, rng.randint(1, 500)))}"
    first = rng.choice((
        f"random_resized_crop={size},{how},0.08,1,0.75,1.3333333333333333",
        f"random_resized_crop={size},{how},0.0001,0.02,0.1,10",
        f"random_crop={rng.randint(1, height)},{rng.randint(1, width)};resize={size},{how}",
        f"random_crop={rng.randint(1, height)},{rng.randint(1, width)}",
        f"resize={rng.randint(1, 300)},0,{how};center_crop=40,40",
        f"resize={size},{how}",
        f"center_crop={rng.randint(1, height)},{rng.randint(1, width)};pad={size}",
    ))
    rest = [step for step in ("hflip=0.5", "vflip=0.5", "grayscale=0.2", f"resize=50,0,{how}", "pad=60,70")
            if rng.random() < 0.3]
    mode = rng.choice(("mode=rgb;",) * 8 + ("mode=gray;", "mode=keep;orientation=ignore;"))
    return mode + ";".join([first, *rest])


def reasonable(chain, width, height):
    """Keeps the shorter-side resizes of very long images out, which are refused by their size."""
    return max(width, height) <= 60 * min(width, height) or ",0," not in chain


def test_random_chains_are_equal(media, media_run, n_crops):
    rng = random.Random(13)
    equal = {name for name, row in table().items() if row["rule"] == "equal"}
    odd = [media / n for n in sorted(equal) if not n.startswith("photos/")]
    files = sorted((media / "set").glob("*.jpg")) + 3 * odd
    jobs = []
    while len(jobs) < n_crops:
        path = rng.choice(files)
        width, height = Image.open(path).size
        for _ in range(4):
            side = min(width, height) if "orientation" in path.name else 0
            chain = random_chain(rng, side or width, side or height)
            if reasonable(chain, width, height):
                jobs.append((path, chain, rng.getrandbits(40), rng.getrandbits(64)))
    best = media_run(jobs)
    compare(jobs, best)
    # In make test, a share of them; a set that the processor lacks is the best one again.
    n = len(jobs) if n_crops >= 10000 else len(jobs) // 2
    for kernel in ("scalar", "avx2"):
        assert media_run(jobs[:n], kernel) == best[:n], kernel


def test_large_photographs_are_equal_in_regions(media, media_run):
    rng = random.Random(14)
    files = [media / n for n, row in sorted(table().items()) if n.startswith("photos/") and row["rule"] == "equal"]
    jobs = [(path, "random_resized_crop=224,224,bilinear,0.01,0.5,0.75,1.3333333333333333;hflip=0.5", rng.getrandbits(30), 5)
            for path in rng.sample(files, 20) for _ in range(2)]
    compare(jobs, media_run(jobs))

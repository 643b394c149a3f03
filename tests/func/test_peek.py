# SPDX-License-Identifier: Apache-2.0
"""olddog peek shows what training would get."""

import io
import json
import tarfile

import numpy as np
import pytest
from PIL import Image

SPEC = """
sources: [{data: data.tar}]
fields:
  image: {from: jpg, decode: rgb, random_resized_crop: 32, hflip: 0.5, %s}
  text: {from: txt, as: text}
  label: {from: cls, as: int}
seed: 5
order: shuffle
"""


@pytest.fixture
def data(tmp_path):
    """An archive of twelve pictures with captions and labels, and two specs that differ in normalize, dtype, layout."""
    rng = np.random.default_rng(1)
    with tarfile.open(tmp_path / "data.tar", "w") as t:
        for i in range(12):
            picture = io.BytesIO()
            Image.fromarray(rng.integers(0, 255, (40 + i, 60, 3), np.uint8)).save(picture, "JPEG")
            for ext, body in (("jpg", picture.getvalue()), ("txt", f"caption \u00e4 {i}".encode()), ("cls", b"%d" % i)):
                info = tarfile.TarInfo(f"{i:04d}.{ext}")
                info.size = len(body)
                t.addfile(info, io.BytesIO(body))
    (tmp_path / "train.yaml").write_text(SPEC % "normalize: imagenet, dtype: float32, layout: chw")
    (tmp_path / "bytes.yaml").write_text(SPEC % "dtype: uint8, layout: hwc")
    return tmp_path


def test_pictures_are_the_ones_of_training(olddog, data):
    olddog("plan", "train.yaml", "-o", "train.plan")
    rows = json.loads(olddog("peek", "train.plan", "-n", 6, "--from", 3, "-o", "look", "--json").stdout)
    olddog("read", "bytes.yaml", "--from", 3, "--samples", 6, "--out", "read")
    assert [r["position"] for r in rows] == list(range(3, 9))
    for r in rows:
        png = np.asarray(Image.open(data / r["fields"]["image"]["file"]))
        npy = np.load(data / "read" / f"{r['position']}.image.npy")
        assert r["fields"]["image"]["shape"] == [32, 32, 3] and (png == npy).all()
        i = int(r["key"])
        assert r["fields"]["label"] == i
        assert r["fields"]["text"]["text"] == f"caption \u00e4 {i}"
        assert (data / r["fields"]["text"]["file"]).read_text(encoding="utf-8") == f"caption \u00e4 {i}"


def test_the_table_has_key_shape_text_and_number(olddog, data):
    lines = olddog("peek", "train.yaml", "-n", 1).stdout.splitlines()
    assert lines[0].startswith("position 0  00")
    assert "32 x 32 x 3  ./0.image.png" in lines[1]
    assert "caption" in lines[2] and "./0.text.txt" in lines[2]
    assert lines[3].split()[0] == "label" and int(lines[3].split()[1]) in range(12)


def test_grey_pictures_stay_grey(olddog, tmp_path):
    (tmp_path / "in").mkdir()
    pixels = np.arange(35 * 21, dtype=np.uint16).astype(np.uint8).reshape(35, 21)
    Image.fromarray(pixels).save(tmp_path / "in" / "a.png")
    (tmp_path / "s.yaml").write_text("sources: [{data: in}]\nfields: {image: {from: png, decode: gray}}\n")
    olddog("peek", "s.yaml")
    assert (np.asarray(Image.open(tmp_path / "0.image.png")) == pixels).all()


def test_what_cannot_be_shown_is_told(olddog, data):
    assert "--from" in olddog("peek", "--help").stdout
    assert olddog("peek", "nowhere.plan", rc=1).stderr
    assert olddog("peek", "train.yaml", "-n", 0, rc=2).stderr
    (data / "look").write_text("a file")
    assert "look" in olddog("peek", "train.yaml", "-o", "look", rc=1).stderr


def test_data_that_changed_since_is_an_error(olddog, data):
    olddog("plan", "train.yaml", "-o", "train.plan")
    (data / "data.tar").write_bytes((data / "data.tar").read_bytes())
    assert "changed" in olddog("peek", "train.plan", rc=1).stderr


def test_numbers_are_shown_whatever_their_width(olddog, tmp_path):
    for name, text in (("a", "0.5"), ("b", "-1.25")):
        (tmp_path / "data").mkdir(exist_ok=True)
        (tmp_path / "data" / f"{name}.cls").write_text(text)
    for dtype in ("float32", "float64"):
        (tmp_path / "spec.yaml").write_text(
            f"sources: [{{data: data, format: files}}]\nfields: {{x: {{from: cls, as: float, dtype: {dtype}}}}}\n")
        rows = json.loads(olddog("peek", "spec.yaml", "-n", 2, "--json").stdout)
        assert [r["fields"]["x"] for r in rows] == [0.5, -1.25]

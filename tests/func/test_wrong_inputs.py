# SPDX-License-Identifier: Apache-2.0
"""What people give by mistake in their first minutes, and the words that help: what was asked, what was found, what to do."""

import re
import shutil
import subprocess
import sys
import tarfile

import pytest
from conftest import ROOT
from python_help import olddog as package


@pytest.fixture
def place(tmp_path, media):
    """A folder of a few pictures, by the name of pics."""
    (tmp_path / "pics").mkdir()
    for path in sorted((media / "set").glob("*.jpg"))[:4]:
        shutil.copy(path, tmp_path / "pics")
    return tmp_path


def fill(folder, **files):
    folder.mkdir()
    for name, content in files.items():
        (folder / name.replace("_", ".")).write_text(content)
    return folder


def wrong(olddog, *args, rc=1):
    """What it says: one line, that begins with the program's name."""
    said = olddog(*args, rc=rc).stderr
    assert said.startswith("olddog: ") and said.count("\n") == 1, said
    return said


# --- data

def test_a_path_with_a_slip(olddog, place):
    assert "picz: no such file or directory; beside it is pics" in wrong(olddog, "plan", "picz", "-o", "p.plan")
    assert "beside it" not in wrong(olddog, "plan", "elsewhere", "-o", "p.plan")
    assert not (place / "p.plan").exists()


def test_a_folder_without_a_picture_that_is_read(olddog, place):
    fill(place / "phone", a_heic="x", b_mp4="x", c_bmp="x")
    said = wrong(olddog, "plan", "phone", "-o", "p.plan")
    assert "no extension is in at least half of the 3 samples" in said and "heic" in said and "jpg, jpeg, png, webp" in said


def test_an_empty_folder_and_a_glob_without_a_match(olddog, place):
    (place / "empty").mkdir()
    for data in ("empty", "*.tar"):
        assert f"{data}: no file is there or matches" in wrong(olddog, "plan", data, "-o", "p.plan")


def test_compressed_archives(olddog, place):
    with tarfile.open(place / "a.tar.gz", "w:gz") as tar:
        tar.add(place / "pics", "pics")
    said = wrong(olddog, "plan", "a.tar.gz", "-o", "p.plan")
    assert "compressed" in said and "unpack them to plain tars" in said


@pytest.mark.parametrize("name", ["a.parquet", "train.tfrecord", "data.mdb", "x.beton", "all.zip"])
def test_archives_of_other_loaders(olddog, place, name):
    (place / name).write_bytes(b"PAR1")
    said = wrong(olddog, "plan", name, "-o", "p.plan")
    assert name in said and "WebDataset" in said and "format: files" in said


def test_a_glob_that_the_shell_expanded_is_no_mistake(olddog, place):
    pictures = sorted(p.relative_to(place) for p in (place / "pics").iterdir())
    olddog("plan", *pictures, "-o", "expanded.plan")
    olddog("plan", "pics/*.jpg", "-o", "quoted.plan")
    ids = [re.search(r"id ([0-9a-f]{8})", olddog("plan", place / "pics", "-o", f"{i}.plan").stdout)[1] for i in range(2)]
    assert ids[0] == ids[1]


def test_a_store_that_is_not_built(olddog, place):
    said = wrong(olddog, "plan", "s3://cluster/train", "-o", "p.plan")
    assert said.count("s3://cluster/train") == 2 and "there is no store s3: here" in said


# --- specs

@pytest.mark.parametrize("text, words", [
    ("ordr: shuffle", "`ordr` is not a key here; the nearest is `order`"),
    ("order: shufle", "`order` is `shufle`; write sequential | shuffle"),
    ("fields:\n\timage: {from: jpg}", "the line is indented by a tab; YAML wants spaces"),
    ("fields: {image: {from: jpg, random_resized_crop: large}}", "`random_resized_crop` is `large`"),
    ("fields: {image: {from: [jpg}", "this is not YAML"),
    ("balance: cost", "balance"),
])
def test_a_slip_in_a_spec_names_file_and_line(olddog, place, text, words):
    (place / "mine.yaml").write_text(f"sources: [{{data: pics}}]\n{text}\n")
    said = wrong(olddog, "plan", "mine.yaml", "-o", "p.plan")
    assert words in said and re.search(r"mine\.yaml:[23]: ", said), said


def test_an_extension_that_no_sample_has(olddog, place):
    (place / "mine.yaml").write_text("sources: [{data: pics}]\nfields: {image: {from: jgp}}\n")
    said = wrong(olddog, "plan", "mine.yaml", "-o", "p.plan")
    assert "has no image (from: jgp)" in said and "on_missing" in said


# --- plans

def test_a_plan_where_data_is_meant(olddog, place):
    olddog("plan", "pics", "-o", "p.plan")
    said = wrong(olddog, "plan", "p.plan", "-o", "q.plan")
    assert "p.plan is a plan" in said and "name its data or its spec" in said


def test_a_folder_that_is_no_plan_and_a_plan_that_is_half_made(olddog, place):
    (place / "mine.plan").mkdir()
    assert "mine.plan is no plan: it has no plan.json; olddog plan DATA -o mine.plan makes one" in wrong(olddog, "read", "mine.plan")
    olddog("plan", "pics", "-o", "p.plan")
    (place / "p.plan/plan.json").unlink()
    assert "the plan is not finished: run the same olddog plan again" in wrong(olddog, "read", "p.plan")


def test_a_plan_of_a_later_olddog(olddog, place):
    olddog("plan", "pics", "-o", "p.plan")
    path = place / "p.plan/plan.json"
    path.write_text(path.read_text().replace('"v": 1', '"v": 7'))
    assert re.search(r"p\.plan.*version 7", wrong(olddog, "read", "p.plan"))


def test_data_that_changed_or_went_since_the_plan(olddog, place):
    olddog("plan", "pics", "-o", "p.plan")
    first, second = sorted((place / "pics").iterdir())[:2]
    first.write_bytes(second.read_bytes())
    assert "has changed since the plan was made; make the plan again" in wrong(olddog, "read", "p.plan", "--digest=sample")
    first.unlink()
    assert "has gone since the plan was made; make the plan again" in wrong(olddog, "read", "p.plan", "--digest=sample")


# --- the command line

@pytest.mark.parametrize("args, words", [
    (("reed", "p.plan"), "no such verb; did you mean read?"),
    (("read", "pics", "--sampels", "3"), "no such option; did you mean --samples?"),
    (("read", "pics", "--samples", "-1"), "--samples -1: not a whole number"),
    (("read", "pics", "--dp-rank", "8", "--dp-size", "8"), "ranks go from 0 to dp-size - 1"),
    (("read", "pics", "--digest=all"), "it is either batch or sample"),
    (("plan", "pics"), "where to? -o X.plan"),
    ((), "which verb?"),
])
def test_wrong_usage_ends_with_2(olddog, place, args, words):
    assert words in wrong(olddog, *args, rc=2)


# --- Python

@pytest.mark.parametrize("conf, error, words", [
    ({"batch": 0}, ValueError, "batch=0; it must be 1 to"),
    ({"batch": 1.5}, TypeError, "batch=1.5 is a float; it must be an integer"),
    ({"dp_rank": 8, "dp_size": 8}, ValueError, "ranks go from 0 to dp_size - 1"),
    ({"fields": ["jgp"]}, ValueError, "there is no field `jgp`; the fields are jpg"),
    ({"transform": "imagenet_trian"}, ValueError, "use imagenet_train, imagenet_val, or a chain"),
    ({"map": 5}, TypeError, "map=5 is a int; it must be a function of a sample"),
])
def test_what_a_loader_is_not_given(place, conf, error, words):
    with pytest.raises(error, match=re.escape(words)):
        package.Loader(place / "pics", **{"batch": 2, **conf})


def test_a_path_with_a_slip_in_python(place):
    with pytest.raises(package.NotFound, match="picz: no such file or directory; beside it is pics"):
        package.Loader(place / "picz", batch=2)


def test_pictures_of_unequal_shapes_are_told_what_to_do(place):
    with pytest.raises(ValueError, match="needs equal shapes, but position 0 .*; give the field a step with a fixed size"):
        for _ in package.Loader(place / "pics", batch=4):
            pass


def test_a_field_that_the_batch_has_not(place):
    batch = next(iter(package.Loader(place / "pics", batch=2, transform="imagenet_train")))
    with pytest.raises(KeyError, match="there is no field 'image'; the batch has jpg"):
        batch["image"]


def test_a_map_that_raises_names_the_sample(place):
    def mine(sample):
        raise RuntimeError("of my own")
    with pytest.raises(RuntimeError, match="of my own") as raised:
        next(iter(package.Loader(place / "pics", batch=2, transform="imagenet_train", map=mine)))
    assert any("position 0, sample " in note for note in raised.value.__notes__)


def test_the_state_of_another_order(place):
    loader = package.Loader(place / "pics", batch=2, transform="imagenet_train")
    state = loader.state_dict()
    state["order_id"] = "00" * 32
    with pytest.raises(package.OtherOrder, match="a position of one means nothing in the other"):
        loader.load_state_dict(state)


def test_a_package_that_is_not_built(tmp_path):
    """As from the root of a checkout's python/."""
    done = subprocess.run([sys.executable, "-c", "import olddog"], cwd=ROOT / "python", stderr=subprocess.PIPE, text=True,
                          env={"PYTHONDONTWRITEBYTECODE": "1"})
    assert done.returncode == 1 and "`make` leaves the package in build/python" in done.stderr

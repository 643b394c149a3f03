# SPDX-License-Identifier: Apache-2.0
"""Makes the folder that scripts/real-media prints. Run by it, in the project's environment.

All bytes follow from pinned packages, Pillow and numpy; each file is compared with the table before anything is
published. Folders are made under another name and renamed, so a killed run leaves nothing that looks whole.
"""

import contextlib
import csv
import fcntl
import hashlib
import io
import multiprocessing
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import numpy as np
from PIL import Image

HERE = Path(__file__).resolve().parent
TABLE = HERE / "real-media.tsv"
DEBIAN = {"lomiri-wallpapers-16.04": "20.04.0-2", "lomiri-wallpapers-20.04": "20.04.0-2",
          "ukui-wallpapers": "20.04.3-1.1", "gem-doc": "1:0.94-8"}
PYPI = {"pillow": ("13.0.0", ["--no-binary=pillow"]),
        # Only its pictures are wanted, so the same file on every machine.
        "scikit-image": ("0.26.0", ["--only-binary=:all:", "--python-version=3.11", "--platform=manylinux_2_28_x86_64"])}
SEED = 20260801

Image.MAX_IMAGE_PIXELS = None


def say(words):
    print(f"real-media: {words}", file=sys.stderr)


def read_table():
    """(rows of files, {n: sha256 of the first n of the set})."""
    files, sets = [], {}
    with open(TABLE, newline="") as f:
        for row in csv.reader((line for line in f if not line.startswith("#")), delimiter="\t", quoting=csv.QUOTE_NONE):
            if row[0].startswith("set/"):
                sets[int(row[0].split("..")[1]) + 1] = row[1]
            else:
                files.append(row)
    return files, sets


def sha256(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


# --- packages, by their ordinary clients

def run(argv, cwd):
    subprocess.run(argv, cwd=cwd, check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr)


def download_debian(to):
    get = ["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", *(f"{p}={v}" for p, v in DEBIAN.items())]
    try:
        run(get, to)
    except subprocess.CalledProcessError:
        run([*([] if os.geteuid() == 0 else ["sudo"]), "apt-get", "-qq", "update"], to)
        run(get, to)


def download_pypi(to):
    for package, (version, options) in PYPI.items():
        run([sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", "--no-input", "download", "--no-deps",
             *options, f"{package}=={version}"], to)


@contextlib.contextmanager
def open_package(folder, package):
    """A function from a path in the package to its bytes."""
    if package in DEBIAN:
        deb = next(folder.glob(f"{package}_*.deb"))
        tar = subprocess.run(["dpkg-deb", "--fsys-tarfile", deb], check=True, stdout=subprocess.PIPE).stdout
        with tarfile.open(fileobj=io.BytesIO(tar)) as t:
            yield lambda path: t.extractfile(f"./{path}").read()
    elif package == "pillow":
        with tarfile.open(next(folder.glob("pillow-*.tar.gz"))) as t:
            yield lambda path: t.extractfile(f"pillow-{PYPI['pillow'][0]}/{path}").read()
    else:
        with zipfile.ZipFile(next(folder.glob(f"{package.replace('-', '_')}-*.whl"))) as z:
            yield z.read


def extract(rows, packages, to):
    for package in [*DEBIAN, *PYPI]:
        with open_package(packages, package) as read:
            for name, _, _, path, _ in (r for r in rows if r[2] == package):
                (to / name).write_bytes(read(path))


# --- derived pictures

def load(photos, name):
    image = Image.open(photos / name)
    image.load()
    if image.mode == "RGBA":
        white = Image.new("RGB", image.size, (255, 255, 255))
        white.paste(image, mask=image.getchannel("A"))
        return white
    return image.convert("RGB")


def derive(photos, out):
    """One file of each kind that a decoder may meet and that packages do not have."""
    a = load(photos, "aitzgorri_by_Aitzol_Berasategi.jpg").resize((1544, 1028), Image.LANCZOS)
    b = load(photos, "skimage-astronaut.png")
    a.convert("CMYK").save(out / "cmyk.jpg", quality=90)
    a.convert("L").save(out / "grey.jpg", quality=90)
    a.save(out / "progressive.jpg", quality=90, progressive=True)
    a.save(out / "restart.jpg", quality=90, restart_marker_rows=4)
    for number, name in enumerate(("444", "422", "420")):
        a.save(out / f"yuv{name}.jpg", quality=90, subsampling=number)
    for name, size in {"one-by-one": (1, 1), "thin": (2000, 3), "odd-size": (501, 373), "tall": (7, 1999)}.items():
        a.resize(size, Image.LANCZOS).save(out / f"{name}.jpg", quality=90)
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x112] = orientation
        b.save(out / f"orientation{orientation}.jpg", quality=90, exif=exif)
    with_alpha = b.copy()
    with_alpha.putalpha(Image.linear_gradient("L").resize(b.size))
    b.quantize(200).save(out / "palette.png")
    with_alpha.save(out / "alpha.png")
    with_alpha.convert("LA").save(out / "grey-alpha.png")
    Image.fromarray(np.asarray(b.convert("L")).astype(np.uint16) * 257).save(out / "grey16.png")
    a.save(out / "lossy.webp", quality=85)
    b.save(out / "lossless.webp", lossless=True)
    with_alpha.save(out / "alpha.webp", quality=85)
    turned = [b.rotate(90 * i) for i in range(1, 4)]
    b.save(out / "animated.webp", save_all=True, append_images=turned, duration=100)


# --- the set

def set_picture(photo, i):
    """Picture i: a crop of the photo at 500x375 or 375x500. (picture, how to save it).

    Photos of today compress better than ImageNet's, so sensor-like noise brings them to its 110 KB or so.
    """
    r = np.random.Generator(np.random.PCG64([SEED, i]))
    w, h = (500, 375) if r.random() < 0.75 else (375, 500)
    zoom = r.uniform(1.0, max(1.0, min(photo.width / w, photo.height / h, 4.0)))
    from_w, from_h = int(min(photo.width, w * zoom)), int(min(photo.height, h * zoom))
    x, y = int(r.integers(0, photo.width - from_w + 1)), int(r.integers(0, photo.height - from_h + 1))
    picture = photo.crop((x, y, x + from_w, y + from_h)).resize((w, h), Image.LANCZOS)
    noise = r.normal(0, r.uniform(4, 13), (h, w, 1)).astype(np.float32)
    picture = Image.fromarray(np.clip(np.asarray(picture, np.float32) + noise, 0, 255).astype(np.uint8))
    if i % 3 == 0:
        picture = picture.transpose(Image.FLIP_LEFT_RIGHT)
    mode = r.random()
    if mode < 0.02:
        picture = picture.convert("L")
    quality = int(r.integers(92, 98))
    return picture, {"quality": quality, "subsampling": 2 if r.random() < 0.8 else 0, "progressive": mode > 0.97}


def set_pictures_of(job):
    photos, name, numbers, out = job
    photo = load(photos, name)
    for i in numbers:
        picture, how = set_picture(photo, i)
        picture.save(out / f"{i:06d}.jpg", **how)


def make_set(photos, n, out):
    """Photos that are large enough take turns; one photo's pictures are one job."""
    pool = [p for p in sorted(os.listdir(photos)) if min(Image.open(photos / p).size) >= 480]
    jobs = [(photos, name, range(k, n, len(pool)), out) for k, name in enumerate(pool) if k < n]
    with multiprocessing.Pool(min(len(os.sched_getaffinity(0)), 8)) as processes:
        for _ in processes.imap_unordered(set_pictures_of, jobs):
            pass


def set_sum(folder, n):
    lines = "".join(f"{sha256(folder / f'{i:06d}.jpg')}  {i:06d}.jpg\n" for i in range(n))
    return hashlib.sha256(lines.encode()).hexdigest()


# --- all of it

def make_photos(to):
    rows, _ = read_table()
    for name in {row[0].split("/")[0] for row in rows}:
        (to / name).mkdir()
    with tempfile.TemporaryDirectory(dir=to.parent, prefix=f"{to.name}-") as packages:
        say("fetching packages")
        download_debian(packages)
        download_pypi(packages)
        extract(rows, Path(packages), to)
    say("derived photos")
    derive(to / "photos", to / "photos-derived")
    wrong = [row[0] for row in rows if sha256(to / row[0]) != row[1]]
    if wrong:
        raise SystemExit(f"real-media: not what {TABLE.name} says: {' '.join(wrong)}")


def make_media(photos, n, to):
    for folder in photos.iterdir():
        shutil.copytree(folder, to / folder.name, copy_function=os.link)
    (to / "set").mkdir()
    say(f"a set of {n}")
    make_set(to / "photos", n, to / "set")
    for k, want in read_table()[1].items():
        if k <= n and set_sum(to / "set", k) != want:
            raise SystemExit(f"real-media: the set's first {k} files are not what {TABLE.name} says")


def made(folder, make):
    """folder, made now unless it is there; the caller holds the lock."""
    if not folder.exists():
        part = Path(tempfile.mkdtemp(dir=folder.parent, prefix="media-part-"))
        part.chmod(0o755)
        make(part)
        part.rename(folder)
    return folder


def main(cache, n):
    n = int(n)
    if not 1 <= n <= 100000:
        raise SystemExit("real-media: N must be 1 to 100000")
    key = hashlib.sha256(Path(__file__).read_bytes() + TABLE.read_bytes()).hexdigest()[:16]
    media = Path(cache) / f"media-{key}-{n}"
    if not media.exists():
        with open(Path(cache) / "media.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for left in Path(cache).glob("media-part-*"):
                shutil.rmtree(left)
            photos = made(Path(cache) / f"media-{key}-photos", make_photos)
            made(media, lambda to: make_media(photos, n, to))
    print(media)


if __name__ == "__main__":
    main(*sys.argv[1:])

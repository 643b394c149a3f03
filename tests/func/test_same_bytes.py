# SPDX-License-Identifier: Apache-2.0
"""Builds by two compilers and with other options give the same bytes, for every picture that there is. OLDDOG_BUILD_2
names the second build; that all of the set goes through, and -O0 beside -O3, is for make test-all. So do the loops for
each set of instructions that the processor has."""

import os
import re
import subprocess

import pytest
from conftest import ROOT, _no_reports

CHAINS = {
    "none": "",
    "training": "random_resized_crop: 224, hflip: 0.5, normalize: imagenet, dtype: float32, layout: chw",
    "validation": "resize: 256, center_crop: 224, normalize: imagenet, dtype: bfloat16, layout: chw",
    "all-steps": "resize: {size: [190, 210], interpolation: bicubic}, random_crop: [160, 200], vflip: 0.5, grayscale: 0.3, "
                 "pad: [210, 200], random_resized_crop: {size: 32, interpolation: box}, normalize: imagenet, dtype: float16",
}
PHOTOS = ("photos", "photos-odd", "photos-derived")
SPEC = """sources: [{{data: [{data}]}}]
fields:
  image: {{from: [jpg, jpeg, png, webp], decode: {{mode: rgb, orientation: apply}}, {chain}}}
seed: 11
order: shuffle
on_error: {{decode: skip, stop_above: 100%}}
"""


@pytest.fixture
def builds(build):
    if not os.environ.get("OLDDOG_BUILD_2"):
        pytest.skip("OLDDOG_BUILD_2 is not set: there is no second build to compare with")
    return build / "olddog", (ROOT / os.environ["OLDDOG_BUILD_2"]).resolve() / "olddog"


def write_spec(to, folders, chain):
    to.write_text(SPEC.format(data=", ".join(f"'{f}'" for f in folders), chain=CHAINS[chain]))
    return to


def digests(exe, *args, kernel=None):
    env = {**os.environ, "OLDDOG_KERNEL": kernel} if kernel else None
    p = subprocess.run([exe, "read", *map(str, args), "--digest=sample"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                       env=env)
    _no_reports(p.stderr)
    assert p.returncode == 0, p.stderr[-3000:]
    return p.stdout.splitlines()


@pytest.fixture
def some_in_full(request, chain, folders):
    """Of photos of 20 megapixels, all but one chain is for make test-all."""
    if "photos" in folders and chain != "training":
        request.getfixturevalue("full")


@pytest.mark.usefixtures("some_in_full")
@pytest.mark.parametrize("folders", [PHOTOS[:1], PHOTOS[1:]], ids="-".join)
@pytest.mark.parametrize("chain", ["none", "training", "validation"])
def test_two_builds_of_all_photos(builds, media, tmp_path, folders, chain):
    spec = write_spec(tmp_path / "spec.yaml", [media / f for f in folders], chain)
    one, two = (digests(exe, spec) for exe in builds)
    assert one == two and len(one) > 50
    # Some of photos-odd have to be refused.
    n_refused = sum(" for=" in line for line in one)
    assert 0 < n_refused < 20 if "photos-odd" in folders else n_refused == 0


@pytest.mark.parametrize("chain", CHAINS)
def test_two_builds_of_the_set(builds, media, tmp_path, chain):
    spec = write_spec(tmp_path / "spec.yaml", [media / "set"], chain)
    full = os.environ.get("OLDDOG_FULL") == "1" and chain == "training"
    one, two = (digests(exe, spec, "--samples", 10000 if full else 100) for exe in builds)
    assert one == two
    assert len(one) == len({re.sub("position=[0-9]+", "", line) for line in one}) >= 100


KERNELS = ("scalar", "avx2", "avx512")


def kernels_here(olddog, spec):
    """Sets of loops that this processor has; asked for another, a program says so, and does nothing."""
    here = []
    for kernel in KERNELS:
        p = olddog("read", spec, "--samples", 1, env={"OLDDOG_KERNEL": kernel}, rc=None)
        if p.returncode == 0:
            here.append(kernel)
        else:
            assert "this processor has only" in p.stderr
    return here


@pytest.mark.parametrize("folders", [("set",), PHOTOS[:1], PHOTOS[1:]], ids="-".join)
@pytest.mark.parametrize("chain", ["training", "validation", "all-steps"])
def test_sets_of_loops(request, builds, olddog, media, tmp_path, folders, chain):
    """Of two compilers, each set; against the first one's plain loops. photos, and all of the set, are for make test-all."""
    if folders == PHOTOS[:1]:
        request.getfixturevalue("full")
    spec = write_spec(tmp_path / "spec.yaml", [media / f for f in folders], chain)
    full = os.environ.get("OLDDOG_FULL") == "1" and chain == "training"
    runs = [(exe, kernel) for exe in builds for kernel in kernels_here(olddog, spec)]
    if len(runs) == 2:
        pytest.skip("this processor has only the plain loops")
    n = ("--samples", 10000 if full else 100) if folders == ("set",) else ()
    plain = digests(builds[0], spec, *n, kernel="scalar")
    assert len(plain) >= (100 if folders == ("set",) else 50)
    for exe, kernel in runs[1:]:
        assert digests(exe, spec, *n, kernel=kernel) == plain, f"{exe} by {kernel}"


def test_a_set_of_loops_that_there_is_not_is_refused(olddog, media):
    p = olddog("read", media / "set", "--samples", 1, env={"OLDDOG_KERNEL": "mmx"}, rc=1)
    assert "OLDDOG_KERNEL=mmx is not one of scalar, avx2, avx512" in p.stderr and not p.stdout


@pytest.fixture(scope="session")
def by_optimization(full, tmp_path_factory):
    """olddog by gcc, without optimization and with all of it."""
    made = []
    for level in ("0", "3"):
        folder = tmp_path_factory.mktemp(f"O{level}")
        setup = ["meson", "setup", folder, f"-Doptimization={level}", "-Dtests=disabled", "-Dpython=disabled"]
        for argv in (setup, ["ninja", "-C", folder, "olddog", "olddog-worker"]):
            done = subprocess.run(argv, cwd=ROOT, env={**os.environ, "CC": "gcc"}, stdout=subprocess.PIPE, text=True)
            assert done.returncode == 0, done.stdout[-3000:]
        made.append(folder / "olddog")
    return made


@pytest.mark.xdist_group("optimization")
@pytest.mark.parametrize("chain", CHAINS)
def test_with_and_without_optimization(by_optimization, media, tmp_path, chain):
    spec = write_spec(tmp_path / "spec.yaml", [media / f for f in ("set", *PHOTOS)], chain)
    one, two = (digests(exe, spec, "--samples", 400, "--time-limit", 600) for exe in by_optimization)
    assert one == two and len(one) > 300

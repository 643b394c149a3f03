# SPDX-License-Identifier: Apache-2.0
"""Two builds, by two compilers and with other options, give the same bytes. OLDDOG_BUILD_2 names the second."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

CHAINS = {
    "training": "random_resized_crop: 224, hflip: 0.5, normalize: imagenet, dtype: float32, layout: chw",
    "validation": "resize: 256, center_crop: 224, normalize: imagenet, dtype: bfloat16, layout: chw",
    "all-steps": "resize: {size: [190, 210], interpolation: bicubic}, random_crop: [160, 200], vflip: 0.5, grayscale: 0.3, "
                 "pad: [210, 200], random_resized_crop: {size: 32, interpolation: box}, normalize: imagenet, dtype: float16",
}


@pytest.fixture
def builds(build):
    if not os.environ.get("OLDDOG_BUILD_2"):
        pytest.skip("OLDDOG_BUILD_2 is not set: there is no second build to compare with")
    return build / "olddog", (ROOT / os.environ["OLDDOG_BUILD_2"]).resolve() / "olddog"


def digests(exe, *args, cwd):
    p = subprocess.run([exe, "read", *args, "--digest=sample"], cwd=cwd, stdout=subprocess.PIPE, check=True, text=True)
    return p.stdout.splitlines()


@pytest.mark.parametrize("folder, n", [("set", 100), ("photos-derived", 12)])
@pytest.mark.parametrize("chain", CHAINS)
def test_two_builds(builds, media, tmp_path, folder, n, chain):
    spec = tmp_path / "spec.yaml"
    spec.write_text(f"""sources: [{{data: '{media / folder}'}}]
fields:
  image: {{from: [jpg, png, webp], decode: {{mode: rgb, orientation: apply}}, {CHAINS[chain]}}}
seed: 11
order: shuffle
""")
    one, two = (digests(exe, spec, "--samples", str(n), cwd=tmp_path) for exe in builds)
    assert len(one) == n and len(set(one)) == n
    assert one == two

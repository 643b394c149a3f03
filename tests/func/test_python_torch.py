# SPDX-License-Identifier: Apache-2.0
"""olddog.torch.Loader. torch is found in the interpreter that runs the tests, or in Debian's."""

import subprocess
import sys

import pytest
from python_help import scripts, write_spec  # noqa: F401 (fixture)


@pytest.fixture(scope="module")
def python_with_torch():
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import numpy, torch"], stderr=subprocess.DEVNULL).returncode == 0:
            return python
    pytest.skip("no torch: apt-get install --no-install-recommends python3-torch python3-numpy adds Debian's")


@pytest.fixture
def spec(set_shards, tmp_path):
    return write_spec(tmp_path / "spec.yaml", f"{set_shards[0]}/*.tar")


def test_torch_is_not_imported_by_olddog(scripts):
    scripts("import sys, olddog; assert 'torch' not in sys.modules").end()


def test_tensors_share_the_arrays_memory(scripts, spec, python_with_torch):
    scripts("""
import sys, numpy, torch
import olddog
loader = olddog.torch.Loader(sys.argv[1], batch=4, workers=1)
other = olddog.Loader(sys.argv[1], batch=4, workers=1)
for tensors, arrays in zip(loader, other):
    assert isinstance(tensors["image"], torch.Tensor) and tensors["image"].dtype == torch.float32
    assert numpy.array_equal(tensors["image"].numpy(), arrays["image"])
    assert tensors["label"].dtype == torch.int64 and tensors["label"].tolist() == arrays["label"].tolist()
    assert tensors["text"] == arrays["text"] and tensors["image"].data_ptr() % 64 == 0
    at = tensors["image"].data_ptr()
    (line,) = [m for m in open("/proc/self/maps") if int(m.split("-")[0], 16) <= at < int(m.split("-")[1].split()[0], 16)]
    assert "memfd:" in line
""", spec, executable=python_with_torch).end()


def test_bfloat16_is_torchs(scripts, set_shards, tmp_path, python_with_torch):
    fields = "\n  image: {from: jpg, resize: [16, 16], dtype: %s}"
    specs = [write_spec(tmp_path / f"{t}.yaml", f"{set_shards[0]}/00000.tar", fields=fields % t) for t in ("bfloat16", "float32")]
    scripts("""
import sys, torch
import olddog.torch
half, full = (next(iter(olddog.torch.Loader(spec, batch=10, workers=1)))["image"] for spec in sys.argv[1:])
assert half.dtype == torch.bfloat16 and torch.equal(half, full.to(torch.bfloat16))
""", *specs, executable=python_with_torch).end()


def test_a_tensor_holds_its_memory_and_others_are_used_again(scripts, spec, python_with_torch):
    scripts("""
import sys, torch
import olddog.torch
loader = olddog.torch.Loader(sys.argv[1], batch=5, workers=1, max_bytes=2_000_000)
held = next(iter(loader))["image"][2]
before = held.clone()
for epoch in range(2):
    for batch in loader:
        del batch
assert torch.equal(held, before)
""", spec, executable=python_with_torch).end()


def test_map_gets_and_gives_tensors(scripts, spec, python_with_torch):
    scripts("""
import sys, torch
import olddog.torch
def double(sample, key):
    return {"image": sample["image"], "twice": sample["image"] * 2, "n": len(sample["text"]), "ragged": torch.zeros(key.position + 1)}
batch = next(iter(olddog.torch.Loader(sys.argv[1], batch=4, workers=1, map=double)))
assert torch.equal(batch["image"] * 2, batch["twice"]) and batch["n"].dtype == torch.int64
assert [len(r) for r in batch["ragged"]] == [1, 2, 3, 4]
""", spec, executable=python_with_torch).end()


def test_inside_a_dataloader_it_says_what_to_do(scripts, spec, python_with_torch):
    out = scripts("""
import sys, torch
import olddog.torch
class Wrapped(torch.utils.data.IterableDataset):
    def __init__(self, loader): self.loader = loader
    def __iter__(self): return iter(self.loader)
loader = olddog.torch.Loader(sys.argv[1], batch=4, workers=1)
try:
    list(torch.utils.data.DataLoader(Wrapped(loader), batch_size=None, num_workers=1))
except Exception as e:
    print(e)
""", spec, executable=python_with_torch).end()
    assert "before its fork()" in out

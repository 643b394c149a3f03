# SPDX-License-Identifier: Apache-2.0
"""`pip install .`: into an environment of its own, from which it works anywhere."""

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from conftest import ROOT
from python_help import write_spec


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The python of an environment that pip has installed the package into. Nothing is fetched: what building needs, and
    numpy, are those of the environment that runs the tests."""
    folder = tmp_path_factory.mktemp("install")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    python = folder / "venv/bin/python"
    (site,) = (folder / "venv/lib").glob("python3.*/site-packages")
    (site / "tests.pth").write_text(sysconfig.get_path("purelib") + "\n")
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "CC": "gcc"}
    env = {k: v for k, v in env.items() if k not in ("PYTHONPATH", "OLDDOG_LIBEXEC")}
    done = subprocess.run([python, "-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--no-index", "--no-deps",
                           "--no-build-isolation", f"--config-settings=build-dir={folder / 'build'}", ROOT], env=env,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout[-4000:]
    return python, site


def clean_environment():
    return {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "OLDDOG_LIBEXEC", "LD_LIBRARY_PATH")}


def test_all_that_it_needs_is_in_the_package(installed):
    files = {p.name for p in (installed[1] / "olddog").iterdir()}
    assert files >= {"_olddog.abi3.so", "libolddog.so", "olddog", "olddog-loader", "olddog-worker", "loader.py", "torch.py", "py.typed"}
    dynamic = subprocess.run(["readelf", "-d", installed[1] / "olddog/_olddog.abi3.so"], stdout=subprocess.PIPE, text=True).stdout
    assert re.search(r"RUNPATH.*\[\$ORIGIN/?\]", dynamic) and "libpython" not in dynamic and str(ROOT) not in dynamic
    (record,) = installed[1].glob("olddog-*.dist-info/WHEEL")
    assert "Tag: cp311-abi3-" in record.read_text()


def test_two_batches_from_another_folder(installed, set_shards, tmp_path):
    spec = write_spec(tmp_path / "spec.yaml", f"{set_shards[0]}/*.tar")
    script = f"""
import olddog
loader = olddog.Loader("spec.yaml", batch=2, workers=1)
print(olddog.__file__)
print([b["image"].shape for _, b in zip(range(2), loader)], olddog.__version__)
"""
    done = subprocess.run([installed[0], "-c", script], cwd=tmp_path, env=clean_environment(), stdout=subprocess.PIPE, text=True,
                          check=True)
    where, said = done.stdout.splitlines()
    assert where == str(installed[1] / "olddog/__init__.py")
    assert said.startswith("[(2, 3, 48, 48), (2, 3, 48, 48)] ") and spec.exists()


def test_the_command_comes_with_it(installed, olddog, set_shards, tmp_path):
    spec = write_spec(tmp_path / "spec.yaml", f"{set_shards[0]}/00000.tar")
    done = subprocess.run([installed[0].parent / "olddog", "read", spec, "--digest=sample"], env=clean_environment(), cwd=tmp_path,
                          stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout.splitlines() == olddog.lines("read", spec, "--digest=sample")

# SPDX-License-Identifier: Apache-2.0
"""Random operations on stores without a network: every byte, name and length is what it should be."""

import hashlib

import pytest
from ops_help import Ops, seed


@pytest.mark.parametrize("kind", ["ram", "file"])
def test_random_operations_do_what_they_should(tmp_path, kind):
    url = {"ram": "ram:ops/top", "file": f"file://{tmp_path}/top"}[kind]
    ops = Ops(url, seed(), 2000, 400 << 20, 16 << 20, 64 << 20)
    ops.check(2000)
    if kind == "file":
        found = {str(p.relative_to(tmp_path / "top")): (p.stat().st_size, hashlib.sha256(p.read_bytes()).hexdigest())
                 for p in (tmp_path / "top").rglob("*") if p.is_file()}
        assert found == ops.files

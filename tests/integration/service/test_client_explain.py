"""`tritonc explain` of a kernel that spills since its `maxnreg` is too low."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.integration.service.command_runs import run
from tests.integration.service.running import Deployment

KERNEL = """\
import triton
import triton.language as tl


# tritonc: x_ptr=*fp32:16 out_ptr=*fp32 BLOCK=2048 num_warps=1 maxnreg=32
@triton.jit
def centre(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    total = tl.sum(x, 0)
    tl.store(out_ptr + offsets, x - total)
"""


@pytest.mark.slow
def test_the_spills_their_line_and_the_setting_that_ends_them_fit_a_screen(
    system: Deployment, tmp_path: Path
) -> None:
    (tmp_path / "centre.py").write_text(KERNEL)

    asked = ("explain", "centre.py", "--target", "cuda:80")

    ran = run(system.url, *asked, folder=tmp_path)
    assert ran.returncode == 0, ran.stderr
    said = ran.stdout.splitlines()
    assert len(said) <= 45
    assert "registers: 32 of 32, set by maxnreg" in said
    assert any(line.endswith("all 32 registers are in use") for line in said)
    assert "centre.py:11: not vectorised: 64 stores of 4 bytes" in said

    key = json.loads(run(system.url, *asked, "--json", folder=tmp_path).stdout)["key"]
    again = run(system.url, "explain", key, "--json")
    found = json.loads(again.stdout)
    assert found["lines"][0]["by_class"]["local"] > 0
    by_setting = {(one["setting"], one["value"]): one["metrics"] for one in found["trials"]}
    assert by_setting["options.maxnreg", None]["spill_bytes"] == 0
    [best] = [one for one in found["trials"] if one["best"]]
    assert (best["setting"], best["metrics"]["spill_bytes"]) == ("options.num_warps", 0)

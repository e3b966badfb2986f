"""`tritonc gate` against the real service: the effect of an edit, and its line."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from tests.integration.service.command_runs import run
from tests.integration.service.running import Deployment

KERNEL = """import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    y = x * 2.0
    tl.store(y_ptr + offsets, y, mask=offsets < n)
"""
GATE = """
[matrix]
targets = ["cuda:90", "hip:gfx942"]

[budgets]
spills = "none"
instructions = "<= 1.05 x baseline"
instruction_classes = "<= baseline + 2"
occupancy = ">= baseline"

[budgets.targets."cuda:*"]
ptx = "unchanged"

[kernels.scale]
source = "scale.py"

[kernels.scale.constexprs]
BLOCK = 256

[kernels.scale.launch]
device = "cpu"
grid = ["cdiv(n, BLOCK)"]
arguments = {x_ptr = "fp32[1000]:uniform", y_ptr = "fp32[1000]:output", n = 1000}
reference = "reference.py"
"""


def gate(system: Deployment, folder: Path, *words: str) -> CompletedProcess[str]:
    """Run `tritonc gate` in `folder`."""
    return run(system.url, "gate", *words, folder=folder)


def broken(done: CompletedProcess[str]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the broken checks by target and metric."""
    assert done.returncode == 1, done.stderr
    checks = json.loads(done.stdout)["checks"]
    bad = [check for check in checks if check["state"] in {"broken", "failed"}]
    return {(check["target"], check["metric"]): check for check in bad}


def test_a_costly_edit_is_caught_at_its_line(system: Deployment, tmp_path: Path) -> None:
    source = tmp_path / "scale.py"
    source.write_text(KERNEL)
    (tmp_path / "kernels.toml").write_text(GATE)
    (tmp_path / "reference.py").write_text("def reference(x_ptr, **_):\n    return x_ptr * 2\n")
    assert gate(system, tmp_path).returncode == 2  # there is no baseline yet

    written = gate(system, tmp_path, "--update-baseline")
    assert written.returncode == 0, written.stderr
    source.write_text("# a line more\n" + KERNEL)
    good = gate(system, tmp_path)
    assert good.returncode == 0, good.stdout
    assert good.stdout.startswith("gate passed: 3 cells, ")

    source.write_text("# a line more\n" + KERNEL.replace("x * 2.0", "tl.sin(x) * 2.0"))
    found = broken(gate(system, tmp_path, "--json"))

    line = KERNEL.splitlines().index("    y = x * 2.0") + 2
    for target in ("cuda:90", "hip:gfx942"):
        check = found[target, "instructions"]
        assert (check["file"], check["line"]) == ("scale.py", line)
        assert check["lines"][0]["text"] == "y = tl.sin(x) * 2.0"
    assert ("cuda:90", "ptx") in found
    assert found["launch", "verdict"]["told"].startswith("verdict mismatch on the CPU device")

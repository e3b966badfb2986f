"""`tritonc gate` over several Tritons catches another version's regression at its line.

The kernels are those of examples/gate and benchmarks/kernels; docs/how-to/gate.md uses them.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tritonc.cli.main import main

from tests.integration.service.running import ROOT, Deployment

GATE = """
[matrix]
tritons = ["3.7", "3.8", "3.9"]

[kernels.rope]
source = "kernels/transformer.py"
kernel = "rope_kernel"
targets = ["hip:gfx950"]
budgets = {instructions = "<= 1.1 x baseline"}
constexprs = {Q_HEADS = 8, K_HEADS = 8, HEAD = 128, SALT = 1.0}

[kernels.rope.signature]
q_ptr = "*bf16:16"
k_ptr = "*bf16:16"
cos_ptr = "*bf16:16"
sin_ptr = "*bf16:16"
stride_q = "i32:16"
stride_k = "i32:16"
length = "i32"

[kernels.argmax]
source = "kernels/reduction.py"
kernel = "argmax_kernel"
targets = ["cuda:80"]
budgets = {occupancy = ">= triton 3.7", instructions = "<= triton 3.7"}
signature = {x_ptr = "*fp32:16", value_ptr = "*fp32:16", index_ptr = "*i32:16", n_columns = "i32"}
constexprs = {BLOCK = 2048, SALT = 1.0}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a gate file."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "benchmarks" / "kernels", tmp_path / "kernels")
    (tmp_path / "kernels.toml").write_text(GATE)
    return tmp_path


def gate(deployment: Deployment, *words: str) -> int:
    return main(["gate", *words], environment={"TRITOND_URL": deployment.url})


@pytest.mark.usefixtures("client")
def test_the_public_case_is_caught_at_the_reduction_that_became_slower(
    deployment: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()

    assert gate(deployment, str(ROOT / "examples/gate/kernels.toml"), "--json") == 1

    checks: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["checks"]
    broken = {(c["target"], c["triton"], c["metric"]): c for c in checks if c["state"] == "broken"}
    assert {triton for _, triton, _ in broken} == {"3.7.1", "3.8.0", "3.9.0"}
    for target in ("cuda:75", "cuda:80", "cuda:90"):
        check = broken[target, "3.7.1", "instruction_classes.shuffle"]
        [line] = check["lines"]
        assert line["text"] == "sums = tl.sum(products, 2)"
        assert line["now"] > 6 * line["before"]
        assert (target, "3.7.1", "occupancy") in broken


@pytest.mark.usefixtures("client", "folder")
def test_an_upgrade_that_doubles_the_code_of_a_line_is_caught_there(
    deployment: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gate(deployment, "--kernel", "rope", "--triton", "3.8", "--update-baseline") == 0
    assert gate(deployment, "--kernel", "rope", "--triton", "3.8") == 0
    capsys.readouterr()

    assert gate(deployment, "--kernel", "rope", "--triton", "3.9", "--json", "--sarif", "s") == 1

    [check] = json.loads(capsys.readouterr().out)["checks"]
    assert check["value"] > 2 * check["reference"]
    assert "of the baseline, which has Triton 3.8.0" in check["told"]
    worst = check["lines"][0]
    assert worst["text"] == "at = (token % length) * (HEAD // 2) + half"
    assert worst["now"] > 4 * worst["before"]
    [result] = json.loads(Path("s").read_text())["runs"][0]["results"]
    region = result["locations"][0]["physicalLocation"]["region"]
    source = (ROOT / "benchmarks/kernels/transformer.py").read_text().splitlines()
    assert source[region["startLine"] - 1].strip() == worst["text"]


@pytest.mark.usefixtures("client", "folder")
def test_registers_that_cost_occupancy_are_caught_though_the_code_is_shorter(
    deployment: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()

    assert gate(deployment, "--kernel", "argmax", "--json") == 1

    checks: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["checks"]
    states = {(c["triton"], c["metric"]): c["state"] for c in checks}
    assert states == {
        ("3.7.1", "instructions"): "kept",
        ("3.7.1", "occupancy"): "kept",
        ("3.8.0", "instructions"): "kept",
        ("3.8.0", "occupancy"): "broken",
        ("3.9.0", "instructions"): "kept",
        ("3.9.0", "occupancy"): "broken",
    }

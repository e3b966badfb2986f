"""`tritonc upgrade` from Triton 3.6 to 3.7: a regression, its pass, and the warps that undo it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tritonc.cli.main import main

from tests.integration.service.running import ROOT, Deployment

TYPES = """\
# tritonc: x_ptr=*bf16:16 words_ptr=*i32:16 scale_ptr=*fp32:16 table_ptr=*fp32:16
# tritonc: out_ptr=*fp32:16 n_rows=i32:16 n_columns=i32:16 ROWS=1 GROUP=64 BLOCK=2048 num_warps=1
@triton.jit"""


@pytest.mark.usefixtures("client")
def test_a_reduction_that_became_slower_gets_its_budget_back(
    deployment: Deployment,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    source = (ROOT / "examples/gate/gemv_4bit.py").read_text()
    Path("gemv.py").write_text(source.replace("@triton.jit", TYPES))
    capsys.readouterr()

    argv = ["upgrade", "gemv.py", "--triton", "3.6,3.7", "--target", "cuda:80", "--json"]
    assert main(argv, environment={"TRITOND_URL": deployment.url}) == 1

    [row] = json.loads(capsys.readouterr().out)["rows"]
    assert row["now"]["occupancy"] < 0.5 * row["before"]["occupancy"]
    assert row["lines"][0]["now"] > 3 * row["lines"][0]["before"]
    assert row["pass"] == "tritongpu-coalesce"
    assert (row["proposal"]["setting"], row["proposal"]["value"]) == ("options.num_warps", 4)
    assert "num_warps=4" in row["proposal"]["patch"]


@pytest.mark.usefixtures("client")
def test_diff_compares_one_kernel_of_two_tritons(
    deployment: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel = str(ROOT / "examples/vector_add.py")
    argv = ["diff", kernel, "--target", "cuda:90", "--triton", "3.8,3.9", "--json"]
    status = main(argv, environment={"TRITOND_URL": deployment.url})

    found = json.loads(capsys.readouterr().out)
    assert status == int(not found["same"])
    tritons = found["toolchain"]["triton"]
    assert (tritons["a"].rpartition(".")[0], tritons["b"].rpartition(".")[0]) == ("3.8", "3.9")

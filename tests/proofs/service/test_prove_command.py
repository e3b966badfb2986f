"""`tritonc prove` against a real deployment."""

import json
import re
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
from tritonc.cli.main import main

from tests.integration.service.running import Deployment

ROWS = """\
import triton
import triton.language as tl


@triton.jit
def rows(x_ptr, stride, n_cols, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    tl.store(x_ptr + row * stride + cols, 0.0, mask=cols < n_cols)
"""
REQUEST: dict[str, Any] = {
    "compilation": {"constexprs": {"BLOCK": 1024}},
    "grid": [1],
    "cases": [
        {
            "arguments": {
                "x_ptr": {"shape": [rows, cols], "dtype": "fp32", "output": True},
                "stride": cols,
                "n_cols": cols,
            },
            "grid": [rows],
        }
        for rows, cols in ((211, 1009), (89, 523), (401, 761))
    ],
}


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    path = tmp_path / "rows.py"
    path.write_text(ROWS)
    path.with_suffix(".json").write_text(json.dumps(REQUEST))
    return path


def prove(system: Deployment, *words: str) -> int:
    return main(["--url", system.url, "prove", *words], environment={})


def test_a_contract_is_inferred_shown_and_kept(
    system: Deployment, kernel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert prove(system, str(kernel), "--write-contract") == 1
    out = capsys.readouterr().out
    assert "contract (inferred from 3 cases; kept next to the kernel)" in out
    assert "rows.py:9  tl.store(x_ptr + row * stride + cols" in out
    assert "REFUTED: program_id(0) * stride wraps at line 9" in out
    assert "replayed on the CPU device: writes x_ptr[-2,14" in out
    assert "proved with: tl.store(x_ptr + row.to(tl.int64) * stride + cols" in out
    assert "; registers " in out
    assert "x_ptr: x_ptr_0 * stride" in kernel.with_suffix(".contract").read_text()


COPY = """\
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y_ptr + o, tl.load(x_ptr + o))
"""


def test_a_proof_from_one_size_is_none_for_all_sizes(
    system: Deployment, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "copy.py"
    path.write_text(COPY)
    buffer = {"shape": [64], "dtype": "fp32"}
    request = {"constexprs": {"B": 64}, "arguments": {"x_ptr": buffer, "y_ptr": buffer, "n": 64}}
    path.with_suffix(".json").write_text(json.dumps(request | {"grid": [1]}))
    for words in (["--request", str(path.with_suffix(".json")), "--write-contract"], []):
        assert prove(system, str(path), *words) == 2
        out, err = capsys.readouterr()
        assert "proved for n = B only; give cases with other sizes" in out
        assert "all sizes" not in out
        assert "(an example)" not in err
    assert path.with_suffix(".contract").read_text().startswith("only n = B\n")


def test_a_kernel_with_its_contract_beside_it_is_proved(
    system: Deployment, kernel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel.write_text(ROWS.replace("program_id(0)", "program_id(0).to(tl.int64)"))
    text = "sizes n_rows\nx_ptr: n_rows * stride\nn_cols <= stride\ngrid: n_rows\n"
    kernel.with_suffix(".contract").write_text(text)
    words = ("--signature", "x_ptr=*fp32", "stride=i32", "n_cols=i32", "--constexpr", "BLOCK=1024")
    assert prove(system, str(kernel), *words) == 0
    out = capsys.readouterr().out
    assert "in bounds        proved for all sizes" in out
    assert re.search(r"^re-checked: [\d ,to]+ runs, the bit-vector check agrees", out, re.MULTILINE)
    assert "verdict: proved" in out
    assert prove(system, str(kernel), *words, "--check", "overflow") == 0
    assert "not checked: bounds; add --check bounds" in capsys.readouterr().err


def test_a_contract_beside_the_kernel_leaves_its_launches_their_constexprs(
    system: Deployment, kernel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "sizes n_rows\nx_ptr: n_rows * stride\nn_cols <= BLOCK // 1024 * stride\ngrid: n_rows\n"
    kernel.with_suffix(".contract").write_text(text)
    prove(system, str(kernel))
    out, err = capsys.readouterr()
    assert "(grid, n_cols <= BLOCK // 1024 * stride)" in out
    assert "(an example)" not in err


def test_without_a_contract_or_cases_a_draft_is_written(
    system: Deployment, kernel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel.with_suffix(".json").unlink()
    flags = "--signature", "x_ptr=*fp32", "stride=i32", "n_cols=i32", "--constexpr", "BLOCK=64"
    assert prove(system, str(kernel), *flags) == 2
    assert "I wrote a draft" in capsys.readouterr().err
    assert kernel.with_suffix(".contract").read_text().endswith("\nx_ptr: ?\ngrid: ?\n")


def test_each_kernel_of_a_file_has_a_draft_of_its_own(
    system: Deployment, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel = tmp_path / "two.py"
    kernel.write_text(ROWS + ROWS[ROWS.index("@triton.jit") :].replace("def rows", "def others"))

    assert prove(system, str(kernel)) == 2
    assert "two.py has rows, others; choose one" in capsys.readouterr().err

    for name in ("rows", "others"):
        assert prove(system, str(kernel), "--kernel", name) == 2
        assert (tmp_path / f"two.{name}.contract").read_text().endswith("\ngrid: ?\n")


def test_a_kernel_of_standard_input_has_its_draft_shown(
    system: Deployment,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    flags = "--signature", "x_ptr=*fp32", "stride=i32", "n_cols=i32", "--constexpr", "BLOCK=64"
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(ROWS.encode())))
    assert prove(system, "-", *flags) == 2
    err = capsys.readouterr().err
    assert "<stdin> has no contract. Here is a draft" in err
    assert err.endswith("\nx_ptr: ?\ngrid: ?\n")
    assert not list(tmp_path.iterdir())

    assert prove(system, "-", *flags, "--write-contract") == 2
    assert "standard input has no folder" in capsys.readouterr().err


def test_a_file_with_several_kernels_needs_the_name_of_one(
    system: Deployment, kernel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel.with_suffix(".contract").write_text("x_ptr: stride\n")
    kernel.write_text(ROWS + ROWS.replace("def rows", "def others"))
    assert prove(system, str(kernel), "--kernel", "row", "--constexpr", "BLOCK=64") == 2
    assert "rows.py has rows, others; choose one" in capsys.readouterr().err


def test_what_depends_on_data_is_unknown(
    system: Deployment, kernel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel.write_text(ROWS.replace("mask=cols", "mask=tl.load(x_ptr + cols) > 0.0"))
    kernel.write_text(ROWS.replace("+ cols, 0.0", "+ tl.load(x_ptr + cols).to(tl.int32), 0.0"))
    assert prove(system, str(kernel), "--json") in (1, 2)
    proof = json.loads(capsys.readouterr().out)
    assert proof["accesses"][-1]["bounds"]["verdict"] == "unknown"


def test_the_gate_fails_at_what_is_refuted(
    system: Deployment, kernel: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(kernel.parent)
    text = "sizes n_rows\nx_ptr: n_rows * stride\nn_cols <= stride\ngrid: n_rows\n"
    kernel.with_suffix(".contract").write_text(text)
    Path("kernels.toml").write_text(
        'budgets.proved = "all sizes"\nmatrix.targets = ["cuda:80", "cuda:90"]\n[kernels.rows]\n'
        'source = "rows.py"\nsignature = {x_ptr = "*fp32", stride = "i32", n_cols = "i32"}\n'
        "constexprs = {BLOCK = 1024}\n"
    )
    assert main(["--url", system.url, "gate", "--github", "-"], environment={}) == 1
    [line] = capsys.readouterr().out.splitlines()
    assert line.startswith("::error file=rows.py,line=9,title=tritonc gate::rows: proved.overflow")
    assert "proved with: tl.store(x_ptr + row.to(tl.int64) * stride" in line

    kernel.write_text(ROWS.replace("program_id(0)", "program_id(0).to(tl.int64)"))
    assert main(["--url", system.url, "gate"], environment={}) == 0


@pytest.mark.parametrize(
    ("contract", "said"),
    [
        ("sizes n\nx_ptr: n *\n", "rows.contract:2:11: expected a number, a name or '('"),
        ("x_ptr: stride\ny_ptr: stride\n", "rows.contract:2:1: the kernel has no buffer y_ptr"),
        (
            "x_ptr: n_rows * stride\n",
            "rows.contract:1:8: n_rows is neither an integer argument nor a size",
        ),
    ],
)
def test_a_mistake_in_the_contract_is_shown_at_its_place(
    system: Deployment, kernel: Path, capsys: pytest.CaptureFixture[str], contract: str, said: str
) -> None:
    kernel.with_suffix(".contract").write_text(contract)
    words = ("--signature", "x_ptr=*fp32", "stride=i32", "n_cols=i32", "--constexpr", "BLOCK=1024")
    assert prove(system, str(kernel), *words) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.splitlines()[-1].strip() == "^"


@pytest.mark.parametrize("name", ["batch_stride", "strided_tokens", "unmasked_tail"])
def test_a_fault_of_a_public_kernel_has_a_fix(
    system: Deployment, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(__file__).parents[3] / "examples" / "proofs" / f"{name}.py"
    assert prove(system, str(path), "--kernel", "broken") == 1
    assert "proved with: " in capsys.readouterr().out

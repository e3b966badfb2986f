"""The budget `proved`: kernels that must be proved for all sizes."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.client.gate.gate_service import GateService, gate, write_gate

BUDGET = '[budgets]\nproved = "all sizes"'
STORE = {"kind": "store", "file": "user.py", "line": 7, "column": 5, "argument": "x_ptr"}
REFUTED = {
    "verdict": "refuted",
    "expression": "x_ptr",
    "replay": {"sizes": {"n": 63}, "message": "writes x_ptr[63] of 63 elements"},
    "fix": {"patch": "+    tl.store(x, mask=m)", "registers": None},
}
UNKNOWN = {"verdict": "unknown", "reason": "depends on a loaded value: 100 %\n::error::mine"}


@pytest.fixture
def proving(service: GateService) -> GateService:
    """A service whose kernel has a contract next to it."""
    write_gate(BUDGET, targets='["cuda:80", "cuda:90"]')
    Path("double.contract").write_text("x_ptr: 64\n")
    return service


def test_a_proved_kernel_keeps_it(proving: GateService, capsys: Any):
    assert gate(proving) == 0
    assert capsys.readouterr().out == "gate passed: 2 cells, 2 checks: 2 kept\n"


def test_a_refuted_access_is_one_finding_at_its_line(proving: GateService):
    proving.proof = {"verdict": "refuted", "accesses": [STORE | {"bounds": REFUTED}]}

    assert gate(proving, "--sarif", "out") == 1

    [result] = json.loads(Path("out").read_text())["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 7}
    text = result["message"]["text"]
    assert text.startswith(
        "double: proved.bounds: store of x_ptr: REFUTED: x_ptr leaves its buffer"
    )
    assert "n = 63" in text
    assert "proved with: tl.store(x, mask=m)" in text


def test_what_is_unknown_breaks_it_and_annotates_its_line(proving: GateService):
    proving.proof = {"verdict": "unknown", "accesses": [STORE | {"bounds": UNKNOWN}]}

    assert gate(proving, "--github", "out") == 1

    [line] = Path("out").read_text().splitlines()
    assert line.startswith(
        "::error file=double.py,line=7,title=tritonc gate::double: proved.bounds"
    )
    assert "loaded value: 100 %25; ::error::mine" in line


def test_a_contract_that_does_not_fit_breaks_it(proving: GateService, capsys: Any):
    problem = {"slug": "invalid_argument", "title": "Invalid", "detail": "line 1: no such name"}
    proving.proof = {"state": "failed", "problem": problem}

    assert gate(proving) == 1
    assert "no such name" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("budgets", "said"),
    [
        (BUDGET, "`proved` needs a contract; write double.contract"),
        ("[budgets]\nproved = true", 'True is not "all sizes"'),
    ],
)
def test_without_a_contract_or_its_words_nothing_is_judged(
    service: GateService, capsys: Any, budgets: str, said: str
):
    write_gate(budgets)

    assert gate(service) == 2
    assert said in capsys.readouterr().err

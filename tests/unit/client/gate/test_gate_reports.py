"""Gate reports: their contents, and escapes for hostile text from sources and answers."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.unit.client.gate.gate_service import MIX, GateService, gate, write_gate

HOSTILE = (
    "]]> --> | `x` <script> \x1b[31m \x00 \ud800 \u202e &amp; @owner https://evil [a](b)\n# head"
)
SCHEMA = Path(__file__).parent / "sarif-2.1.0.json"


@pytest.fixture
def broken(service: GateService) -> GateService:
    """A service whose kernel exceeds its instruction budget at line 7."""
    write_gate("[budgets]\ninstruction_classes = {tensor = 4}\nregisters = 32")
    return service


@pytest.fixture
def hostile(service: GateService) -> GateService:
    """A service whose compiler message tries to break every report format."""
    write_gate("[budgets]\nregisters = 1")
    problem = {"slug": "compile_error", "detail": HOSTILE}
    service.compiled = lambda _: {"state": "failed", "problem": problem}
    return service


def report(service: GateService, name: str) -> str:
    assert gate(service, f"--{name}", "out") == 1
    return Path("out").read_text()


def test_the_table_shows_what_is_broken_and_the_line(broken: GateService, capsys: Any):
    assert gate(broken) == 1

    said = capsys.readouterr().out.splitlines()
    [row] = [line for line in said if line.startswith("double  cuda:90")]
    assert row.split() == [
        "double", "cuda:90", "3.9.0", "instruction_classes.tensor", "5", "is", "not", "<=", "4",
        "double.py:7",
    ]  # fmt: skip
    whose = "double for cuda:90 with Triton 3.9.0, instruction_classes.tensor"
    line = f"double.py:7: {whose}: 5 tensor instructions: tl.store(x_ptr + offsets, 2"
    assert said[-2].startswith(line)
    assert said[-1] == "gate FAILED: 1 cell, 2 checks: 1 kept, 1 broken"


def test_a_kernel_that_does_not_compile_has_its_line_in_the_table(
    service: GateService, capsys: Any
):
    write_gate("[budgets]\nregisters = 32")
    diagnostic = {"severity": "error", "message": "no such name", "file": "user.py", "line": 6}
    problem = {"slug": "compile_error", "detail": "no such name"}
    service.compiled = lambda _: {
        "state": "failed",
        "diagnostics": [diagnostic],
        "problem": problem,
    }

    assert gate(service) == 1

    [row] = [line for line in capsys.readouterr().out.splitlines() if "compiles" in line]
    assert row.endswith("no such name  double.py:6")


def test_a_passing_gate_prints_one_line(service: GateService, capsys: Any):
    write_gate("[budgets]\nregisters = 32")

    assert gate(service) == 0
    assert capsys.readouterr().out == "gate passed: 1 cell, 1 check: 1 kept\n"


def test_sarif_is_at_the_users_line(broken: GateService):
    document = json.loads(report(broken, "sarif"))

    [result] = document["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "double.py"}, "region": {"startLine": 7}}
    assert "5 tensor instructions at this line" in result["message"]["text"]
    rules = document["runs"][0]["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [result["ruleId"]] == ["instruction_classes"]


def test_sarif_has_one_result_for_each_kernel_and_target(service: GateService):
    budgets = "tritons = ['3.6', '3.9']\n[budgets]\ninstructions = 19\nregisters = 31"
    write_gate(budgets, targets='["cuda:80", "cuda:90"]')

    results = json.loads(report(service, "sarif"))["runs"][0]["results"]

    assert len(results) == 2
    text = results[0]["message"]["text"]
    assert text.startswith("double for cuda:80: Triton 3.6.0: instructions: 20 is not <= 19; ")
    assert "Triton 3.9.0: registers: 32 is not <= 31" in text


@pytest.mark.parametrize("which", ["broken", "hostile"])
def test_sarif_keeps_the_schema_of_its_standard(request: pytest.FixtureRequest, which: str):
    document = json.loads(report(request.getfixturevalue(which), "sarif"))

    jsonschema.validate(document, json.loads(SCHEMA.read_text()))


def test_markdown_says_where(broken: GateService):
    text = report(broken, "markdown")

    assert text.startswith("## tritonc gate: **failed**\n")
    [row] = [line for line in text.splitlines() if "instruction\\_classes" in line]
    assert "double.py:7: 5 tensor instructions" in row.replace("\\", "")


def test_json_has_every_number(broken: GateService, capsys: Any):
    assert gate(broken, "--json") == 1

    document = json.loads(capsys.readouterr().out)
    assert document["good"] is False
    assert document["cells"][0]["metrics"]["opcodes.IMAD"] == 15


def test_hostile_text_is_text_in_markdown(hostile: GateService):
    text = report(hostile, "markdown")

    rows = [line for line in text.splitlines() if line.startswith("| double | cuda:90")]
    [row] = [line for line in rows if "--" in line.replace("\\", "")]
    assert "<script>" not in text
    assert "\x1b" not in text
    assert row.replace("\\|", "").count("|") == 7
    assert "](b)" not in row
    assert "@owner" not in row
    assert "https://evil" not in row
    assert "&\\#" not in row  # escaped entities appear as the text wrote them


def test_hostile_text_is_text_on_a_terminal(hostile: GateService, capsys: Any):
    gate(hostile)

    assert not {"\x1b", "\x00", "\ud800", "\u202e"} & set(capsys.readouterr().out)


@pytest.mark.parametrize(
    "answer",
    [
        {},
        MIX | {"total": "many"},
        MIX | {"total": -1},
        MIX | {"by_class": {"integer": 1e99}},
        MIX | {"by_line": 5},
        MIX | {"by_line": [{"file": "user.py", "line": True, "by_class": {}}]},
    ],
)
def test_an_answer_that_is_no_count_is_refused(service: GateService, capsys: Any, answer: Any):
    write_gate("[budgets]\ninstructions = 20")
    service.mix = answer

    assert gate(service) == 2
    assert "the instruction counts of double for cuda:90" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("members", "code"),
    [
        ({"resources": [1]}, 2),
        ({"timings_ms": 5}, 2),
        ({"diagnostics": 5}, 2),
        ({"artifacts": {"ptx": 5}}, 2),
        ({"resources": {"occupancy": "much", "registers": "many"}}, 1),
    ],
)
def test_a_record_that_is_none_never_keeps_a_budget(service: GateService, members: Any, code: int):
    write_gate("[budgets]\nregisters = 64")
    service.compiled = lambda _: members

    assert gate(service) == code


def test_a_hostile_name_of_a_kernel_is_text(service: GateService):
    write_gate("[budgets]\nregisters = 1")
    text = Path("kernels.toml").read_text()
    name = '"]]> <b>|`x`\\u001b[31m\\n::error::"'
    Path("kernels.toml").write_text(text.replace("[kernels.double]", f"[kernels.{name}]"))

    rows = report(service, "markdown").splitlines()
    assert not [row for row in rows if "<b>" in row or row.startswith("::")]
    results = json.loads(report(service, "sarif"))["runs"][0]["results"]
    assert len(results) == 1
    assert "\n" not in results[0]["message"]["text"]


def test_endless_names_are_cut(service: GateService, capsys: Any):
    write_gate("[budgets]\ninstructions = 20")
    service.mix = MIX | {"by_class": {"x" * 1000 + str(n): n for n in range(5000)}}

    assert gate(service, "--json") == 0
    metrics = json.loads(capsys.readouterr().out)["cells"][0]["metrics"]
    assert len(metrics) < 2100
    assert max(map(len, metrics)) < 110

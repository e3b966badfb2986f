"""A program's changes to its inputs are compared with the reference's changes."""

from __future__ import annotations

import httpx
import pytest

from programs.program_request import EXAMPLE
from tests.programs.with_torch.evaluating import evaluate

SOURCE = EXAMPLE["source"]
REFERENCE = EXAMPLE["reference"]["source"]
BEFORE = "        output ="
DOUBLING = REFERENCE.replace("return x + y", "x.mul_(2)\n        return x + y")


def first(line: str) -> str:
    """Return the program with an additional first line."""
    return SOURCE.replace(BEFORE, f"        {line}\n{BEFORE}", 1)


@pytest.mark.parametrize("line", ["x.mul_(2)", "x[:2] = x[:2] * 2; x[2:] = x[2:] * 2"])
def test_both_change_an_input_alike(programs: httpx.Client, line: str) -> None:
    program = evaluate(programs, first(line), DOUBLING)
    assert program["verdict"] == "passed", program
    assert program["outputs"]["inputs[0]"]["comparison"]["matches"]


@pytest.mark.parametrize(
    "source",
    [
        SOURCE.replace("return output", "x.zero_()\n        return output"),
        SOURCE.replace("output = torch.empty_like(x)", "output = x"),
    ],
    ids=["used for something else", "written by the kernel"],
)
def test_only_the_program_changes_an_input(programs: httpx.Client, source: str) -> None:
    program = evaluate(programs, source, REFERENCE)
    assert program["verdict"] == "input_modified", program
    [finding] = program["findings"]
    assert (finding["kind"], finding["argument"]) == ("input_modified", "inputs[0]")
    assert "in place, and the reference does not" in finding["message"]
    assert not program["reward"]["correct"]


def test_only_the_reference_changes_an_input(programs: httpx.Client) -> None:
    source = first("x = x * 2")
    program = evaluate(programs, source, DOUBLING)
    assert program["verdict"] == "passed", program
    [finding] = program["findings"]
    assert (finding["kind"], finding["argument"]) == ("side_effect_missing", "inputs[0]")
    assert finding["message"].startswith("The first call leaves inputs[0] unchanged")
    assert not program["reward"]["correct"]


def test_an_input_that_the_reference_returns_is_compared_as_that_output(
    programs: httpx.Client,
) -> None:
    program = evaluate(programs, SOURCE, REFERENCE.replace("return x + y", "return x.add_(y)"))
    assert [finding["kind"] for finding in program["findings"]] == ["warning"]
    assert program["reward"]["correct"]


def test_both_change_an_input_but_to_something_else(programs: httpx.Client) -> None:
    source = first("x.mul_(2)").replace("return output", "x.mul_(2)\n        return output")
    program = evaluate(programs, source, DOUBLING)
    assert program["verdict"] == "mismatch", program
    assert program["outputs"]["0"]["comparison"]["matches"]
    assert not program["outputs"]["inputs[0]"]["comparison"]["matches"]


def test_an_input_that_is_written_with_what_it_holds_is_not_modified(
    programs: httpx.Client,
) -> None:
    program = evaluate(programs, first("x.mul_(1)"), REFERENCE)
    assert program["verdict"] == "passed", program


def test_a_function_that_returns_nothing_is_judged_by_what_it_changes(
    programs: httpx.Client,
) -> None:
    source = SOURCE.replace("output = torch.empty_like(x)", "output = x")
    source = source.replace("        return output\n", "")
    reference = REFERENCE.replace("return x + y", "x.add_(y)")
    assert evaluate(programs, source, reference)["verdict"] == "passed"
    wrong = evaluate(programs, source.replace("x + y, mask", "x - y, mask"), reference)
    assert wrong["verdict"] == "mismatch", wrong
    idle = evaluate(programs, source.replace("output = x", "output = x.clone()"), reference)
    assert idle["verdict"] == "mismatch", idle
    assert idle["findings"][0]["kind"] == "wrong_structure"

"""The tool `launch` passes on the notes of the API, and suggests no check that it had."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from adapters.mcp import launch_tool
from adapters.mcp.launch_tool import ran_answer
from adapters.mcp.tool_arguments import LaunchArguments

NOTHING = dict.fromkeys(("problem", "findings", "outputs", "timing", "fuzz", "proof"))
NOTE = "y_ptr has 288 unwritten elements, which never match."
LITERAL = "shapes: the grid is a literal and would not follow them; write it as an expression"
FUZZED = {"cases": 9, "varied": ["values of x_ptr: zeros"], "not_varied": [LITERAL]}
MATCHES = {"matches": True, "max_abs_error": 0, "note": None, "zeros_match": False}


def launched(verdict: str, checks: list[str] | None = None, **more: Any) -> tuple[str, str]:
    """Return the text of an answer, and its next step."""
    device = {"interpreter": True}
    ran = {"id": "l1", "state": "completed", "verdict": verdict, "device": device}
    arguments = LaunchArguments(source="k", grid=1, arguments={}, checks=checks)
    answered = ran_answer(SimpleNamespace(json=ran | NOTHING | more), "launch", arguments)
    return answered.text, answered.facts["next"]


def mismatch(count: int, unwritten: int, note: str | None) -> dict[str, Any]:
    first = {"index": [64], "actual": "NaN", "expected": 1.5}
    comparison = {
        "matches": False,
        "mismatched": count,
        "unwritten": unwritten,
        "first_mismatch": first,
        "note": note,
        "zeros_match": False,
    }
    return {"outputs": {"y_ptr": {"comparison": comparison, "summary": None}}}


def test_unwritten_elements_are_told_from_wrong_ones() -> None:
    text, step = launched("mismatch", **mismatch(800, 288, NOTE))

    assert "y_ptr: 800 elements do not match, 288 of them unwritten, first at [64]: NaN" in text
    assert f"  note: {NOTE}" in text
    assert step == (
        "have the kernel write the 288 elements that no program wrote (the grid, the block size "
        "or a mask is too small), and launch again"
    )


def test_a_single_element_does_not_match() -> None:
    text, step = launched("mismatch", **mismatch(1, 0, None))

    assert "y_ptr: 1 element does not match, first at [64]" in text
    assert step.startswith("fix what makes the outputs differ")
    assert "or the reference if that is wrong" in step


def test_a_note_on_a_match_is_shown() -> None:
    note = "Every element of y_ptr is expected to keep its initial value"
    matching = {"y_ptr": {"comparison": MATCHES | {"note": note}, "summary": None}}

    text, _ = launched("passed", outputs=matching)

    assert f"  note: {note}" in text


class FakeService:
    """Answers launches with verdicts in order, and keeps their checks."""

    def __init__(self, *verdicts: str) -> None:
        self._verdicts = list(verdicts)
        self.checks: list[Any] = []

    async def ask_itself(
        self, _request: Any, _method: str, _path: str, body: dict[str, Any], _query: Any
    ) -> Any:
        self.checks.append(body.get("checks"))
        verdict = self._verdicts.pop(0)
        ran = {"id": "l1", "state": "completed", "verdict": verdict, "counts": {verdict: 1}}
        return SimpleNamespace(
            is_problem=False, json=ran | NOTHING | {"device": {"interpreter": True}}
        )


@pytest.mark.parametrize(
    ("given", "verdicts", "checks", "remark"),
    [
        ({}, ["passed"], [["racecheck"]], None),
        ({"checks": []}, ["passed"], [[]], 'races were not checked: add "racecheck"'),
        ({"checks": ["fuzz"]}, ["passed"], [["fuzz"]], 'races were not checked: add "racecheck"'),
        ({"target": "cuda:90"}, ["passed"], [[]], 'races were not checked: add "racecheck"'),
        ({"time": True}, ["passed"], [[]], "not timed"),
        (
            {},
            ["timeout", "passed"],
            [["racecheck"], None],
            "races were not checked: with this check, the launch ended as timeout",
        ),
        ({}, ["timeout", "timeout"], [["racecheck"], None], None),
        ({"checks": ["racecheck"]}, ["timeout"], [["racecheck"]], None),
    ],
)
async def test_races_are_checked_by_default_where_a_cpu_can(
    monkeypatch: pytest.MonkeyPatch,
    given: dict[str, Any],
    verdicts: list[str],
    checks: list[Any],
    remark: str | None,
) -> None:
    service = FakeService(*verdicts)
    monkeypatch.setattr(launch_tool, "ask_itself", service.ask_itself)
    monkeypatch.setattr(launch_tool, "host_of", lambda _: SimpleNamespace(max_wait_s=60))
    arguments = LaunchArguments(source="k", grid=1, arguments={}, **given)

    answered = await launch_tool.launch(cast("Any", None), arguments)

    assert service.checks == checks
    if remark is None:
        assert "races were not checked" not in answered.text
    else:
        assert remark in answered.text


@pytest.mark.parametrize(
    ("checks", "more", "step"),
    [
        (None, {}, 'launch with ["racecheck", "fuzz"] as `checks`'),
        (["racecheck"], {}, 'launch with ["racecheck", "fuzz"] as `checks`'),
        (["racecheck", "fuzz"], {"fuzz": FUZZED}, "write `grid` as an expression"),
        (["racecheck", "fuzz"], {"fuzz": FUZZED | {"not_varied": []}}, "prove it for all sizes"),
        (["racecheck", "fuzz"], {"proof": {"verdict": "proved"}}, "it passed all checks"),
    ],
)
def test_the_step_after_a_pass_is_a_check_that_it_did_not_have(
    checks: list[str] | None, more: dict[str, Any], step: str
) -> None:
    text, next_step = launched("passed", checks, **more)

    assert next_step.startswith(step)
    assert (f"  not varied: {LITERAL}" in text) == (more.get("fuzz") == FUZZED)


MODIFIED = {"kind": "input_modified", "argument": "y_ptr", "message": "The kernel changed y_ptr"}
WRONG = {"kind": "invalid_reference", "argument": None}
MARKED = "if the kernel should write it, add `:output` to `arguments.y_ptr`"


@pytest.mark.parametrize(
    ("verdict", "findings", "step"),
    [
        ("input_modified", [MODIFIED], MARKED),
        ("invalid_reference", [MODIFIED, WRONG | {"message": "the launch has no output"}], MARKED),
        (
            "invalid_reference",
            [MODIFIED, WRONG | {"message": "returned 'y_ptr', which is not an output", "line": 2}],
            MARKED,
        ),
        (
            "invalid_reference",
            [MODIFIED, WRONG | {"message": "line 2: NameError", "line": 2}],
            "fix line 2 of the reference",
        ),
        (
            "invalid_reference",
            [WRONG | {"message": "returned 'z', which is not an output", "line": 2}],
            "fix line 2 of the reference",
        ),
    ],
)
def test_an_output_without_its_mark_is_what_to_change(
    verdict: str, findings: list[dict[str, Any]], step: str
) -> None:
    usual = dict.fromkeys(("access", "file", "line", "diagnostics"))

    _, next_step = launched(verdict, findings=[usual | each for each in findings])

    assert next_step.startswith(step)


PAST = {"kind": "out_of_bounds", "argument": "y_ptr", "index": [500], "line": 9, "case": None}
PAST |= {"message": "program (3, 0, 0) reads y_ptr[500], 1 element past its end"}
ENLARGE = "if `arguments.y_ptr` has fewer elements than the kernel should access, give it more; "
FAILED = WRONG | {"line": 2}
OF_SHAPES = "ValueError: operands could not be broadcast together with shapes (1000,) (500,)"
RETURNED = "the reference returned float32 of shape [1000] for 'out_ptr', "
GIVE = "if `arguments.out_ptr` should have"


@pytest.mark.parametrize(
    ("verdict", "findings", "step"),
    [
        ("out_of_bounds", [PAST], f"{ENLARGE}else fix line 9"),
        ("invalid_reference", [PAST, FAILED | {"message": OF_SHAPES}], f"{ENLARGE}else fix line 9"),
        ("out_of_bounds", [PAST | {"index": [-1]}], "fix line 9"),
        ("out_of_bounds", [PAST | {"case": {"grid": [4]}}], "fix line 9"),
        (
            "invalid_reference",
            [FAILED | {"message": OF_SHAPES}],
            "if shapes in `arguments` are wrong, change them; else fix line 2 of the reference",
        ),
        (
            "invalid_reference",
            [FAILED | {"message": "ModuleNotFoundError: No module named 'torch'. A reference"}],
            "write the reference with NumPy (`np`), not torch, and launch again",
        ),
        (
            "invalid_reference",
            [FAILED | {"message": f"{RETURNED}whose shape is [2000]"}],
            f"{GIVE} the shape [1000], give it that; else fix line 2 of the reference",
        ),
        (
            "invalid_reference",
            [FAILED | {"message": f"{RETURNED}which is i32: return integers"}],
            f"{GIVE} a dtype such as fp32, give it that; else fix line 2 of the reference",
        ),
    ],
)
def test_an_argument_that_does_not_fit_comes_before_the_line_that_shows_it(
    verdict: str, findings: list[dict[str, Any]], step: str
) -> None:
    usual = dict.fromkeys(("access", "file", "line", "diagnostics"))

    _, next_step = launched(verdict, findings=[usual | each for each in findings])

    assert next_step.startswith(step)


def test_a_loop_that_does_not_end_is_looked_for_after_a_timeout() -> None:
    late = dict.fromkeys(("access", "argument", "file", "line", "diagnostics"))
    late |= {"kind": "timeout", "message": "The run did not end within timeout_s = 30 s."}

    _, step = launched("timeout", findings=[late])

    assert step == "look for a loop that does not end, or use smaller sizes, and launch again"

"""Diffs of whole compilations: requests, results, and instructions by line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compiler.diff.compilation_diff import MAX_LINES, Side, compilation_diff
from compiler.instructions.opcode_classes import CLASSES

SOURCE = "def k():\n    load()\n    add()\n    store()\n"
PTX = ".entry k(\n\tadd.s32 %r1, %r2, %r3;\n"


def sass(*instructions: tuple[int, str], file: str = "user.py") -> str:
    """Return SASS whose instructions each have a source line."""
    found = "".join(
        f'\t//## File "/kernel/{file}", line {line}\n        /*{at * 16:04x}*/  {words} ;\n'
        for at, (line, words) in enumerate(instructions)
    )
    return f".text.k:\n{found}"


SASS = sass((2, "LDG.E R1, [R2]"), (3, "FADD R1, R1, R2"), (4, "STG.E [R2], R1"))


def side(stages: Mapping[str, str] | None = None, source: str = SOURCE, **changes: Any) -> Side:
    record = {
        "key": "a",
        "state": "succeeded",
        "kernel": "k",
        "target": "cuda:90",
        "toolchain": {"id": "t", "triton": "3.9.0"},
        "options": {"num_warps": 4},
        "parameters": [{"name": "B", "role": "constexpr", "type": None, "hints": [], "value": 8}],
        "resources": {"backend": "cuda", "registers": 26, "occupancy": {"ratio": 0.5}},
        "diagnostics": [],
        "problem": None,
    }
    there = {"ptx": PTX, "sass": SASS} if stages is None else stages
    return Side(record | changes, there, {"user.py": source})


def diff(a: Side, b: Side, *stages: str) -> dict[str, Any]:
    return compilation_diff(a, b, stages or ("ptx", "sass"))


def test_what_was_asked_otherwise_is_reported_and_is_no_difference() -> None:
    found = diff(side(), side(options={"num_warps": 4, "maxnreg": 64}, toolchain={"id": "u"}))

    assert found["same"] is True
    assert found["options"] == {"maxnreg": {"a": None, "b": 64}}
    assert found["toolchain"]["triton"] == {"a": "3.9.0", "b": None}


def test_resources_stand_side_by_side_and_differ() -> None:
    fewer = {"backend": "cuda", "registers": 20, "occupancy": {"ratio": 0.5, "limited_by": "x"}}

    found = diff(side(), side(resources=fewer))

    assert found["same"] is False
    assert found["resources"]["registers"] == {"a": 26, "b": 20}
    assert found["resources"]["occupancy"] == {"a": 0.5, "b": 0.5}
    assert "backend" not in found["resources"]


def test_a_constexpr_is_reported_by_its_name() -> None:
    other = [{"name": "B", "role": "constexpr", "type": None, "hints": [], "value": 16}]

    found = diff(side(), side(parameters=other))

    assert found["parameters"]["B"]["b"]["value"] == 16


def test_instructions_move_with_their_lines() -> None:
    moved = sass((4, "LDG.E R1, [R2]"), (5, "FADD R1, R1, R2"), (6, "STG.E [R2], R1"))

    found = diff(side(), side({"ptx": PTX, "sass": moved}, "# one\n# two\n" + SOURCE))

    assert found["same"] is True
    assert found["instructions"]["by_line"] == []


def test_one_more_instruction_is_reported_at_its_line_in_both_sources() -> None:
    more = sass(
        (3, "LDG.E R1, [R2]"), (4, "FADD R1, R1, R2"), (4, "MUFU.EX2 R1, R1"), (5, "STG.E [R2], R1")
    )

    found = diff(side(), side({"ptx": PTX, "sass": more}, "# one\n" + SOURCE))["instructions"]

    assert found["delta"] == {
        "total": 1,
        "by_class": {"special": 1},
        "by_opcode": {"MUFU.EX2": 1},
    }
    assert found["by_line"] == [
        {
            "file": "user.py",
            "a_line": 3,
            "b_line": 4,
            "delta": {"total": 1, "by_class": {"special": 1}},
        }
    ]
    assert tuple(found["a"]["by_class"]) == CLASSES


def test_a_line_that_was_rewritten_is_the_one_in_its_place() -> None:
    more = sass(
        (2, "LDG.E R1, [R2]"), (3, "FMUL R1, R1, R2"), (3, "FADD R1, R1, R2"), (4, "STG.E [R2], R1")
    )

    changed = SOURCE.replace("add()", "multiply_and_add()")
    found = diff(side(), side({"ptx": PTX, "sass": more}, changed))["instructions"]

    assert [(row["a_line"], row["b_line"]) for row in found["by_line"]] == [(3, 3)]


def test_lines_of_an_unposted_file_correspond_by_number() -> None:
    text = sass((2, "LDG.E R1, [R2]"), file="elsewhere.py")

    found = diff(side({"sass": text}), side({"sass": text}))

    assert found["instructions"]["by_line"] == []


def test_another_opcode_of_the_same_class_is_a_difference_whatever_is_compared() -> None:
    other = {"ptx": PTX, "sass": SASS.replace("FADD", "FMUL")}

    found = diff(side(), side(other), "ptx")

    assert found["instructions"]["delta"]["by_opcode"] == {"FADD": -1, "FMUL": 1}
    assert found["same"] is False


def test_without_an_assembly_there_are_no_instructions() -> None:
    only_ptx = side({"ptx": PTX})

    assert diff(only_ptx, only_ptx)["instructions"] is None
    assert diff(only_ptx, side())["instructions"]["a"] is None
    assert diff(only_ptx, side())["instructions"]["delta"] is None
    assert diff(only_ptx, side())["same"] is False


def test_two_failures_of_other_words_are_not_the_same() -> None:
    error = {"severity": "error", "message": "no such name", "line": 3}
    problem = {"slug": "compile_error"}
    one = side({}, state="failed", problem=problem, diagnostics=[error])
    moved = side({}, state="failed", problem=problem, diagnostics=[error | {"line": 4}])
    other = side({}, state="failed", problem=problem, diagnostics=[error | {"message": "x"}])

    assert diff(one, moved)["same"] is True
    assert diff(one, other)["same"] is False
    assert diff(one, side())["state"] == {"a": "failed", "b": "succeeded"}


def test_lines_that_differ_are_bounded() -> None:
    count = MAX_LINES + 50
    source = "".join(f"line({n})\n" for n in range(count))
    a = sass(*((n + 1, "FADD R1, R1, R2") for n in range(count)))

    found = diff(side({"sass": a}, source), side({"sass": a.replace("FADD", "IADD3")}, source))

    assert len(found["instructions"]["by_line"]) == MAX_LINES

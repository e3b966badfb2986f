"""Baseline files: their contents, comparisons, and new or missing cells."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.client.gate.gate_service import MIX, GateService, gate, resources, write_gate
from tests.unit.client.gate.test_gate_budgets import checks

BASELINE = Path("kernels.baseline.json")
GROWTH = "[budgets]\ninstructions = '<= 1.05 x baseline'\ninstruction_classes = '<= baseline'"


def test_without_a_baseline_nothing_is_judged(service: GateService, capsys: Any):
    write_gate(GROWTH)

    assert gate(service) == 2
    assert "there is no kernels.baseline.json" in capsys.readouterr().err


def test_an_update_writes_the_same_bytes_again(service: GateService):
    write_gate(GROWTH, targets='["hip:gfx942", "cuda:80"]')
    assert gate(service, "--update-baseline") == 0
    first = BASELINE.read_bytes()

    assert gate(service, "--update-baseline") == 0

    assert BASELINE.read_bytes() == first
    assert list(json.loads(first)["kernels"]["double"]) == ["cuda:80", "hip:gfx942"]
    assert b"compile_ms" not in first


def test_one_number_more_is_one_line_of_difference(service: GateService):
    write_gate(GROWTH)
    gate(service, "--update-baseline")
    before = BASELINE.read_text().splitlines()
    service.compiled = lambda _: {"resources": resources(registers=40)}

    gate(service, "--update-baseline")

    after = BASELINE.read_text().splitlines()
    assert [(a, b) for a, b in zip(before, after, strict=True) if a != b] == [
        ('     "registers": 32,', '     "registers": 40,')
    ]


def test_a_class_that_grew_is_reported_at_its_line_though_lines_moved(
    service: GateService, capsys: Any
):
    write_gate(GROWTH)
    gate(service, "--update-baseline")
    Path("double.py").write_text("# moved\n" + Path("double.py").read_text())
    lines = [
        {"file": "user.py", "line": 7, "total": 18, "by_class": {"integer": 18}},
        {"file": "user.py", "line": 8, "total": 5, "by_class": {"tensor": 5}},
    ]
    service.mix = MIX | {"total": 23, "by_class": {"integer": 18, "tensor": 5}, "by_line": lines}

    check = checks(service, capsys)["instruction_classes.integer"]

    assert check["told"] == "18 is not <= 15 (15 of the baseline)"
    assert (check["file"], check["line"]) == ("double.py", 7)
    assert check["lines"][0]["before"] == 15


@pytest.mark.parametrize(
    ("edited", "before", "told"),
    [
        ("offsets = tl.arange(0, N)  # all", 15, "15 -> 18 integer instructions (edited line)"),
        ("tl.device_assert(True)", 0, "0 -> 18 integer instructions (edited or new line)"),
    ],
)
def test_an_edited_line_is_compared_with_the_line_that_it_was(
    service: GateService, capsys: Any, edited: str, before: int, told: str
):
    write_gate(GROWTH)
    gate(service, "--update-baseline")
    source = Path("double.py").read_text()
    Path("double.py").write_text(source.replace("offsets = tl.arange(0, N)", edited))
    lines = [
        {"file": "user.py", "line": 6, "total": 18, "by_class": {"integer": 18}},
        {"file": "user.py", "line": 7, "total": 5, "by_class": {"tensor": 5}},
    ]
    service.mix = MIX | {"total": 23, "by_class": {"integer": 18, "tensor": 5}, "by_line": lines}

    check = checks(service, capsys)["instruction_classes.integer"]

    assert check["lines"][0]["before"] == before
    gate(service)
    assert (
        f"double.py:6: double for cuda:90 with Triton 3.9.0, instruction_classes.integer: {told}"
        in capsys.readouterr().out
    )


def test_a_line_that_had_no_instructions_is_not_taken_for_an_edited_one(
    service: GateService, capsys: Any
):
    write_gate(GROWTH)
    inner = {"file": "standard.py", "line": 9, "total": 1, "by_class": {"integer": 1}}
    service.mix = MIX | {"by_line": [*MIX["by_line"], inner]}
    gate(service, "--update-baseline")
    lines = [{"file": "user.py", "line": 5, "total": 18, "by_class": {"integer": 18}}]
    service.mix = MIX | {"total": 23, "by_class": {"integer": 18, "tensor": 5}, "by_line": lines}

    gate(service)

    assert ": 0 -> 18 integer instructions: def double" in capsys.readouterr().out


def test_another_triton_is_compared_with_the_nearest_one_there(service: GateService, capsys: Any):
    write_gate("tritons = ['3.6']\n" + GROWTH)
    gate(service, "--update-baseline")
    service.mix = MIX | {"total": 40}

    check = checks(service, capsys, "--triton", "3.9")["instructions"]

    assert check["told"] == "40 is not <= 21 (1.05 x 20 of the baseline, which has Triton 3.6.0)"


def test_new_and_missing_are_reported_and_count_with_strict(service: GateService, capsys: Any):
    write_gate(GROWTH)
    gate(service, "--update-baseline")
    write_gate(GROWTH, targets='["cuda:80"]')

    assert gate(service) == 0
    said = capsys.readouterr()
    assert "20, with nothing to compare with" in said.out
    assert "only the baseline has double for cuda:90 with Triton 3.9.0" in said.err
    assert gate(service, "--strict") == 1


def test_a_part_of_the_matrix_leaves_the_rest_of_the_baseline(service: GateService):
    write_gate(GROWTH, targets='["cuda:80", "cuda:90"]')
    gate(service, "--update-baseline")
    before = BASELINE.read_bytes()

    assert gate(service, "--target", "cuda:90", "--update-baseline") == 0

    assert BASELINE.read_bytes() == before


def test_a_cell_that_fails_keeps_what_it_had(service: GateService):
    write_gate(GROWTH)
    gate(service, "--update-baseline")
    before = BASELINE.read_bytes()
    service.compiled = lambda _: {"state": "failed", "problem": {"slug": "compile_error"}}

    assert gate(service, "--update-baseline") == 1

    assert BASELINE.read_bytes() == before


def test_ptx_may_change_in_comments_places_and_debug_sections_only(
    service: GateService, capsys: Any
):
    write_gate("[budgets]\nptx = 'unchanged'")
    text = '.version 8.7\n.file 1 "a.py"\n$L__tmp1:\n.loc 1 2 3\nadd.s32 %r1, 1, 2; // a\n'
    service.compiled = lambda _: {"included": {"ptx": text}}
    gate(service, "--update-baseline")

    text = ".version 9.0\nadd.s32  %r1, 1, 2;\n.section .debug_str\n{\n.b8 1\n}\n"
    assert gate(service) == 0
    text = "add.s32 %r1, 1, 3;"
    assert checks(service, capsys)["ptx"]["state"] == "broken"


@pytest.mark.parametrize(
    "text",
    [
        "no json",
        "[]",
        '{"version": 2, "kernels": {}}',
        '{"version": 1, "kernels": {"double": {"cuda:90": {"3.9.0": 5}}}}',
        '{"version": 1, "kernels": {"double": {"cuda:90": {"3.9.0": {"lines": [1]}}}}}',
        '{"version": 1, "kernels": {"double": {"cuda:90": {"3.9.0": {"median_us": {"": [1]}}}}}}',
        '{"version": 1, "kernels": {"double": {"cuda:90": {"3.9.0": {"registers": Infinity}}}}}',
        "<<<<<<< ours",
        "[" * 100_000,
    ],
)
def test_a_file_that_is_not_a_baseline_is_named(service: GateService, capsys: Any, text: str):
    write_gate(GROWTH)
    BASELINE.write_text(text)

    assert gate(service) == 2
    assert "kernels.baseline.json: this is not a baseline" in capsys.readouterr().err


def test_changed_settings_are_named_instead_of_a_line(service: GateService, capsys: Any):
    constexprs = [{"name": "N", "role": "constexpr", "value": 64}]
    service.compiled = lambda _: {"options": {"num_warps": 4}, "parameters": constexprs}
    write_gate(GROWTH)
    gate(service, "--update-baseline")
    assert json.loads(BASELINE.read_text())["kernels"]["double"]["cuda:90"]["3.9.0"][
        "settings"
    ] == {"N": 64, "num_warps": 4}
    service.compiled = lambda _: {"options": {"num_warps": 1}, "parameters": constexprs}
    service.mix = MIX | {"total": 40}

    check = checks(service, capsys)["instructions"]

    assert check["told"] == "40 is not <= 21 (1.05 x 20 of the baseline); num_warps 4 -> 1"
    assert check["lines"] == []

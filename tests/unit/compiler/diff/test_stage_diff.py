"""Diffs of a stage's text: renamed symbols are equal, changes are shown."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.diff.stage_diff import (
    MAX_DIFF_BYTES,
    MAX_LINE_CHARS,
    StageDiff,
    stage_diff,
    stage_of_one,
)
from tests.unit.compiler.diff.stage_texts import LLIR, NAMES, PTX, SASS, TEXTS

EACH = pytest.mark.parametrize("stage", TEXTS)


def renamed(stage: str, text: str, seed: int) -> str:
    """Return the text with every name replaced, one to one."""
    names = sorted(set(re.findall(NAMES[stage], text)))
    numbers = random.Random(seed).sample(range(100, 1000), len(names))
    prefix = re.compile(r"\d+$|[\w.]+$") if stage == "ttir" else re.compile(r"\d+$")
    others = {
        name: prefix.sub(("v" if stage == "ttir" else "") + str(number), name)
        for name, number in zip(names, numbers, strict=True)
    }
    found = re.sub(NAMES[stage], lambda match: others[match[0]], text)
    if stage == "llir":  # a label is a name without its prefix
        found = re.sub(
            r"^(\d+):", lambda match: others["%" + match[1]][1:] + ":", found, flags=re.MULTILINE
        )
    return found


def changes(found: StageDiff) -> list[str]:
    return [line for line in (found.diff or "").splitlines()[2:] if line[0] in "+-"]


@EACH
@given(seed=st.integers(0, 1000))
def test_other_names_are_no_difference(stage: str, seed: int) -> None:
    other = renamed(stage, TEXTS[stage], seed)

    assert other != TEXTS[stage]
    assert stage_diff(stage, TEXTS[stage], other) == StageDiff(stage)


@EACH
def test_other_locations_and_comments_are_no_difference(stage: str) -> None:
    text = TEXTS[stage]
    moved = re.sub(r"\.loc\t1 12", ".loc\t1 13", text)
    moved = re.sub(r"#loc(\d)", lambda m: f"#loc{int(m[1]) + 20}", moved)
    moved = moved.replace("user.py:12", "user.py:13").replace('"/kernel/user.py":3', '"/a.py":4')
    moved = re.sub(r"line(:?) (\d+)", lambda m: f"line{m[1]} {int(m[2]) + 1}", moved)
    moved = re.sub(r"(?<=dbg )!(\d)|^!([478]) =", _further, moved, flags=re.MULTILINE)

    assert moved != text
    assert stage_diff(stage, text, moved) == StageDiff(stage)


def _further(match: re.Match[str]) -> str:
    return f"!{int(match[1] or match[2]) + 30}" + (" =" if match[2] else "")


@EACH
@given(data=st.data())
def test_of_one_changed_word_exactly_its_line_shows(stage: str, data: st.DataObject) -> None:
    lines = TEXTS[stage].splitlines()
    words, other = {
        "ttir": ("arith.addf", "arith.mulf"),
        "llir": ("add i32", "sub i32"),
        "ptx": ("sub.s32", "sub.u32"),
        "sass": ("FADD", "FMUL"),
        "amdgcn": ("v_sub", "v_min"),
    }[stage]
    at = data.draw(st.sampled_from([n for n, line in enumerate(lines) if words in line]))
    lines[at] = lines[at].replace(words, other)

    found = stage_diff(stage, TEXTS[stage], renamed(stage, "\n".join(lines), 1))

    assert (found.added, found.removed) == (1, 1), found.diff
    removed, added = changes(found)
    assert words in removed
    assert added[1:] == removed[1:].replace(words, other)


@EACH
@given(data=st.data())
def test_of_one_line_more_exactly_that_shows(stage: str, data: st.DataObject) -> None:
    lines = TEXTS[stage].splitlines()
    new, first, last = {
        "ttir": ("    %new = arith.constant 77 : i32", 4, 15),
        "llir": ("  fence seq_cst", 3, 12),
        "ptx": ("\tbar.sync \t0;", 13, 22),
        "sass": ("        /*0000*/                   MEMBAR.SC.GPU ;", 4, 13),
        "amdgcn": ("\ts_barrier", 5, 12),
    }[stage]
    lines.insert(data.draw(st.integers(first, last)), new)

    found = stage_diff(stage, TEXTS[stage], renamed(stage, "\n".join(lines), 2))

    assert (found.added, found.removed) == (1, 0), found.diff
    assert new.split()[-1] in changes(found)[0]


@pytest.mark.parametrize(
    ("stage", "line", "other"),
    [
        ("ttir", "arith.addf %a, %4", "arith.addf %4, %a"),
        ("ttir", "scf.yield %5, %6", "scf.yield %5, %p"),
        ("ttir", "%3#0 :", "%3#1 :"),
        ("llir", "phi i32 [ 0, %2 ], [ %6, %4 ]", "phi i32 [ 0, %2 ], [ %5, %4 ]"),
        ("llir", "icmp slt i32 %6, %3", "icmp slt i32 %3, %6"),
        ("ptx", "%r3, %r2, %r1", "%r3, %r1, %r2"),
        ("ptx", "%r4, %r3, %r2", "%r4, %r3, %r3"),
        ("sass", "R3, R2, -R0", "R3, R0, -R2"),
        ("amdgcn", "v3, v1, v2", "v3, v2, v1"),
    ],
)
def test_another_value_in_its_place_is_a_difference(stage: str, line: str, other: str) -> None:
    assert TEXTS[stage].count(line) == 1
    text = TEXTS[stage].replace(line, other)

    found = stage_diff(stage, TEXTS[stage], text)

    assert not found.same
    assert (found.added, found.removed) == (1, 1), found.diff


@pytest.mark.parametrize(
    "line",
    [
        ".reg .b32 t; mul.lo.s32 t, %r1, {};",
        ".loc 1 2 3; add.s32 %r1, %r1, {};",
        "$L__tmp_mine: add.s32 %r1, %r1, {};",
        '.pragma "a//{}";',
        ".reg .b{}2 mine;",
    ],
)
def test_inline_assembly_behind_a_directive_is_compared(line: str) -> None:
    assert not stage_diff("ptx", f"{line.format(3)}\n", f"{line.format(1)}\n").same


def test_loop_attributes_are_no_debug_locations() -> None:
    found = stage_diff("llir", LLIR, LLIR.replace("unroll.disable", "unroll.enable"))

    assert [line[:1] for line in changes(found)] == ["-", "+"]


def test_a_layout_is_shown_where_it_is_defined_and_not_where_it_is_used() -> None:
    a = "#blocked = #ttg.blocked<{order = [0]}>\n" + "".join(
        f"%{n} = tt.load %p : tensor<4xf32, #blocked>\n" for n in range(9)
    )
    b = "#new = #ttg.other\n" + a.replace("order = [0]", "order = [1]").replace("#bl", "#x")

    found = stage_diff("ttgir", a, b)

    assert (found.added, found.removed) == (2, 1)
    assert "+#blocked = #ttg.blocked<{order = [1]}>" in changes(found)


def test_a_line_that_moves_up_has_the_name_of_the_lines_that_use_it() -> None:
    start = "tt.func public @k(%n: i32) {\n%row = tt.get_program_id x : i32\n"
    between = "%x = tt.splat %n : i32 -> tensor<4xi32>\n%x_0 = arith.negi %x : tensor<4xi32>\n"
    use = "%x_2 = arith.muli {0}, {0} : i64\n"
    extended = "{} = arith.extsi %row : i32 to i64\n"
    a = start + between + extended.format("%x_1") + use.format("%x_1")
    b = start + extended.format("%row_0") + between + use.format("%row_0")

    changed = changes(stage_diff("source", a, b))

    assert changed[0][1:] == changed[1][1:] == "%x_1 = arith.extsi %row : i32 to i64"


def test_another_allocation_of_registers_is_said_and_not_shown() -> None:
    numbers = {"R2": "R9", "R3": "R2", "R5": "R7", "R0": "R4"}
    other = re.sub(r"\bR\d\b", lambda match: numbers.get(match[0], match[0]), SASS)

    found = stage_diff("sass", SASS, other)

    assert found.registers_differ
    assert not found.same
    assert found.diff is None


@EACH
def test_a_text_and_itself_are_the_same(stage: str) -> None:
    assert stage_diff(stage, TEXTS[stage], TEXTS[stage]).same
    assert stage_diff(stage, TEXTS[stage], TEXTS[stage] + "\n").same


@EACH
def test_line_numbers_are_those_of_the_artifact(stage: str) -> None:
    words = (
        "ret" if stage in {"ttir", "llir", "ptx"} else {"sass": "EXIT", "amdgcn": "endpgm"}[stage]
    )
    lines = TEXTS[stage].splitlines()
    (at,) = [
        n for n, line in enumerate(lines, 1) if re.search(rf"\b{words}|_{words}|\.{words}", line)
    ]
    changed = TEXTS[stage].replace(lines[at - 1], lines[at - 1].replace(words, words + "x"))

    found = stage_diff(stage, TEXTS[stage], "\n\n" + changed)

    head, *hunk = (found.diff or "").splitlines()[2:]
    place = re.fullmatch(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@", head)
    assert place is not None
    assert int(place[3]) == int(place[1]) + 2
    assert int(place[1]) <= at
    assert int(place[2]) == sum(line[0] in " -" for line in hunk)
    assert int(place[4]) == sum(line[0] in " +" for line in hunk)


def test_a_diff_is_cut_where_it_gets_too_long() -> None:
    a = "".join(f"%{n} = a.{n} : i32\n" for n in range(6_000))
    b = "".join(f"%{n} = b.{n} : i32\n" for n in range(6_000))

    found = stage_diff("ttir", a, b)

    assert found.truncated
    assert (found.added, found.removed) == (6_000, 6_000)
    assert len((found.diff or "").encode()) <= MAX_DIFF_BYTES


def test_of_a_huge_line_what_is_around_the_difference_is_shown() -> None:
    a = "x" * 50_000 + "a" + "y" * 50_000

    found = stage_diff("ttir", a, a.replace("a", "b"))

    removed, added = changes(found)
    assert "xxxayyy" in removed
    assert "xxxbyyy" in added
    assert len(removed) < MAX_LINE_CHARS + 100


def test_what_one_alone_has_is_counted() -> None:
    assert stage_of_one("ptx", "a", PTX).removed == stage_of_one("ptx", "b", PTX).added > 10
    assert not stage_of_one("ptx", "a", PTX).same

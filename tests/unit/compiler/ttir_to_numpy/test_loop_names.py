"""The user's name of a loop variable: only the readable form of IR has it."""

from __future__ import annotations

import pytest

from compiler.ttir_to_numpy.generic_form import loop_names


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("scf.for %q = %0 to %1 step %2  : i32 {", "q"),
        ("%total_29 = scf.for %q = %0 to %1 step %2 iter_args(%a = %b) -> (f32)  : i32 {", "q"),
        ("%total:2 = scf.for %q = %0 to %1 step %2 iter_args(%a = %b) -> (f32, f32) {", "q"),
        ("scf.for unsigned %q = %0 to %1 step %2  : i32 {", "q"),
        ("scf.for %_ = %0 to %1 step %2  : i32 {", "_"),
        ("scf.for %q_1 = %0 to %1 step %2  : i32 {", "q_1"),
        ("scf.for %arg3 = %0 to %1 step %2  : i32 {", ""),
        ("scf.for %3 = %0 to %1 step %2  : i32 {", ""),
    ],
)
def test_each_loop_says_the_name_of_its_number(line: str, name: str) -> None:
    assert loop_names(f"module {{\n    {line}\n    }}\n}}") == [name]


def test_a_number_that_mlir_adds_where_a_name_is_taken_is_no_part_of_it() -> None:
    text = "%i = arith.constant 7 : i32\n%x = scf.for %i_38 = %0 to %1 step %2 : i32 {\n"

    assert loop_names(text) == ["i"]


def test_words_of_messages_and_comments_are_no_loops() -> None:
    text = 'tt.print "scf.for %q = " : i32\n// scf.for %q = %0 to %1\n'

    assert loop_names(text) == []

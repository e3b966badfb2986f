"""Which parameters a kernel may write to, found in its IR."""

from __future__ import annotations

import pytest

from tests.integration.launch.cpu.forms import forms_of

POINTER = "!tt.ptr<f32>"
COPY = f"%v = tt.load %x : {POINTER}\ntt.store %z, %v : {POINTER}"
MOVED = f"%one = arith.constant 1 : i32\n%q = tt.addptr %z, %one : {POINTER}, i32"


def written(body: str, helpers: str = "") -> list[int]:
    parameters = ", ".join(f"%{name}: {POINTER}" for name in "xyz")
    text = (
        f"module {{\n{helpers}tt.func public @k({parameters}, %n: i1) {{\n{body}\ntt.return\n}} }}"
    )
    return sorted(forms_of(text).run.written)


def test_only_what_is_stored_to_is_written() -> None:
    assert written(COPY) == [2]


def test_a_pointer_that_was_moved_is_still_its_parameter() -> None:
    assert written(f"{MOVED}\n{COPY.replace('%z,', '%q,')}") == [2]


def test_an_atomic_operation_writes() -> None:
    body = (
        "%v = arith.constant 1.0 : f32\n%yes = arith.constant true\n"
        f"%old = tt.atomic_rmw fadd, acq_rel, gpu, %y, %v, %yes : ({POINTER}, f32, i1) -> f32"
    )

    assert written(body) == [1]


def test_of_two_pointers_that_may_be_chosen_both_may_be_written() -> None:
    body = f"%q = arith.select %n, %y, %z : {POINTER}\n{COPY.replace('%z,', '%q,')}"

    assert written(body) == [1, 2]


@pytest.mark.parametrize("end", ["tt.return", f"tt.return %p : {POINTER}"])
def test_what_a_called_function_writes_is_written(end: str) -> None:
    result = f" -> {POINTER}" if end != "tt.return" else ""
    given = "%q = " if result else ""
    helper = (
        f"tt.func private @put(%p: {POINTER}, %v: f32){result} attributes {{noinline = true}} {{\n"
        f"tt.store %p, %v : {POINTER}\n{end}\n}}\n"
    )
    call = f"{given}tt.call @put(%z, %v) : ({POINTER}, f32) -> {result[4:] or '()'}"

    assert written(f"%v = tt.load %x : {POINTER}\n{call}", helper) == [2]


def test_a_pointer_made_of_a_number_may_be_anything() -> None:
    body = (
        "%address = arith.constant 4096 : i64\n%v = arith.constant 1.0 : f32\n"
        f"%q = tt.int_to_ptr %address : i64 -> {POINTER}\ntt.store %q, %v : {POINTER}"
    )

    assert written(body) == [0, 1, 2, 3]


def test_a_pointer_that_a_loop_moves_is_written_from_within() -> None:
    body = (
        "%zero = arith.constant 0 : i32\n%one = arith.constant 1 : i32\n%four = arith.constant 4 : "
        f"i32\n%v = tt.load %x : {POINTER}\n"
        "%last = scf.for %i = %zero to %four step %one iter_args(%p = %z) -> "
        f"({POINTER}) : i32 {{\n"
        f"tt.store %p, %v : {POINTER}\n%q = tt.addptr %p, %one : {POINTER}, i32\n"
        f"scf.yield %q : {POINTER}\n}}"
    )

    assert written(body) == [2]

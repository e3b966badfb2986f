"""Texts lose memory addresses, and nothing else."""

from __future__ import annotations

import pytest

from compiler.diagnostic import Failure, diagnostic, without_addresses


def test_an_object_is_reported_without_its_address() -> None:
    assert without_addresses(f"cannot use {object()!r}") == "cannot use <object object>"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<function g at 0x7f2a0c0de400>", "<function g>"),
        (
            "<bound method C.f of <user.C object at 0x7f2a0c0de400>>",
            "<bound method C.f of <user.C object>>",
        ),
        ("<cell at 0x7f2a0c0de400: int object at 0x7f2a0c0de440>", "<cell: int object>"),
        ("Cannot select: 0x55d0c8a1b2c0: f32 = fadd", "Cannot select: : f32 = fadd"),
    ],
)
def test_each_way_to_write_an_address(text: str, left: str) -> None:
    assert without_addresses(text) == left


@pytest.mark.parametrize("text", ["a mask of 0xffffffff", "x & 0x7f2a0c0de400", "at 0x10"])
def test_other_numbers_stay(text: str) -> None:
    assert without_addresses(text) == text


def test_no_diagnostic_and_no_failure_can_hold_one() -> None:
    words = f"{test_other_numbers_stay}"

    said = diagnostic("error", "frontend", words, hint=words)
    failure = Failure("compile_error", "frontend", words)

    assert "0x" in words
    assert "0x" not in f"{said} {failure.message}"

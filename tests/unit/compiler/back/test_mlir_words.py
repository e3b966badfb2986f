"""Errors of MLIR and LLVM, reworded for the kernel's author."""

from __future__ import annotations

import pytest

from compiler.back.mlir_log import diagnostics, reworded


def test_the_error_of_a_kernel_that_returns_a_value_explains_helpers() -> None:
    message, hint = reworded("failed to legalize operation 'tt.return' that was explicitly marked")

    assert message == "the kernel returns a value"
    assert hint is not None
    assert "NAME_stored" in hint


@pytest.mark.parametrize(
    ("kind", "said"),
    [("tensor<64xf32>", "fp32[64]"), ("tensor<2x4xi32>", "int32[2, 4]"), ("f32", "fp32")],
)
def test_a_mask_that_is_no_condition_is_reported_with_its_type(kind: str, said: str) -> None:
    message, _ = reworded(
        "'tt.load' op operand #1 must be 1-bit signless integer or ranked tensor of 1-bit signless "
        f"integer values, but got '{kind}'"
    )

    assert message == f"the mask of tl.load is of type {said}, not a condition"


def test_a_message_that_nothing_better_is_known_for_stays() -> None:
    assert reworded("'tt.dot' op expects equal types") == ("'tt.dot' op expects equal types", None)


def test_what_llvm_says_before_it_gives_up_is_reported() -> None:
    log = (
        "Failure value returned from cantFail wrapped call\n"
        "number of input constraints does not match number of parameters\n"
        "UNREACHABLE executed at /llvm-project/llvm/include/llvm/Support/Error.h:779!\n"
    )

    (found,) = diagnostics(log, {}, "llir")

    assert found.message == (
        "LLVM: number of input constraints does not match number of parameters"
    )
    assert "one constraint" in found.hint

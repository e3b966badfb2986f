"""LLVM gives no line with its errors of inline assembly; the TTGIR has it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compiler.back.mlir_log import with_places
from compiler.diagnostic import Diagnostic, diagnostic

SOURCE = {"/kernel/user.py": "\n".join(f"line {number}" for number in range(1, 20))}
TENSOR = "tensor<64xf32, #blocked>"
IR = f"""
    %y = tt.elementwise_inline_asm "add.f32 $0, $1, $2;" {{constraints = "=r,r", packed_element = 1 : i32, pure = true}} %x : {TENSOR} -> {TENSOR} loc(#loc11)
    %z = tt.elementwise_inline_asm "\\0A mul.f32 $0, $1, $2;" {{constraints = "=r,r,r"}} %y, %y : {TENSOR} loc(#loc5)
    %w = tt.elementwise_inline_asm "mov.b32 $0, $1;" {{constraints = "=x,r,r"}} %z : {TENSOR} loc(callsite(#loc6 at #loc5))
#loc = loc("/kernel/user.py":5:1)
#loc4 = loc("/kernel/user.py":8:9)
#loc5 = loc("/kernel/user.py":9:28)
#loc6 = loc("/kernel/user.py":12:4)
#loc11 = loc("y"(#loc4))
"""  # noqa: E501


def llvm(message: str) -> Diagnostic:
    return diagnostic("error", "llir", f"LLVM: {message}")


@pytest.mark.parametrize(
    ("message", "line", "column"),
    [
        ("invalid operand in inline asm: 'add.f32 $0, $1, $2;'", 8, 9),
        ("number of input constraints does not match number of parameters", 12, 4),
        ("could not allocate output register for constraint 'x'", 12, 4),
    ],
)
def test_the_one_that_is_meant_is_found(message: str, line: int, column: int) -> None:
    (said,) = with_places([llvm(message)], IR, SOURCE)

    assert (said.file, said.line, said.column) == ("user.py", line, column)
    assert said.excerpt.startswith(f"line {line}\n")


def test_other_complaints_and_known_places_stay_as_they_are() -> None:
    found = [llvm("Cannot select: intrinsic"), replace(llvm("bad constraint"), line=3)]

    assert with_places(found, IR, SOURCE) == found


def test_locations_that_name_themselves_end() -> None:
    ir = IR.replace('#loc4 = loc("/kernel/user.py":8:9)', "#loc4 = loc(fused[#loc11, #loc4])")

    (said,) = with_places([llvm("invalid operand in inline asm: 'add.f32 $0")], ir, SOURCE)

    assert said.line == 9

from launch.proof.widening import widened

SOURCE = """\
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, stride):
    row = tl.program_id(0)
    tl.store(x_ptr + row * stride + 1, 0.0)
"""


def test_each_operand_of_the_product_is_widened_in_turn() -> None:
    line = SOURCE.splitlines()[7]
    column = line.index("row * stride") + 1
    left, right = widened(SOURCE, "arith.muli", 8, column)
    assert "x_ptr + row.to(tl.int64) * stride + 1" in left
    assert "x_ptr + row * stride.to(tl.int64) + 1" in right


def test_a_product_in_a_sum_is_widened_before_the_sum() -> None:
    source = SOURCE.replace("x_ptr + row * stride + 1", "x_ptr + (row * stride + cols)")
    found = widened(source, "arith.addi", 8, source.splitlines()[7].index("row * stride") + 1)
    assert "(row.to(tl.int64) * stride + cols)" in next(found)
    assert "(row * stride + cols.to(tl.int64))" in list(found)[-1]


def test_another_operation_at_that_place_is_not() -> None:
    assert list(widened(SOURCE, "arith.addi", 8, 22)) == []


def test_what_is_no_source_is_left_alone() -> None:
    assert list(widened("def (", "arith.muli", 1, 1)) == []

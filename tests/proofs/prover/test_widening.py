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
    left, right = widened(SOURCE, [("arith.muli", 8, column)], ())
    assert "x_ptr + row.to(tl.int64) * stride + 1" in left
    assert "x_ptr + row * stride.to(tl.int64) + 1" in right


def test_a_product_in_a_sum_is_widened_before_the_sum() -> None:
    source = SOURCE.replace("x_ptr + row * stride + 1", "x_ptr + (row * stride + cols)")
    column = source.splitlines()[7].index("row * stride") + 1
    found = widened(source, [("arith.addi", 8, column)], ())
    assert "(row.to(tl.int64) * stride + cols)" in next(found)
    assert "(row * stride + cols.to(tl.int64))" in list(found)[-1]


def test_another_operation_at_that_place_is_not() -> None:
    assert list(widened(SOURCE, [("arith.addi", 8, 22)], ())) == []


def test_what_is_no_source_is_left_alone() -> None:
    assert list(widened("def (", [("arith.muli", 1, 1)], ())) == []


TWICE = (
    SOURCE.replace("0.0)", "tl.load(y_ptr+row*stride))")
    + """    other = 2 * row * stride


@triton.jit
def another(x_ptr, row, stride):
    tl.store(x_ptr + row * stride, 0.0)
"""
)


def test_equal_operations_of_the_kernel_are_widened_together_and_then_one_alone() -> None:
    column = TWICE.splitlines()[7].index("row * stride") + 1
    both, _, one, _ = widened(TWICE, [("arith.muli", 8, column)], ())
    wide = "x_ptr + row.to(tl.int64) * stride + 1, tl.load(y_ptr+row.to(tl.int64)*stride)"
    assert both == TWICE.replace("x_ptr + row * stride + 1, tl.load(y_ptr+row*stride)", wide)
    assert one == TWICE.replace("row * stride + 1", "row.to(tl.int64) * stride + 1")


def test_a_product_equals_one_whose_operands_are_exchanged() -> None:
    source = TWICE.replace("y_ptr+row*stride", "y_ptr + stride * row")
    column = source.splitlines()[7].index("row * stride") + 1
    both, *_ = widened(source, [("arith.muli", 8, column)], ())
    assert "tl.load(y_ptr + stride.to(tl.int64) * row)" in both


def test_all_places_are_widened_together_but_no_constants() -> None:
    source = SOURCE.replace("0.0)", "tl.load(x_ptr + BLOCK * row))")
    line = source.splitlines()[7]
    columns = [line.index(text) + 1 for text in ("row * stride", "BLOCK * row")]
    places = [("arith.muli", 8, column) for column in columns]
    both, *_ = widened(source, places, ["BLOCK"])
    assert "row.to(tl.int64) * stride + 1, tl.load(x_ptr + BLOCK * row.to(tl.int64))" in both


def test_ends_of_lines_are_those_of_python() -> None:
    source = SOURCE.replace("row = ", "a = 1\r    b = '\x0c\u2028'\r\n    row = ")
    line = next(at for at, text in enumerate(source.split("\n")) if "row * stride" in text) + 2
    column = SOURCE.splitlines()[7].index("row * stride") + 1
    [left, _] = widened(source, [("arith.muli", line, column)], ())
    assert left == source.replace("row * stride", "row.to(tl.int64) * stride")

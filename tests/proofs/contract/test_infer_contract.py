import contextlib
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from launch.contract.guesses import equalities_of, guesses_of
from launch.contract.infer_contract import (
    CaseBuffer,
    InferenceCase,
    NotInferable,
    inferred_contract,
)
from launch.contract.text import read_contract


class MoreLines(AssertionError):
    """The call ran more lines than it may."""


def lines_run(call: Callable[[], object], most: int) -> int:
    """Return the number of lines that `call` ran. Raises MoreLines as soon as it is above `most`.

    What a function written in C does is one line, however much it is.
    """
    count = 0

    def trace(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        if count > most:
            raise MoreLines(f"more than {most:,} lines")
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


MAX_LINES = 120_000
"""Some 10 ms."""
SIZES = ((211, 1009, 307), (89, 523, 1511), (1301, 2003, 761))


def cdiv(a: int, b: int) -> int:
    return -(-a // b)


def matmul(m: int, n: int, k: int) -> InferenceCase:
    buffers = {"a": CaseBuffer((m, k)), "b": CaseBuffer((k, n)), "c": CaseBuffer((m, n))}
    scalars = {"M": m, "N": n, "K": k, "stride_a": k, "stride_b": n, "stride_c": n}
    return InferenceCase(buffers, scalars, [cdiv(m, 64) * cdiv(n, 128)])


def test_sizes_that_are_always_equal_are_one() -> None:
    text = inferred_contract([matmul(*sizes) for sizes in SIZES], {"BM": 64, "BN": 128})
    lines = text.splitlines()
    assert {"a: M * K", "b: K * N", "c: M * N", "stride_a = K", "stride_b = N"} <= set(lines)
    assert "grid: cdiv(M, BM) * cdiv(N, BN)" in lines
    read_contract(text)


def test_a_size_that_no_argument_has_gets_a_name() -> None:
    cases = [InferenceCase({"x": CaseBuffer((m, n))}, {"n": n}, [m]) for m, n, _ in SIZES]
    assert inferred_contract(cases, {}) == "sizes x_0\nx: x_0 * n\ngrid: x_0\n"


def test_a_size_that_no_buffer_has_is_bounded_by_the_rows_that_it_never_exceeded() -> None:
    cases = [
        InferenceCase({"x": CaseBuffer((m, n))}, {"stride": n, "n_cols": n // 2, "seed": 7}, [m])
        for m, n, _ in SIZES
    ]
    text = inferred_contract(cases, {})
    assert text == "sizes x_0\nx: x_0 * stride\nn_cols <= stride\ngrid: x_0\n"


def test_strides_bound_how_far_a_buffer_reaches() -> None:
    cases = [
        InferenceCase({"x": CaseBuffer((m, n), (n + 7, 1))}, {"n": n}, [m]) for m, n, _ in SIZES
    ]
    text = inferred_contract(cases, {})
    assert "x: (x_0 - 1) * x_stride_0 + (n - 1) * 1 + 1" in text


def test_what_is_always_twice_a_size_is_twice_that_size() -> None:
    cases = [
        InferenceCase({"x": CaseBuffer((m, 2 * n))}, {"stride": 2 * n, "d": n}, [m])
        for m, n, _ in SIZES
    ]
    assert "stride = 2 * d" in inferred_contract(cases, {}).splitlines()
    cases = [InferenceCase({"x": CaseBuffer((3 * n,))}, {"n": n}, [1]) for _, n, _ in SIZES]
    assert inferred_contract(cases, {}) == "x: 3 * n\ngrid: 1\n"


def test_the_stride_of_square_matrices_is_a_square() -> None:
    cases = [
        InferenceCase({"x": CaseBuffer((m, n, n))}, {"n": n, "stride": n * n}, [m])
        for m, n, _ in SIZES
    ]
    assert "stride = n * n" in inferred_contract(cases, {}).splitlines()


def test_products_come_after_what_they_are_made_of() -> None:
    cases = [
        InferenceCase({"x": CaseBuffer((m, n, k))}, {"a": m * n * k, "b": n * k, "k": k}, [n])
        for m, n, k in SIZES
    ]
    lines = inferred_contract(cases, {}).splitlines()
    assert lines.index("b = k * x_1") < lines.index("a = b * x_0")


def test_an_axis_that_is_always_1_is_no_factor() -> None:
    cases = [InferenceCase({"x": CaseBuffer((1, n))}, {"n": n}, [1]) for _, n, _ in SIZES]
    assert "x: n\n" in inferred_contract(cases, {})


def test_a_scalar_below_1_may_be_anything() -> None:
    cases = [InferenceCase({}, {"seed": seed}, [1]) for seed in (0, 7, -3)]
    assert "any seed" in inferred_contract(cases, {})


def test_cases_with_other_arguments_are_refused() -> None:
    cases = [InferenceCase({}, {"n": 3}, [1]), InferenceCase({}, {"m": 3}, [1])]
    with pytest.raises(NotInferable, match="cases/1 has the integer m, and cases/0 has none"):
        inferred_contract(cases, {})


def many_sizes(constexprs: int) -> tuple[list[InferenceCase], dict[str, int]]:
    """Return cases with 23 unrelated sizes, and as many constexprs as asked for."""
    cases = []
    for case in range(8):
        scalars = {f"s{i}": 10**15 + 10**13 * i + 7919 * case + 211 * i for i in range(23)}
        grid = [1_000_003 + 17 * case, 50_021 + 13 * case, 60_013 + 29 * case]
        cases.append(InferenceCase({}, scalars, grid))
    return cases, {f"C{i}": 3 + 2 * i for i in range(constexprs)}


def test_no_pair_of_quotients_is_tried() -> None:
    cases, constexprs = many_sizes(80)
    found = []
    lines_run(lambda: found.append(inferred_contract(cases, constexprs)), most=MAX_LINES)
    assert found == ["sizes grid_0 grid_1 grid_2\ngrid: grid_0, grid_1, grid_2\n"]


def test_a_product_of_quotients_is_found_among_many_constexprs() -> None:
    cases, constexprs = many_sizes(80)
    for case in cases:
        case.grid[0] = cdiv(case.scalars["s5"], 33) * cdiv(case.scalars["s20"], 161)
    assert "grid: cdiv(s5, C15) * cdiv(s20, C79), " in inferred_contract(cases, constexprs)


def unrelated_buffers(count: int, rank: int) -> list[InferenceCase]:
    return [
        InferenceCase(
            {f"b{i}": CaseBuffer([10**6 + 1013 * i + 7 * a for a in range(rank)]) for i in buffers},
            {},
            [1],
        )
        for buffers in [range(count)] * 8
    ]


@pytest.mark.parametrize("constexprs", [0, 24, 256])
@pytest.mark.parametrize(
    "cases",
    [
        unrelated_buffers(256, rank=8),
        [InferenceCase({}, {f"s{i}": 720_720 * (1 + i) for i in range(256)}, [720_720] * 3)] * 8,
        [
            InferenceCase({}, {f"s{i}": (i + case) % 8 for i in range(256)}, [8])
            for case in range(8)
        ],
        [
            InferenceCase(
                {f"b{i}": CaseBuffer([10**6 + (-i if case % 2 else i)]) for i in range(128)},
                {f"s{i}": 10**7 + i if case == 7 else 5 + i for i in range(128)},
                [7],
            )
            for case in range(8)
        ],
    ],
    ids=["buffers", "divisible scalars", "zeros", "bounds"],
)
def test_an_inference_ends_after_a_bounded_number_of_steps(
    cases: list[InferenceCase], constexprs: int
) -> None:
    def infer() -> None:
        with contextlib.suppress(NotInferable):
            inferred_contract(cases, {f"C{i}": 2 + i for i in range(constexprs)})

    lines_run(infer, most=MAX_LINES)


def test_more_sizes_than_the_budget_allows_are_named() -> None:
    with pytest.raises(NotInferable, match=r"^not inferred: too many sizes; give fewer cases"):
        inferred_contract(unrelated_buffers(256, rank=8), {})


def test_a_contract_that_could_not_be_read_is_not_inferred() -> None:
    cases = [InferenceCase({"x" * 250: CaseBuffer([3, 5])}, {"n" * 250: 3, "m" * 250: 5}, [1])]
    assert len(inferred_contract(cases, {})) == 774
    many = {f"{'x' * 250}{i}": CaseBuffer([3]) for i in range(80)}
    with pytest.raises(NotInferable, match="the contract would have more than 20,000 characters"):
        inferred_contract([InferenceCase(many, {"n": 3}, [1])], {})


def test_a_scalar_beyond_64_bits_is_named() -> None:
    with pytest.raises(NotInferable, match="n is beyond 64 bits"):
        inferred_contract([InferenceCase({}, {"n": 2**70}, [1])], {})


def test_a_product_that_is_0_in_a_case_is_a_product() -> None:
    cases = [InferenceCase({}, {"first": first, "offset": first * 64}, [1]) for first in (0, 3, 5)]
    assert "offset = first * BLOCK" in inferred_contract(cases, {"BLOCK": 64})


def copies(*sizes: int, **others: int) -> list[InferenceCase]:
    def case(n: int) -> InferenceCase:
        return InferenceCase(
            {"x": CaseBuffer((n,)), "y": CaseBuffer((n,))}, {"n": n, **others}, [1]
        )

    return list(map(case, sizes))


@pytest.mark.parametrize("times", [1, 3])
def test_a_size_that_was_a_constexpr_in_cases_of_one_size_is_marked(times: int) -> None:
    text = inferred_contract(copies(*[16] * times), {"B": 16})
    assert text == "only n = B\nx: n\ny: n\ngrid: 1\n"
    assert guesses_of(text) == ["n = B"]


def test_a_size_that_never_varied_is_marked_though_others_did() -> None:
    cases = [
        InferenceCase({"x": CaseBuffer((16,)), "w": CaseBuffer((m,))}, {"n": 16, "m": m}, [1])
        for m in (3, 5, 7)
    ]
    assert guesses_of(inferred_contract(cases, {"B": 16})) == ["n = B"]


def test_sizes_of_one_case_that_are_equal_are_marked() -> None:
    assert guesses_of(inferred_contract(copies(17, m=17), {"B": 16})) == ["m = n"]


def test_one_case_whose_sizes_are_all_different_marks_what_it_says_of_buffers() -> None:
    assert guesses_of(inferred_contract(copies(17), {"B": 16})) == ["x: n", "y: n", "grid: 1"]


def test_nothing_is_marked_where_sizes_vary() -> None:
    text = inferred_contract(copies(17, 19, 23), {"B": 16})
    assert text == "x: n\ny: n\ngrid: 1\n"
    text = inferred_contract([matmul(*sizes) for sizes in SIZES], {"BM": 64, "BN": 128})
    assert not guesses_of(text)
    assert "stride_a = K" in equalities_of(text)


def test_a_mark_changes_nothing_else_of_a_contract() -> None:
    marked = "only n = B  # at first\n  only x: n\nonly <= n\nonly: 3\n\tonly grid: 1\n"
    assert read_contract(marked) == read_contract(
        marked.replace("only n", "     n")
        .replace("only x", "     x")
        .replace("only grid", "     grid")
    )
    assert guesses_of(marked) == ["n = B", "x: n", "grid: 1"]

import pytest

from launch.contract.infer_contract import (
    CaseBuffer,
    InferenceCase,
    NotInferable,
    inferred_contract,
)
from launch.contract.text import read_contract

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

"""Values that a request lists: each as if it came alone, however many come at once."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.rejection import RequestRejected
from launch.request.element import MAX_VALUES, bind_values, element_json, read_element

UNUSUAL = ["NaN", "-Infinity", "1", "-0", "٣", "1\n", "1\n2", "", "nan", "9" * 24, None, [], 2**70]
RAW = st.one_of(
    st.sampled_from(UNUSUAL),
    st.integers(-300, 300),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
)
DTYPES = st.sampled_from(["i1", "i8", "u8", "i64", "u64", "fp32", "bf16"])


def one_by_one(values: list[Any], dtype: str) -> Any:
    try:
        read = [read_element(raw, dtype, f"/v/{index}") for index, raw in enumerate(values)]
    except RequestRejected as error:
        return error.errors
    return [repr(element_json(number)) for number in read]


@given(st.lists(RAW, max_size=6), DTYPES)
def test_values_are_read_together_as_each_alone(values: list[Any], dtype: str) -> None:
    try:
        together: Any = [repr(each) for each in bind_values(values, [len(values)], dtype, "/v")]
    except RequestRejected as error:
        together = error.errors

    assert together == one_by_one(values, dtype)


@pytest.mark.parametrize("count", [0, 3])
def test_nested_values_are_in_c_order(count: int) -> None:
    values = [[[n, n + 1], [n + 2, n + 3]] for n in range(0, 4 * count, 4)]

    assert bind_values(values, [count, 2, 2], "i32", "/v") == list(range(4 * count))


def test_a_list_of_another_length_is_named_by_its_place() -> None:
    with pytest.raises(RequestRejected) as rejected:
        bind_values([[1, 2], [3]], [2, 2], "i32", "/v")

    assert [error.pointer for error in rejected.value.errors] == ["/v/1"]


def test_a_value_that_does_not_fit_is_named_among_the_most_values() -> None:
    with pytest.raises(RequestRejected) as rejected:
        bind_values([0] * (MAX_VALUES - 1) + [256], [MAX_VALUES], "u8", "/v")

    assert [error.pointer for error in rejected.value.errors] == [f"/v/{MAX_VALUES - 1}"]

"""Numbers in JSON: in answers, requests and jobs."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.json_number import MAX_EXACT, read_number, tagged_float, written_number


@pytest.mark.parametrize(
    ("number", "written"),
    [
        (True, True),
        (7, 7),
        (-MAX_EXACT, -MAX_EXACT),
        (MAX_EXACT + 1, "9007199254740993"),
        (1.5, 1.5),
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (np.float32(0.5), 0.5),
        (np.int64(2**62), "4611686018427387904"),
        (np.bool_(True), True),
        (np.longdouble(0.25), 0.25),
    ],
)
def test_an_answer_says_a_number_so_that_every_reader_keeps_it(number, written):
    assert written_number(number) == written
    assert type(written_number(number)) is type(written)


@given(st.integers() | st.floats(allow_nan=False) | st.booleans())
def test_written_values_round_trip(number):
    back = read_number(json.loads(json.dumps(written_number(number), allow_nan=False)))

    assert (type(back), back) == (type(number), number)


@given(st.floats())
def test_a_tagged_float_is_exact(number):
    back = read_number(json.loads(json.dumps(tagged_float(number))))

    assert np.float64(back).tobytes() == np.float64(number).tobytes() or math.isnan(number)
    assert math.isnan(back) == math.isnan(number)


@pytest.mark.parametrize(
    ("raw", "number"),
    [({"int": "7"}, 7), ({"float": "0x1p+1"}, 2.0), ({"float": 3}, 3.0), ("12", 12), ("1.5", 1.5)],
)
def test_a_job_may_tag_a_number_or_write_it_as_text(raw, number):
    assert (type(read_number(raw)), read_number(raw)) == (type(number), number)


@pytest.mark.parametrize("raw", [None, [1], {"int": "1", "float": "2"}, {"dtype": "fp32"}, "one"])
def test_a_value_that_is_not_a_number_is_refused(raw):
    with pytest.raises(ValueError, match=r"number|convert"):
        read_number(raw)

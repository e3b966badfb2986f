"""Comparing piece by piece, with shortcuts, gives the result of comparing whole arrays."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from launch.buffers.element_types import STORED, stored
from launch.messages import Tolerance
from launch.reference import comparison as comparing
from launch.reference import difference
from launch.reference.comparison import comparison, summary
from launch.reference.difference import Unwritten
from tests.unit.launch.reference import whole_arrays

PIECE = 8
"""Elements per piece: small, so that few elements make several pieces."""
ANSWERS = ["bool", "int8", "int64", "uint64", "float16", "float32", "float64"]
"""Types that a reference may return."""
tolerances = st.builds(
    Tolerance,
    rtol=st.sampled_from([0.0, 1e-6, 1e-2, 1.0, 1e300]),
    atol=st.sampled_from([0.0, 1e-8, 0.5, 1e300]),
    equal_nan=st.booleans(),
    max_mismatched_ratio=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(difference, "PIECE", PIECE)


@pytest.fixture
def small_stretches(monkeypatch):
    """Only for comparisons: the mean in a summary depends on where the pieces end."""
    monkeypatch.setattr(comparing, "STRETCH", 2 * PIECE)


@st.composite
def bits(draw, kind, count):
    """Draw elements of any bits: NaN, infinities, both zeros, and everything else."""
    octets = draw(st.binary(min_size=count * kind.itemsize, max_size=count * kind.itemsize))
    return np.frombuffer(octets, np.uint8).view(kind).copy()


@st.composite
def pairs(draw):
    """Draw two mostly equal sides: stored elements of a Triton type, and an answer."""
    name = draw(st.sampled_from(sorted(STORED)))
    count = draw(st.integers(0, 3 * PIECE))
    actual = draw(bits(stored(name), count))
    answer = draw(st.none() | st.sampled_from(ANSWERS))
    if answer is None:
        expected, own = actual.copy(), name
    else:
        with np.errstate(all="ignore"):
            expected, own = np.asarray(actual, np.float64).astype(answer), None
    for place in draw(st.sets(st.integers(0, count - 1), max_size=3)) if count else ():
        expected[place] = draw(bits(expected.dtype, 1))[0] if answer != "bool" else True
    return name, actual, own, expected


@st.composite
def unwritten(draw, count):
    """Draw which elements are unwritten: none, all, or some."""
    if draw(st.booleans()):
        return None
    return np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count)), np.bool_)


@pytest.mark.usefixtures("small_stretches")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pairs(), tolerances, st.data())
def test_a_comparison_is_that_of_whole_arrays(pair, tolerance, data):
    name, actual, own, expected = pair
    missing = Unwritten(data.draw(unwritten(actual.size)), data.draw(unwritten(actual.size)))
    with np.errstate(all="ignore"):
        found = comparison(actual, expected, tolerance, name, own, missing)
        plain = whole_arrays.comparison(actual, expected, tolerance, name, own, missing)

    assert repr(found) == repr(plain | {name: found[name] for name in _same(found, plain)})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pairs())
def test_a_summary_is_that_of_whole_arrays(pair):
    name, actual, _, _ = pair

    assert summary(actual, name) == whole_arrays.summary(actual, name)


SLOW = ["fp64", "fp32", "bf16", "fp8e5", "i32", "u64", "i1"]


@pytest.mark.parametrize(
    "name", ["fp16", *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)]
)
def test_large_outputs_too(name, monkeypatch):
    monkeypatch.undo()
    generator = np.random.default_rng(7)
    actual = (generator.normal(0, 30, (1 << 20) + 77)).astype(stored(name))
    expected = actual.copy()
    expected[::5001] = 3
    tolerance = Tolerance(rtol=0.3)
    sides = (actual, expected, tolerance, name, name, Unwritten())

    assert summary(actual, name) == whole_arrays.summary(actual, name)
    assert comparison(*sides) == whole_arrays.comparison(*sides)


def _same(found, plain):
    """Return whether members are equal; a largest error of nothing may be 0 or 0.0."""
    return [name for name in ("max_abs_error", "max_rel_error") if found[name] == plain[name]]

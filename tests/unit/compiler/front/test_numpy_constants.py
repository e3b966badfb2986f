"""Our replacement of NumPy has NumPy's constants, scalars, limits and types."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from compiler.front.environment import StandInUsed
from compiler.front.stubs import numpy_stub

KNOWN: dict[str, Any] = numpy_stub.known(lambda _: None)
SCALARS = sorted(numpy_stub.INTEGERS | numpy_stub.FLOATS)
VALUES = (0, 1, 5, 1.5, 100.75)


def _of_numpy(name: str) -> Any:
    return getattr(np, name)


def _bits(value: Any) -> tuple[str, bytes]:
    return type(value).__name__, struct.pack("<d", float(value))


@pytest.mark.parametrize("name", numpy_stub.CONSTANTS)
def test_a_constant_is_numpys(name: str) -> None:
    theirs = _of_numpy(name)

    assert type(KNOWN[name]) is type(theirs)
    assert repr(KNOWN[name]) == repr(theirs)


@pytest.mark.parametrize("name", SCALARS)
def test_a_scalar_has_numpys_value_and_kind(name: str) -> None:
    for value in VALUES:
        ours, theirs = KNOWN[name](value), _of_numpy(name)(value)
        assert _bits(ours) == _bits(theirs)
        assert repr(ours.item()) == repr(theirs.item())
        assert (ours.itemsize, ours.nbytes) == (theirs.itemsize, theirs.nbytes)
        assert bool(ours) == bool(theirs)
        for kind in (int, float):
            assert isinstance(ours, kind) == isinstance(theirs, kind)
        for above in ("generic", "integer", "unsignedinteger", "floating"):
            assert isinstance(ours, KNOWN[above]) == isinstance(theirs, _of_numpy(above))


@pytest.mark.parametrize("name", numpy_stub.FLOATS)
def test_a_float_is_rounded_as_numpy_rounds_it(name: str) -> None:
    with np.errstate(over="ignore"):
        for value in (0.1, 1 / 3, 65519.9, 1e-8, 3.5e38, -1e300, float("inf"), 2**24 + 1):
            assert _bits(KNOWN[name](value)) == _bits(_of_numpy(name)(value))
            assert _bits(-KNOWN[name](value)) == _bits(-_of_numpy(name)(value))


@pytest.mark.parametrize("name", numpy_stub.FLOATS)
def test_a_float_has_numpys_limits(name: str) -> None:
    ours, theirs = KNOWN["finfo"](KNOWN[name]), np.finfo(_of_numpy(name))

    assert ours.bits == theirs.bits
    for limit in ("max", "min", "eps", "tiny", "smallest_normal", "smallest_subnormal",
                  "resolution"):  # fmt: skip
        assert _bits(getattr(ours, limit)) == _bits(getattr(theirs, limit))


@pytest.mark.parametrize("name", numpy_stub.INTEGERS)
def test_an_integer_has_numpys_limits(name: str) -> None:
    ours, theirs = KNOWN["iinfo"](KNOWN[name]), np.iinfo(_of_numpy(name))

    assert (ours.bits, ours.max, ours.min) == (theirs.bits, theirs.max, theirs.min)
    assert type(ours.max) is type(theirs.max)


def test_another_name_of_a_type_is_numpys() -> None:
    for name, kind in KNOWN.items():
        if isinstance(kind, type):
            assert _of_numpy(name).__name__ == kind.__name__


@pytest.mark.parametrize(
    "ask",
    [lambda one: one + 1, lambda one: one == 1.5, lambda one: one < 2, lambda one: 2 * one, str],
)
def test_values_that_depend_on_numpy_s_version_are_refused(ask: Callable[[Any], Any]) -> None:
    with pytest.raises(StandInUsed, match=r"convert it first, as in float\(numpy\.float32"):
        ask(KNOWN["float32"](1.5))


def test_an_integer_that_does_not_fit_is_refused() -> None:
    with pytest.raises(OverflowError, match="300 out of bounds for int8"):
        KNOWN["int8"](300)

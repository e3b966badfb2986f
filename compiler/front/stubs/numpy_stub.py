"""Replaces NumPy's constants, scalar types and limits; its computations are unknown here.

A scalar gives back its value and its negative. Its arithmetic and comparisons follow rules that
changed with NumPy 2, and its functions round as the machine does: what asks for these raises.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from compiler.front.environment import StandInUsed

CONSTANTS = {
    "pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan,
    "euler_gamma": 0.5772156649015329, "newaxis": None,
}  # fmt: skip


class generic:  # noqa: N801 - NumPy's name, as of all classes here
    """A scalar; also the place of `number` and the other kinds, which classes can be asked for."""

    itemsize = 0
    _value: Any
    _ask: Callable[[str], None] = staticmethod(lambda words: None)  # noqa: ARG005
    """Is called with names that depend on NumPy's version."""

    def __init__(self, value: Any = 0) -> None:
        self._value = self._rounded(value.item() if isinstance(value, generic) else value)

    @classmethod
    def _rounded(cls, value: Any) -> Any:
        message = f"cannot create '{cls.__module__}.{cls.__name__}' instances of {value!r}"
        raise TypeError(message)

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        return self.itemsize

    def item(self) -> Any:
        """Return its value as Python has it."""
        return self._value

    def __float__(self) -> float:
        return float(self._value)

    def __int__(self) -> int:
        return int(self._value)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __neg__(self) -> generic:
        return type(self)(-self._value)

    def __pos__(self) -> generic:
        return self

    def __str__(self) -> str:
        return self._unknown()

    __repr__ = __str__

    def __hash__(self) -> int:
        return hash(self._value)

    def _unknown(self, *_: object) -> NoReturn:
        name = f"{NAME}.{type(self).__name__}"
        self._ask(f"what {name} does depends on NumPy's version")
        message = (
            f"what {name} does in arithmetic, comparisons and text depends on NumPy's version, and "
            f"it is not installed here: convert it first, as in float({name}(...))"
        )
        raise StandInUsed(message)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _unknown
    __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = _unknown
    __rpow__ = __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _unknown
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __invert__ = __abs__ = _unknown
    __lt__ = __le__ = __gt__ = __ge__ = _unknown
    __eq__ = __ne__ = __format__ = __round__ = _unknown


class number(generic):  # noqa: N801
    """A scalar that is a number."""


class integer(number):  # noqa: N801
    """An integer of some bits."""

    @classmethod
    def _rounded(cls, value: Any) -> int:
        limits = iinfo(cls)
        whole = int(value)
        if not limits.min <= whole <= limits.max:
            message = f"Python integer {whole} out of bounds for {cls.__name__}"
            raise OverflowError(message)
        return whole

    def __index__(self) -> int:
        return int(self._value)


class signedinteger(integer):  # noqa: N801
    """An integer with a sign."""


class unsignedinteger(integer):  # noqa: N801
    """An integer without one."""

    __neg__ = generic._unknown


class inexact(number):  # noqa: N801
    """A number that is rounded."""


class floating(inexact):  # noqa: N801
    """A floating-point number of some bits."""

    _form = ""

    @classmethod
    def _rounded(cls, value: Any) -> float:
        exact = float(value)
        try:
            (rounded,) = struct.unpack(cls._form, struct.pack(cls._form, exact))
        except OverflowError:
            return math.copysign(math.inf, exact)
        return float(rounded)


class float64(float, floating):  # type: ignore[misc]  # noqa: N801 - floats of Python compute
    """A float of Python's, which Triton takes as one, and a scalar of NumPy's."""

    itemsize = 8

    @classmethod
    def _rounded(cls, value: Any) -> float:
        return float(value)

    def __neg__(self) -> float64:
        return float64(-float(self))


def _integers() -> dict[str, type[integer]]:
    kinds: dict[str, type[integer]] = {}
    for bits in (8, 16, 32, 64):
        for kind, sign in ((signedinteger, ""), (unsignedinteger, "u")):
            kinds[f"{sign}int{bits}"] = type(f"{sign}int{bits}", (kind,), {"itemsize": bits // 8})
    return kinds


NAME = "numpy"
INTEGERS = _integers()
FLOATS: dict[str, type] = {
    "float16": type("float16", (floating,), {"itemsize": 2, "_form": "<e"}),
    "float32": type("float32", (floating,), {"itemsize": 4, "_form": "<f"}),
    "float64": float64,
}
_ALIASES = {
    "half": "float16", "single": "float32", "double": "float64", "byte": "int8", "ubyte": "uint8",
    "short": "int16", "ushort": "uint16", "intc": "int32", "uintc": "uint32", "intp": "int64",
    "uintp": "uint64",
}  # fmt: skip
# bits, bits of the mantissa, exponent of the smallest normal value, resolution
_LIMITS = {"float16": (16, 10, -14, 1e-3), "float32": (32, 23, -126, 1e-6),
           "float64": (64, 52, -1022, 1e-15)}  # fmt: skip
for _kind in (generic, number, integer, signedinteger, unsignedinteger, inexact, floating, float64,
              *INTEGERS.values(), *FLOATS.values()):  # fmt: skip
    _kind.__module__ = NAME


@dataclass(frozen=True)
class FloatLimits:
    """The result of `numpy.finfo` for a type, in its scalars."""

    bits: int
    max: Any
    min: Any
    eps: Any
    smallest_normal: Any
    smallest_subnormal: Any
    resolution: Any

    @property
    def tiny(self) -> Any:
        """The smallest normal value."""
        return self.smallest_normal


@dataclass(frozen=True)
class IntegerLimits:
    """The result of `numpy.iinfo` for a type."""

    bits: int
    max: int
    min: int


def finfo(kind: Any) -> FloatLimits:
    """Return the limits of a floating-point type. Raises `StandInUsed` for other types."""
    scalar = FLOATS["float64"] if kind is float else kind
    name = next((name for name, known in FLOATS.items() if known is scalar), None)
    if name is None:
        generic._ask("numpy.finfo is not known of this")
        message = "numpy.finfo is known only for numpy.float16, float32 and float64 here"
        raise StandInUsed(message)
    bits, mantissa, exponent, resolution = _LIMITS[name]
    largest = (2 - 2.0**-mantissa) * 2.0 ** (1 - exponent)
    values = (largest, -largest, 2.0**-mantissa, 2.0**exponent, 2.0 ** (exponent - mantissa))
    return FloatLimits(bits, *(scalar(value) for value in (*values, resolution)))


def iinfo(kind: Any) -> IntegerLimits:
    """Return the limits of an integer type. Raises `StandInUsed` for other types."""
    if kind not in INTEGERS.values():
        generic._ask("numpy.iinfo is not known of this")
        message = "numpy.iinfo is known only for numpy.int8 to int64 and uint8 to uint64 here"
        raise StandInUsed(message)
    bits = 8 * kind.itemsize
    if issubclass(kind, unsignedinteger):
        return IntegerLimits(bits, 2**bits - 1, 0)
    return IntegerLimits(bits, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)))


def known(ask: Callable[[str], None]) -> dict[str, Any]:
    """Return the known part of NumPy by its names.

    `ask` is called with requested names that depend on NumPy's version.
    """
    generic._ask = staticmethod(ask)
    kinds = (generic, number, integer, signedinteger, unsignedinteger, inexact, floating)
    scalars: dict[str, Any] = {**INTEGERS, **FLOATS}
    return {
        **CONSTANTS,
        **{kind.__name__: kind for kind in kinds},
        **scalars,
        **{alias: scalars[name] for alias, name in _ALIASES.items()},
        "ndarray": type("ndarray", (), {}),
        "finfo": finfo,
        "iinfo": iinfo,
    }

"""torch's dtypes where torch is not installed: their names, sizes and limits, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

# name: bits, mantissa bits, largest value, exponent of the smallest normal one
_FLOATS = {
    "float64": (64, 52, (2 - 2**-52) * 2.0**1023, -1022),
    "float32": (32, 23, (2 - 2**-23) * 2.0**127, -126),
    "float16": (16, 10, 65504.0, -14),
    "bfloat16": (16, 7, (2 - 2**-7) * 2.0**127, -126),
    "float8_e4m3fn": (8, 3, 448.0, -6),
    "float8_e5m2": (8, 2, 57344.0, -14),
    "float8_e4m3fnuz": (8, 3, 240.0, -7),
    "float8_e5m2fnuz": (8, 2, 57344.0, -15),
    "float8_e8m0fnu": (8, 0, 2.0**127, -127),
}
_INTEGERS = {f"{sign}int{bits}": bits for sign in ("", "u") for bits in (8, 16, 32, 64)}
_ALIASES = {
    "half": "float16", "float": "float32", "double": "float64", "short": "int16", "int": "int32",
    "long": "int64",
}  # fmt: skip


@dataclass(frozen=True)
class Dtype:
    """A dtype as torch shows it: `torch.float16`."""

    name: str
    itemsize: int
    is_floating_point: bool

    def __repr__(self) -> str:
        return f"torch.{self.name}"


@dataclass(frozen=True)
class FloatLimits:
    """What `torch.finfo` tells of a dtype."""

    bits: int
    max: float
    min: float
    eps: float
    tiny: float
    smallest_normal: float
    dtype: str


@dataclass(frozen=True)
class IntegerLimits:
    """What `torch.iinfo` tells of a dtype."""

    bits: int
    max: int
    min: int
    dtype: str


def named() -> dict[str, Dtype]:
    """Return the dtypes by every name that torch has for them, each one object."""
    found = {n: Dtype(n, bits // 8, is_floating_point=True) for n, (bits, *_) in _FLOATS.items()}
    found |= {n: Dtype(n, b // 8, is_floating_point=False) for n, b in _INTEGERS.items()}
    found["bool"] = Dtype("bool", 1, is_floating_point=False)
    return found | {alias: found[name] for alias, name in _ALIASES.items()}


def finfo(dtype: Dtype) -> FloatLimits:
    """Return the limits of a floating-point dtype. Raises `TypeError` for another."""
    if dtype.name not in _FLOATS:
        message = f"torch.finfo needs a floating-point dtype, not {dtype!r}"
        raise TypeError(message)
    bits, mantissa, largest, exponent = _FLOATS[dtype.name]
    tiny = 2.0**exponent
    return FloatLimits(bits, largest, -largest, 2.0**-mantissa, tiny, tiny, dtype.name)


def iinfo(dtype: Dtype) -> IntegerLimits:
    """Return the limits of an integer dtype. Raises `TypeError` for another."""
    if dtype.name not in _INTEGERS:
        message = f"torch.iinfo needs an integer dtype, not {dtype!r}"
        raise TypeError(message)
    bits = _INTEGERS[dtype.name]
    if dtype.name.startswith("u"):
        return IntegerLimits(bits, 2**bits - 1, 0, dtype.name)
    return IntegerLimits(bits, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)), dtype.name)

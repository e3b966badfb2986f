"""Initialisers: what a buffer holds before the kernel runs, as a recipe with nothing left open.

They fill the buffer in C order of its shape, whatever its strides are.
"""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, JsonValue

from compiler.constexpr import pointer_below
from compiler.rejection import Fault, RequestRejected, did_you_mean, shown
from launch.request.argument_schema import RequestPart, read
from launch.request.element import (
    INTEGER_RANGES,
    Number,
    bind_values,
    is_floating,
    read_element,
    written_element,
)

MAX_SEED = 2**64 - 1
SEEDED = frozenset({"uniform", "normal", "randint"})
_SEED_BITS = 53  # every JSON reader keeps them

Init = dict[str, Any]


class _Kind(RequestPart):
    model_config = ConfigDict(allow_inf_nan=False)


class _Constant(_Kind):
    kind: Literal["zeros", "ones"]


class _Full(_Kind):
    kind: Literal["full"]
    value: JsonValue


class _Arange(_Kind):
    kind: Literal["arange"]
    start: JsonValue = 0
    step: JsonValue = 1


class _Seeded(_Kind):
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)]


class _Uniform(_Seeded):
    kind: Literal["uniform"]
    low: float = 0.0
    high: float = 1.0


class _Normal(_Seeded):
    kind: Literal["normal"]
    mean: float = 0.0
    std: Annotated[float, Field(ge=0)] = 1.0


class _Randint(_Seeded):
    kind: Literal["randint"]
    low: Annotated[int, Field(ge=-(2**63), lt=2**64)] = 0
    high: Annotated[int, Field(gt=-(2**63), le=2**64)]


class _Values(_Kind):
    kind: Literal["values"]
    values: JsonValue


class _Tensor(_Kind):
    kind: Literal["tensor"]
    digest: Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]


_KINDS: dict[str, type[_Kind]] = {
    "zeros": _Constant,
    "ones": _Constant,
    "full": _Full,
    "arange": _Arange,
    "uniform": _Uniform,
    "normal": _Normal,
    "randint": _Randint,
    "values": _Values,
    "tensor": _Tensor,
}


def bind_init(raw: Any, shape: list[int], dtype: str, at: str) -> Init:
    """Return the initialiser written at `at` with its defaults filled in, seeds included.

    Numbers in it are JSON numbers or "NaN", "Infinity", "-Infinity". Raises RequestRejected.
    """
    if not isinstance(raw, dict) or not isinstance(raw.get("kind"), str):
        message = f'write an object such as {{"kind": "zeros"}}; kinds are {", ".join(_KINDS)}'
        raise RequestRejected(Fault(at, message))
    name = raw["kind"]
    if name not in _KINDS:
        message = f"{shown(name)} is no kind of initialiser.{did_you_mean(name, _KINDS)}"
        message += f" There are {', '.join(_KINDS)}."
        raise RequestRejected(Fault(pointer_below(at, "kind"), message))
    kind = read(_KINDS[name], raw, at)
    return {"kind": name, **_BINDERS[name](kind, _Filled(shape, dtype, at))}


def with_seed(raw: Any, source: random.Random) -> Any:
    """Return an initialiser with a seed from `source` where it needs one and says none."""
    if not isinstance(raw, dict) or raw.get("seed") is not None:
        return raw
    kind = raw.get("kind")
    is_seeded = isinstance(kind, str) and kind in SEEDED
    return raw | {"seed": source.getrandbits(_SEED_BITS)} if is_seeded else raw


@dataclass(frozen=True, slots=True)
class _Filled:
    """What is filled: a buffer of `shape`; `at` is where its initialiser is written."""

    shape: list[int]
    dtype: str
    at: str

    def read(self, raw: Any, field: str, dtype: str) -> Number:
        return read_element(raw, dtype, pointer_below(self.at, field))

    def check(self, lowest: Number, highest: Number) -> None:
        if is_floating(self.dtype):
            return
        span = INTEGER_RANGES[self.dtype]
        if lowest < span.start or highest > span.stop - 1:
            message = f"makes numbers outside of {self.dtype} ({span.start} to {span.stop - 1})"
            raise RequestRejected(Fault(self.at, message))


def _constant(_kind: _Constant, _filled: _Filled) -> Init:
    return {}


def _full(kind: _Full, filled: _Filled) -> Init:
    return {"value": written_element(filled.read(kind.value, "value", filled.dtype))}


def _arange(kind: _Arange, filled: _Filled) -> Init:
    # the step of a narrow or unsigned type may be anything: only what it makes must fit
    wide = "fp64" if is_floating(filled.dtype) else "i64"
    start, step = filled.read(kind.start, "start", wide), filled.read(kind.step, "step", wide)
    last = start + step * max(0, math.prod(filled.shape) - 1)
    filled.check(min(start, last), max(start, last))
    return {"start": written_element(start), "step": written_element(step)}


def _uniform(kind: _Uniform, filled: _Filled) -> Init:
    if kind.low > kind.high or not math.isfinite(kind.high - kind.low):
        message = "must not be below low, nor further above it than a float can say"
        raise RequestRejected(Fault(pointer_below(filled.at, "high"), message))
    return {"seed": kind.seed, "low": kind.low, "high": kind.high}


def _normal(kind: _Normal, _filled: _Filled) -> Init:
    return {"seed": kind.seed, "mean": kind.mean, "std": kind.std}


def _randint(kind: _Randint, filled: _Filled) -> Init:
    if kind.low >= kind.high or (kind.low < 0 and kind.high > 2**63):
        message = "high is exclusive: it must be above low, and at most 2^63 where low is negative"
        raise RequestRejected(Fault(pointer_below(filled.at, "high"), message))
    filled.check(kind.low, kind.high - 1)
    return {"seed": kind.seed, "low": kind.low, "high": kind.high}


def _tensor(kind: _Tensor, _filled: _Filled) -> Init:
    return {"digest": kind.digest}


def _values(kind: _Values, filled: _Filled) -> Init:
    at = pointer_below(filled.at, "values")
    return {"values": bind_values(kind.values, filled.shape, filled.dtype, at)}


_BINDERS: dict[str, Callable[..., Init]] = {
    "zeros": _constant,
    "ones": _constant,
    "full": _full,
    "arange": _arange,
    "uniform": _uniform,
    "normal": _normal,
    "randint": _randint,
    "values": _values,
    "tensor": _tensor,
}

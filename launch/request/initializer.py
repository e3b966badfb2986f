"""Initialisers: complete recipes for the initial contents of buffers.

They fill a buffer in C order of its shape, regardless of its strides.
"""

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, WithJsonSchema

from compiler.constexpr import pointer_below
from compiler.rejection import FieldError, RequestRejected, did_you_mean, shown
from compiler.request.compile_request import Json
from launch.request.element import (
    ELEMENT_SCHEMA,
    INTEGER_RANGES,
    VALUES_SCHEMA,
    Number,
    bind_values,
    element_json,
    is_floating,
    read_element,
)
from launch.request.request_part import RequestPart, read

MAX_SEED = 2**64 - 1
SEEDED = frozenset({"uniform", "normal", "randint"})
SEED_BITS = 53  # every JSON reader keeps them

Init = dict[str, Any]
_Element = Annotated[Json, WithJsonSchema(ELEMENT_SCHEMA)]


class _Kind(RequestPart):
    model_config = ConfigDict(allow_inf_nan=False)


class ConstantInit(_Kind):
    """The same number everywhere."""

    kind: Literal["zeros", "ones"]


class FullInit(_Kind):
    """One value everywhere."""

    kind: Literal["full"]
    value: _Element


class ArangeInit(_Kind):
    """`start`, `start + step`, and so on."""

    kind: Literal["arange"]
    start: _Element = 0
    step: _Element = 1


def _seed_is_optional(schema: dict[str, Any]) -> None:
    schema["required"].remove("seed")  # `with_seed` chooses one before this is read


class _Seeded(_Kind):
    model_config = ConfigDict(json_schema_extra=_seed_is_optional)

    seed: Annotated[int, Field(ge=0, le=MAX_SEED)]


class UniformInit(_Seeded):
    """Uniform random numbers from `low` to `high`."""

    kind: Literal["uniform"]
    low: float = 0.0
    high: float = 1.0


class NormalInit(_Seeded):
    """Random numbers of a normal distribution."""

    kind: Literal["normal"]
    mean: float = 0.0
    std: Annotated[float, Field(ge=0)] = 1.0


class RandintInit(_Seeded):
    """Random integers from `low` to below `high`."""

    kind: Literal["randint"]
    low: Annotated[int, Field(ge=-(2**63), lt=2**64)] = 0
    high: Annotated[int, Field(gt=-(2**63), le=2**64)]


class ValuesInit(_Kind):
    """The values, as nested lists of the shape."""

    kind: Literal["values"]
    values: Annotated[Json, WithJsonSchema(VALUES_SCHEMA)]


class TensorInit(_Kind):
    """A `.npy` file that was uploaded before."""

    kind: Literal["tensor"]
    digest: Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$", max_length=71)]


Initializer = Annotated[
    ConstantInit
    | FullInit
    | ArangeInit
    | UniformInit
    | NormalInit
    | RandintInit
    | ValuesInit
    | TensorInit,
    Field(discriminator="kind"),
]
"""JSON form of any initialiser in a request."""
_KINDS: dict[str, type[_Kind]] = {
    "zeros": ConstantInit,
    "ones": ConstantInit,
    "full": FullInit,
    "arange": ArangeInit,
    "uniform": UniformInit,
    "normal": NormalInit,
    "randint": RandintInit,
    "values": ValuesInit,
    "tensor": TensorInit,
}


BY_POSITION: Mapping[str, tuple[str, ...]] = {
    kind: tuple(name for name in model.model_fields if name not in {"kind", "seed"})
    for kind, model in _KINDS.items()
    if model not in {ValuesInit, TensorInit}
}
"""The parameters of each initialiser, in the order of short forms such as `normal(0, 2)`."""


def bind_init(raw: Any, shape: list[int], dtype: str, at: str) -> Init:
    """Return the initialiser at pointer `at`, complete with defaults. Random ones must have a seed.

    Its numbers are JSON numbers or "NaN", "Infinity", "-Infinity". Raises RequestRejected.
    """
    if not isinstance(raw, dict) or not isinstance(raw.get("kind"), str):
        message = f'write an object such as {{"kind": "zeros"}}; kinds are {", ".join(_KINDS)}'
        raise RequestRejected(FieldError(at, message))
    name = raw["kind"]
    if name not in _KINDS:
        message = f"{shown(name)} is not a kind of initialiser.{did_you_mean(name, _KINDS)}"
        message += f" The kinds are {', '.join(_KINDS)}."
        raise RequestRejected(FieldError(pointer_below(at, "kind"), message))
    kind = read(_KINDS[name], raw, at)
    return {"kind": name, **_BINDERS[name](kind, _Filled(shape, dtype, at))}


def with_seed(raw: Any, source: random.Random) -> Any:
    """Return an initialiser with a seed from `source`, if it needs one and has none."""
    if not isinstance(raw, dict) or raw.get("seed") is not None:
        return raw
    kind = raw.get("kind")
    is_seeded = isinstance(kind, str) and kind in SEEDED
    return raw | {"seed": source.getrandbits(SEED_BITS)} if is_seeded else raw


@dataclass(frozen=True, slots=True)
class _Filled:
    """The target of an initialiser: a buffer of `shape`; `at` locates it in the request."""

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
            raise RequestRejected(FieldError(self.at, message))


def _constant(_kind: ConstantInit, _filled: _Filled) -> Init:
    return {}


def _full(kind: FullInit, filled: _Filled) -> Init:
    return {"value": element_json(filled.read(kind.value, "value", filled.dtype))}


def _arange(kind: ArangeInit, filled: _Filled) -> Init:
    # the step may lie outside of a narrow or unsigned type: only the results must fit
    wide = "fp64" if is_floating(filled.dtype) else "i64"
    start, step = filled.read(kind.start, "start", wide), filled.read(kind.step, "step", wide)
    last = start + step * max(0, math.prod(filled.shape) - 1)
    filled.check(min(start, last), max(start, last))
    return {"start": element_json(start), "step": element_json(step)}


def _uniform(kind: UniformInit, filled: _Filled) -> Init:
    if kind.low > kind.high or not math.isfinite(kind.high - kind.low):
        message = "`high` must be at least `low`, and `high - low` must be finite"
        raise RequestRejected(FieldError(pointer_below(filled.at, "high"), message))
    return {"seed": kind.seed, "low": kind.low, "high": kind.high}


def _normal(kind: NormalInit, _filled: _Filled) -> Init:
    return {"seed": kind.seed, "mean": kind.mean, "std": kind.std}


def _randint(kind: RandintInit, filled: _Filled) -> Init:
    if kind.low >= kind.high or (kind.low < 0 and kind.high > 2**63):
        message = "`high` is exclusive: it must be above `low`, and at most 2^63 if `low` is "
        message += "negative"
        raise RequestRejected(FieldError(pointer_below(filled.at, "high"), message))
    filled.check(kind.low, kind.high - 1)
    return {"seed": kind.seed, "low": kind.low, "high": kind.high}


def _tensor(kind: TensorInit, _filled: _Filled) -> Init:
    return {"digest": kind.digest}


def _values(kind: ValuesInit, filled: _Filled) -> Init:
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

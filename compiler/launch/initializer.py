"""Initialisers: what a buffer holds before the kernel runs, as a recipe with nothing left open.

Generators fill the allocation from its first element on. `values` are laid where the buffer's
elements lie, the gaps between them are zero.
"""

import math
import random
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from compiler.launch.element import INTEGER_RANGES, is_floating, read_element, written_element
from compiler.launch.layout import contiguous_strides, may_overlap, positions
from compiler.launch.validation import read
from compiler.rejection import Fault, RequestRejected, did_you_mean, pointer, shown
from compiler.value import pointer_below

MAX_VALUES = 262_144
MAX_SEED = 2**64 - 1
SEEDED = frozenset({"uniform", "normal", "randint"})
_FAR_SIGMAS = 40  # no generator of 64-bit numbers gets there
_SEED_BITS = 53  # every JSON reader keeps them

Init = dict[str, Any]


class Placement(BaseModel):
    """Where the elements of the buffer lie in the allocation that is filled."""

    dtype: str
    elements: int
    shape: list[int]
    strides: list[int]
    offset: int

    @property
    def is_plain(self) -> bool:
        """Whether the allocation is the buffer's elements in C order and nothing else."""
        return self.offset == 0 and self.strides == contiguous_strides(self.shape)


class _Kind(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


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
    low: Annotated[int, Field(ge=-(2**63), lt=2**63)] = 0
    high: Annotated[int, Field(gt=-(2**63), le=2**63)]


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


def bind_init(raw: Any, placement: Placement, at: str) -> Init:
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
    bind: Callable[[Any, Placement, str], Init] = _BINDERS[name]
    return {"kind": name, **bind(kind, placement, at)}


def with_seed(raw: Any, source: random.Random) -> Any:
    """Return an initialiser with a seed from `source` where it needs one and says none."""
    if isinstance(raw, dict) and raw.get("kind") in SEEDED and raw.get("seed") is None:
        return raw | {"seed": source.getrandbits(_SEED_BITS)}
    return raw


def _constant(_kind: _Constant, _placement: Placement, _at: str) -> Init:
    return {}


def _full(kind: _Full, placement: Placement, at: str) -> Init:
    value = read_element(kind.value, placement.dtype, pointer_below(at, "value"))
    return {"value": written_element(value)}


def _arange(kind: _Arange, placement: Placement, at: str) -> Init:
    # the step of an unsigned or narrow type may be negative or large: only results must fit
    wide = "fp64" if is_floating(placement.dtype) else "i64"
    start = read_element(kind.start, wide, pointer_below(at, "start"))
    step = read_element(kind.step, wide, pointer_below(at, "step"))
    if not is_floating(placement.dtype):
        last = start + step * max(0, placement.elements - 1)
        _check_range(placement.dtype, min(start, last), max(start, last), at)
    return {"start": written_element(start), "step": written_element(step)}


def _uniform(kind: _Uniform, placement: Placement, at: str) -> Init:
    if kind.low > kind.high:
        raise RequestRejected(Fault(pointer_below(at, "high"), "high must not be below low"))
    if not math.isfinite(kind.high - kind.low):
        raise RequestRejected(Fault(at, "high - low is too large for a float"))
    _check_range(placement.dtype, kind.low, kind.high, at)
    return {"seed": kind.seed, "low": kind.low, "high": kind.high}


def _normal(kind: _Normal, placement: Placement, at: str) -> Init:
    reach = _FAR_SIGMAS * kind.std
    _check_range(placement.dtype, kind.mean - reach, kind.mean + reach, at)
    return {"seed": kind.seed, "mean": kind.mean, "std": kind.std}


def _randint(kind: _Randint, placement: Placement, at: str) -> Init:
    if kind.low >= kind.high:
        message = f"high is exclusive and must be above low ({kind.low})"
        raise RequestRejected(Fault(pointer_below(at, "high"), message))
    _check_range(placement.dtype, kind.low, kind.high - 1, at)
    return {"seed": kind.seed, "low": kind.low, "high": kind.high}


def _check_range(dtype: str, lowest: float, highest: float, at: str) -> None:
    if is_floating(dtype):
        return
    span = INTEGER_RANGES[dtype]
    if lowest < span.start or highest > span.stop - 1:
        message = f"would make numbers outside of {dtype} ({span.start} to {span.stop - 1})"
        raise RequestRejected(Fault(at, message))


def _tensor(kind: _Tensor, placement: Placement, at: str) -> Init:
    if not placement.is_plain:
        message = (
            "an uploaded tensor fills a buffer in C order: give a buffer of its own shape, "
            'and the argument as {"view": {"of": ..., "strides": ...}}'
        )
        raise RequestRejected(Fault(at, message))
    return {"digest": kind.digest}


def _values(kind: _Values, placement: Placement, at: str) -> Init:
    at = pointer_below(at, "values")
    if math.prod(placement.shape) > MAX_VALUES:
        message = f"more than {MAX_VALUES} values; upload them with PUT /v1/tensors/{{digest}}"
        raise RequestRejected(Fault(at, message))
    flat = [
        written_element(read_element(item, placement.dtype, where))
        for where, item in _leaves(kind.values, placement.shape, at)
    ]
    if placement.is_plain:
        return {"values": flat}
    if may_overlap(placement.shape, placement.strides):
        message = "with these strides several values would share one element"
        raise RequestRejected(Fault(at, message))
    return {"values": _laid(flat, placement, at)}


def _laid(flat: list[Any], placement: Placement, at: str) -> list[Any]:
    if placement.elements > MAX_VALUES:
        message = f"the buffer spans more than {MAX_VALUES} elements; initialise it otherwise"
        raise RequestRejected(Fault(at, message))
    laid: list[Any] = [0] * placement.elements
    where = positions(placement.shape, placement.strides, placement.offset)
    for index, value in zip(where, flat, strict=True):
        laid[index] = value
    return laid


def _leaves(values: Any, shape: list[int], at: str) -> Iterator[tuple[str, Any]]:
    if not shape:
        yield at, values
        return
    if not isinstance(values, list) or len(values) != shape[0]:
        message = f"must be a list of {shape[0]}, as the shape says"
        raise RequestRejected(Fault(at, message))
    for index, item in enumerate(values):
        yield from _leaves(item, shape[1:], at + pointer(index))


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

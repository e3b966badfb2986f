"""Values that often break kernels, as initialisers of a request, so that users can replay them.

Only small buffers get an initialiser that lists its values.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Any, Literal, get_args

from compiler.json_number import NON_FINITE
from launch.fuzz.subject import FuzzedBuffer, Subject
from launch.request.element import is_floating
from launch.request.initializer import SEEDED

Pattern = Literal[
    "other_seed", "large", "steps", "outlier", "equal", "zeros", "large_equal", "not_finite",
    "special", "wide", "negative", "rising", "falling",
    "one_hot", "tiny", "huge", "extreme", "few", "lowest", "highest",
]  # fmt: skip
"""The patterns of values for a buffer, in the order to try them."""
MAX_LISTED = 512
"""Most elements in a buffer whose values are listed."""
MAX_IN_ALL = 8 * MAX_LISTED
"""Most listed elements in all buffers of a case."""

_MAX_VALUE: Mapping[str, float] = {"fp64": 1.7976931348623157e308, "fp32": 3.4028234663852886e38}
"""The largest finite value of types fine enough that a sum never equals a summand."""
_FINE = frozenset(_MAX_VALUE)
_TINY: Mapping[str, float] = {"fp64": 1e-310, "fp32": 1e-39, "bf16": 1e-39, "fp16": 3e-5}
"""A subnormal number of each type."""
_HUGE = 2.0**40
"""Its cube is still finite in fp32, as is the sum of a million squares."""
_WIDE = frozenset({"fp64", "fp32", "bf16"})
_OUTLIER, _OUTLIER_OF_FP16 = 1e8, 2048.0
"""Far from ordinary numbers, with squares that kernels can add."""
OVERFLOWING = frozenset({"huge", "extreme"})
"""Patterns that may overflow in ordinary calculations; all others stay finite."""
LISTED = frozenset({"special", "one_hot", "extreme", "not_finite", "outlier", "wide"})
_OF_INTEGERS = frozenset({"other_seed", "few", "lowest", "highest"})
_CONSTANT = frozenset({"zeros", "ones", "full"})


def varied_buffers(subject: Subject) -> tuple[list[FuzzedBuffer], list[str]]:
    """Return the inputs whose values may change, and why the other inputs keep theirs."""
    varied, kept = [], []
    for buffer in subject.buffers.values():
        if not buffer.is_input:
            continue
        if why := _why_kept(buffer, subject.fixed):
            kept.append(f"values of {buffer.name}: {why}")
        else:
            varied.append(buffer)
    return varied, kept


def _why_kept(buffer: FuzzedBuffer, fixed: frozenset[str]) -> str | None:
    kind = buffer.init["kind"] if buffer.init else ""
    if buffer.name in fixed:
        return f"{buffer.name} is fixed"
    if buffer.pinned is not None:
        return buffer.pinned
    if buffer.output and kind in _CONSTANT:
        return "the kernel changes it in place and may rely on its initial values"
    if not is_floating(buffer.dtype) and kind not in SEEDED:
        return "its integers are explicit and may be indices"
    return None


def patterns_of(buffer: FuzzedBuffer, subject: Subject, elements: int) -> list[Pattern]:
    """Return the patterns that fit a buffer with this number of elements."""
    return [pattern for pattern in get_args(Pattern) if _suits(pattern, buffer, subject, elements)]


def _suits(pattern: Pattern, buffer: FuzzedBuffer, subject: Subject, elements: int) -> bool:
    if pattern in LISTED and not 0 < elements <= MAX_LISTED:
        return False
    kind = buffer.init["kind"] if buffer.init else ""
    if not is_floating(buffer.dtype):
        return pattern in _OF_INTEGERS and kind == "randint"
    if pattern == "other_seed":
        return kind in SEEDED
    if pattern in {"few", "lowest", "highest"}:
        return False
    if pattern in {"outlier", "wide"}:
        return not buffer.dtype.startswith("fp8")
    if pattern == "huge":
        return buffer.dtype in _WIDE and subject.float_outputs_only
    if pattern == "extreme":
        return buffer.dtype in _FINE and subject.float_outputs_only
    return pattern != "tiny" or buffer.dtype in _TINY


def initializer(
    pattern: Pattern, buffer: FuzzedBuffer, shape: Sequence[int], seed: int
) -> dict[str, Any]:
    """Return the initialiser that fills a buffer of `shape` with a pattern."""
    elements = prod(shape)
    if pattern in _RANGES:
        low, high = _RANGES[pattern](buffer.dtype)
        return {"kind": "uniform", "low": low, "high": high, "seed": seed}
    match pattern:
        case "other_seed":
            return {**(buffer.init or {}), "seed": seed}
        case "zeros":
            return {"kind": "zeros"}
        case "equal":
            return {"kind": "full", "value": random.Random(seed).choice([1.0, -2.5, 0.1])}
        case "large_equal":
            return {"kind": "full", "value": large(buffer.dtype)}
        case "steps":
            return {"kind": "randint", "low": -2, "high": 3, "seed": seed}
        case "rising" | "falling":
            end = 4.0 if pattern == "rising" else -4.0
            return {"kind": "arange", "start": -end, "step": 2 * end / max(1, elements)}
        case "few":
            low, high = (buffer.init or {})["low"], (buffer.init or {})["high"]
            return {"kind": "randint", "low": low, "high": min(high, low + 2), "seed": seed}
        case "lowest" | "highest":
            low, high = (buffer.init or {})["low"], (buffer.init or {})["high"]
            return {"kind": "full", "value": low if pattern == "lowest" else high - 1}
    return {"kind": "values", "values": _nested(_listed(pattern, buffer, elements, seed), shape)}


def large(dtype: str) -> float:
    """Return a number for which exp overflows in fp32 and fp16, but whose square is small."""
    return 16.0 if dtype.startswith("fp8") else 128.0


_RANGES: Mapping[str, Callable[[str], tuple[float, float]]] = {
    "negative": lambda _: (-4.0, -0.5),
    "large": lambda dtype: (-large(dtype), large(dtype)),
    "huge": lambda _: (-_HUGE, _HUGE),
    "tiny": lambda dtype: (-_TINY[dtype], _TINY[dtype]),
}
"""The bounds of uniform patterns, by dtype."""


def _listed(pattern: Pattern, buffer: FuzzedBuffer, elements: int, seed: int) -> list[Any]:
    source = random.Random(seed)
    if pattern == "one_hot":
        hot = source.randrange(elements)
        return [1.0 if place == hot else 0.0 for place in range(elements)]
    if pattern == "extreme":
        largest = _MAX_VALUE[buffer.dtype]
        return [
            source.choice([largest, -largest]) * source.uniform(0.5, 1) for _ in range(elements)
        ]
    if pattern in {"outlier", "wide"}:
        return _spread(source, buffer.dtype, elements, alone=pattern == "outlier")
    special: list[Any] = [0.0, -0.0, 1.0, -1.0, large(buffer.dtype), -large(buffer.dtype)]
    special += [tiny := _TINY.get(buffer.dtype, 0.0), -tiny]
    values = [
        source.choice(special) if source.random() < 0.5 else round(source.gauss(0.0, 1.0), 3)
        for _ in range(elements)
    ]
    if pattern == "not_finite":
        places = source.sample(range(elements), min(elements, len(NON_FINITE)))
        for place, name in zip(places, NON_FINITE, strict=False):
            values[place] = name
    return values


def _spread(source: random.Random, dtype: str, elements: int, *, alone: bool) -> list[float]:
    """Return numbers of many magnitudes, some of them several times; or one outlier `alone`."""
    largest = _OUTLIER_OF_FP16 if dtype == "fp16" else _OUTLIER
    if alone:
        values = [round(source.gauss(0.0, 1.0), 3) for _ in range(elements)]
        values[source.randrange(elements)] = source.choice([largest, -largest])
        return values
    magnitudes = [1 / largest, 0.001, 0.5, 1.0, 3.0, 1000.0, largest]
    return [source.choice([1, -1]) * source.choice(magnitudes) for _ in range(elements)]


def _nested(values: list[Any], shape: Sequence[int]) -> Any:
    if not shape:
        return values[0]
    size = prod(shape[1:])
    parts: Iterator[list[Any]] = (
        values[start : start + size] for start in range(0, len(values), size)
    )
    return [_nested(part, shape[1:]) for part in parts]

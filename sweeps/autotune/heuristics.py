"""The values that `@triton.heuristics` gives a variant: as at a launch, but by plain expressions.

They come last, after the base, the axes and the configuration, as they do in Triton.
"""

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from compiler.autotune import AutotuneReading, Heuristic
from compiler.constexpr import canonical_value, read_constant, written_value
from compiler.diagnostic import clipped
from compiler.json_number import read_number, tagged_float
from compiler.rejection import FieldError, RequestRejected
from compiler.request.signature import positions
from launch.expression import (
    CHARACTERS,
    GRAMMAR,
    Expression,
    OpaqueArgument,
    read_expression,
)
from launch.formula import Bounds, FormulaFailed
from sweeps.autotune.configurations import AT

BOUNDS: Final = Bounds(max_chars=1000, max_nodes=400, characters=CHARACTERS, grammar=GRAMMAR)
"""A child read the text off user code, so it may be any: it is bounded before it is parsed."""
MAX_SHOWN_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class HeuristicValues:
    """The members to merge into a variant last."""

    constexprs: Mapping[str, Any]
    options: Mapping[str, Any]


class Heuristics:
    """The heuristics of one kernel, each read once, for all variants of a sweep."""

    def __init__(self, reading: AutotuneReading, at: str = AT) -> None:
        self._reading = reading
        self._at = at
        self._expressions: dict[int, Expression] = {}

    def __bool__(self) -> bool:
        return bool(self._reading.heuristics)

    @property
    def size(self) -> int:
        """The cost of evaluating all of them for one variant, in terms and operators."""
        return sum(self._size(index, item) for index, item in enumerate(self._reading.heuristics))

    def _size(self, index: int, heuristic: Heuristic) -> int:
        try:
            return self._expression(index, heuristic).size
        except FormulaFailed:
            return 1  # it is reported once

    def applied(
        self,
        body: Mapping[str, Any],
        configured: frozenset[str] = frozenset(),
        like: Mapping[str, Any] | None = None,
    ) -> HeuristicValues:
        """Return the values for one variant, `body` being its whole compile or launch request.

        `configured` are the names that its configuration sets, `like` examples of arguments that
        the request has no values of. Raises RequestRejected naming the
        heuristic and its line, where it is not plain, or needs a value that is not in the request;
        but where the request itself gives the value, that is taken.
        """
        compilation = body.get("compilation", body)
        constexprs = compilation.get("constexprs") or {}
        values: dict[str, Any] = {}
        for name, raw in (like or {}).items():
            _put(values, name, raw)
        values |= known_values(body, self._reading.parameters)
        computed: dict[str, Any] = {}
        errors = []
        for index, heuristic in enumerate(self._reading.heuristics):
            seen = {
                name: value
                for name, value in values.items()
                if not (heuristic.outside and name in configured)
            }
            try:
                value = self._expression(index, heuristic).value(seen)
                computed[heuristic.name] = _written(value)
                values[heuristic.name] = value
            except FormulaFailed as failed:
                if heuristic.name not in constexprs:
                    errors.append(
                        FieldError(self._at, _said(heuristic, failed, self._reading.kernel))
                    )
        if errors:
            raise RequestRejected(*errors)
        own = self._reading.parameters
        return HeuristicValues(
            {name: value for name, value in computed.items() if name in own},
            {name: value for name, value in computed.items() if name not in own},
        )

    def _expression(self, index: int, heuristic: Heuristic) -> Expression:
        if heuristic.expression is None:
            raise FormulaFailed(heuristic.why_not or "it is not a plain expression")
        if index not in self._expressions:
            self._expressions[index] = read_expression(heuristic.expression, BOUNDS)
        return self._expressions[index]


def _said(heuristic: Heuristic, failed: FormulaFailed, kernel: str) -> str:
    text = ""
    if heuristic.expression is not None:
        text = f" (`{clipped(heuristic.expression, MAX_SHOWN_CHARS)}`)"
    return (
        f"the heuristic {heuristic.name} of {kernel}, line {heuristic.line}{text}, cannot be "
        f"evaluated: {failed}. Give `{heuristic.name}` in the base's constexprs, "
        "or for a compilation the arguments that it asks for in the space's `like`"
    )


def _written(value: Any) -> Any:
    """Return a value as a request writes it. Raises FormulaFailed for what no constexpr can be."""
    if isinstance(value, tuple):
        return [_written(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return tagged_float(value)
    try:
        return written_value(canonical_value(value, ""))
    except RequestRejected as error:
        raise FormulaFailed(error.errors[0].message) from None


_TYPE: Final = object()
_POINTER: Final = "*"
_DESCRIPTOR: Final = "tensordesc"


def known_values(body: Mapping[str, Any], parameters: list[str]) -> dict[str, Any]:
    """Return what a request contains of a launch's arguments: numbers, texts, None, and buffers.

    A type shows only that there is a pointer, and `:1` that a number is 1.
    """
    compilation = body.get("compilation", body)
    values: dict[str, Any] = {}
    for name, kind in _types(compilation.get("signature"), parameters).items():
        if kind is None:
            values[name] = None
        elif isinstance(kind, str) and kind.startswith((_POINTER, _DESCRIPTOR)):
            values[name] = OpaqueArgument(name)
        elif isinstance(kind, str) and kind.endswith(":1"):
            values[name] = 1
        elif isinstance(kind, str) and (constant := _constant(kind)) is not _TYPE:
            values[name] = constant
    for group in ("options", "constexprs"):
        for name, raw in (compilation.get(group) or {}).items():
            _put(values, name, raw)
    arguments = body.get("arguments")
    if isinstance(arguments, list):
        arguments = dict(zip(parameters, arguments, strict=False))
    for name, raw in (arguments or {}).items():
        _put(values, name, raw)
    return values


def _types(signature: Any, parameters: list[str]) -> dict[str, Any]:
    if isinstance(signature, str):
        return dict(zip(parameters, positions(signature), strict=False))
    return signature if isinstance(signature, dict) else {}


def _constant(kind: str) -> Any:
    """Return the constant that is written in place of a type, _TYPE for a type."""
    with suppress(ValueError):  # that it is a type
        return read_constant(kind)
    return _TYPE


def _put(values: dict[str, Any], name: str, raw: Any) -> None:
    """Note what `raw` is; of other types than number, text and None, only that it exists."""
    if isinstance(raw, dict) and "value" in raw:
        raw = raw["value"]
    try:
        value = canonical_value(raw, "")
    except RequestRejected:
        values[name] = OpaqueArgument(name)
        return
    if isinstance(value, dict) and value.keys() <= {"int", "float"}:
        values[name] = read_number(value)
    elif isinstance(value, dict):
        values[name] = OpaqueArgument(name)
    else:
        values[name] = value

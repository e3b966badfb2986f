"""A specialization: which version of a kernel is meant, as data.

Each parameter has a type with hints, or is a constant. The type of a tuple is a list of its items'
types, which carry hints as suffixes, and constants are there with their values:
`["*fp32:16", "i32:1", null, {"constexpr": {"int": "4"}}]`. How a request may write all that is not
known here (see `signature`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from compiler.constexpr import Value, written_value
from compiler.rejection import FieldError, RequestRejected, shown
from compiler.type_name import INTEGERS, is_pointer

Type = str | list[Any]  # a Triton type name, or a list of them for a tuple
HINTS = ("divisible_by_16", "equal_to_1", "pointer_range_32")
SUFFIX_HINTS = {"16": "divisible_by_16", "1": "equal_to_1"}
"""Hints by the suffix of a type that means the same: `*fp32:16`, `i32:1`."""
ONE: Value = {"int": "1"}


@dataclass(frozen=True, slots=True)
class SpecializedParameter:
    """A request's value for one parameter: a type with hints, or a constexpr value."""

    type: Type | None = None
    hints: frozenset[str] = frozenset()
    value: Value = None
    is_constexpr: bool = False

    def with_hint(self, hint: str, at: str) -> "SpecializedParameter":
        """Return the parameter with another hint, which is at the pointer `at`.

        Raises RequestRejected for a hint that there is not, or that its type cannot have.
        """
        kind = self.type
        fits = {
            "divisible_by_16": isinstance(kind, str) and (is_pointer(kind) or kind in INTEGERS),
            "equal_to_1": isinstance(kind, str) and kind in INTEGERS,
            "pointer_range_32": isinstance(kind, str) and is_pointer(kind),
        }
        if hint not in fits:
            message = f"{shown(hint)} is not a hint; there are {', '.join(HINTS)}"
            raise RequestRejected(FieldError(at, message))
        if not fits[hint]:
            what = "a tuple" if isinstance(kind, list) else f"a parameter of type {kind}"
            raise RequestRejected(FieldError(at, f"{hint} does not apply to {what}"))
        hints = self.hints | {hint}
        if hints >= {"equal_to_1", "divisible_by_16"}:
            raise RequestRejected(FieldError(at, "nothing is equal to 1 and divisible by 16"))
        return replace(self, hints=hints)

    @property
    def unaligned(self) -> "SpecializedParameter":
        """The same without the known alignment and range of a pointer or number."""
        kind = _without_alignment(self.type)
        return replace(self, type=kind, hints=self.hints & {"equal_to_1"})

    def to_json(self) -> dict[str, Any]:
        """Return the canonical JSON of this parameter."""
        if self.is_constexpr:
            return {"value": self.value}
        return {"type": self.type, "hints": sorted(self.hints)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "SpecializedParameter":
        """Read back what `to_json` wrote."""
        if "value" in data:
            return cls(value=data["value"], is_constexpr=True)
        return cls(type=data["type"], hints=frozenset(data["hints"]))

    def to_text(self) -> str:
        """Return an entry of `triton.tools.compile`'s string; only for what it can hold."""
        if self.is_constexpr:
            number = written_value(self.value)
            return str(next(iter(number.values())) if isinstance(number, dict) else number)
        suffixes = [f":{suffix}" for suffix, hint in SUFFIX_HINTS.items() if hint in self.hints]
        return "".join([str(self.type), *suffixes])


@dataclass(frozen=True, slots=True)
class Specialization:
    """Parameters by name, and those written by position only (`triton.tools.compile`'s string)."""

    named: dict[str, SpecializedParameter] = field(default_factory=dict)
    positional: tuple[SpecializedParameter, ...] = ()

    @property
    def unaligned(self) -> "Specialization":
        """The same without alignments; equality to 1 stays, since Triton makes it a constant."""
        return Specialization(
            {name: item.unaligned for name, item in self.named.items()},
            tuple(item.unaligned for item in self.positional),
        )

    @property
    def unhinted(self) -> "Specialization":
        """The same without the hints of parameters and the alignments of tuples' items."""
        unaligned = self.unaligned
        return Specialization(
            {name: replace(item, hints=frozenset()) for name, item in unaligned.named.items()},
            tuple(replace(item, hints=frozenset()) for item in unaligned.positional),
        )

    def to_json(self) -> dict[str, Any]:
        """Return canonical JSON: the same meaning gives the same bytes once keys are sorted."""
        return {
            "named": {name: self.named[name].to_json() for name in sorted(self.named)},
            "positional": [parameter.to_json() for parameter in self.positional],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Specialization":
        """Read back what `to_json` wrote."""
        return cls(
            {name: SpecializedParameter.from_json(value) for name, value in data["named"].items()},
            tuple(SpecializedParameter.from_json(value) for value in data["positional"]),
        )

    def to_request(self) -> dict[str, Any]:
        """Return `signature`, `hints` and `constexprs` that mean the same in a request."""
        typed = {name: item for name, item in self.named.items() if not item.is_constexpr}
        types = {name: item.type for name, item in typed.items()}
        values = {name: item.value for name, item in self.named.items() if item.is_constexpr}
        return {
            "signature": ", ".join(item.to_text() for item in self.positional) or types,
            "hints": {name: sorted(item.hints) for name, item in typed.items() if item.hints},
            "constexprs": {name: written_value(value) for name, value in values.items()},
        }


def with_suffix(kind: str, hints: frozenset[str]) -> str:
    """Return a type as an item of a tuple has it: with the suffix of its hint."""
    return ":".join([kind, *(suffix for suffix, hint in SUFFIX_HINTS.items() if hint in hints)])


def _without_alignment(kind: Any) -> Any:
    if isinstance(kind, list):
        return [_without_alignment(item) for item in kind]
    return kind.removesuffix(":16") if isinstance(kind, str) else kind


def plain_type(kind: Any) -> Any:
    """Return a type without suffixes, `constexpr` for the items that are constants."""
    if isinstance(kind, list):
        return [plain_type(item) for item in kind]
    if not isinstance(kind, str) or kind.endswith(":1"):
        return "constexpr"
    return kind.partition(":")[0]


def item_hints(name: str, kind: Any) -> dict[str, list[str]]:
    """Return the hints of the items of the tuple parameter `name`, by path as in `pair.0`."""
    return {
        path: ["divisible_by_16"]
        for path, item in _items(name, kind)
        if isinstance(item, str) and item.endswith(":16")
    }


def item_constants(name: str, kind: Any) -> dict[str, Value]:
    """Return the values of the items that are constants, by path."""
    values: dict[str, Value] = {}
    for path, item in _items(name, kind):
        if not isinstance(item, str):
            values[path] = item and item["constexpr"]
        elif item.endswith(":1"):
            values[path] = ONE
    return values


def _items(name: str, kind: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(kind, list):
        return
    for index, item in enumerate(kind):
        path = f"{name}.{index}"
        if isinstance(item, list):
            yield from _items(path, item)
        else:
            yield path, item

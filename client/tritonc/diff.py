"""A comparison of two compilations, as answered by the service.

Parsing is lenient, so that newer services work; unknown members stay in `raw`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

_ASKED = ("toolchain", "options", "parameters")
_ENDS = ("state", "problem", "kernel", "target")
_SUFFIXES = {"divisible_by_16": "16", "equal_to_1": "1"}
"""The suffixes of hints in a signature."""

Both = Mapping[str, Any]
"""A value of each compilation: `{"a": 4, "b": 8}`."""


@dataclass(frozen=True, slots=True)
class StageDiff:
    """The differences in one stage's text, apart from locations and names.

    `only_in` is `a` or `b` if only that one has the stage. `diff` is a unified diff, None if
    nothing differs; it is cut if `truncated`, while `added` and `removed` count all lines. With
    `registers_differ` equal instructions use other registers, which the diff does not show.
    """

    stage: str
    same: bool
    only_in: str | None
    added: int
    removed: int
    registers_differ: bool
    diff: str | None
    truncated: bool

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "StageDiff":
        """Parse a stage. Raises KeyError if it is malformed."""
        return cls(**{field.name: body[field.name] for field in fields(cls)})

    def __str__(self) -> str:
        """Return a summary in one line."""
        if self.only_in is not None:
            return f"{self.stage}: only {self.only_in} has it"
        if self.same:
            return f"{self.stage}: the same"
        counts = f"+{self.added} -{self.removed} lines" if self.added or self.removed else ""
        moved = "other registers" if self.registers_differ else ""
        return f"{self.stage}: {', '.join(part for part in (counts, moved) if part)}"


@dataclass(frozen=True, slots=True, repr=False)
class Diff:
    """The differences from `a` to `b`: in the requests and in the results.

    `same` is true if both results are the same. `ends` has state, problem, kernel and target of
    both, `asked` the differences in toolchain, options and parameters, `resources` all numbers of
    both. `instructions` has the counts of both and their `delta`, None if neither was assembled.
    """

    a: str
    b: str
    same: bool
    ends: Mapping[str, Both]
    asked: Mapping[str, Both]
    resources: Mapping[str, Both]
    instructions: Mapping[str, Any] | None
    stages: tuple[StageDiff, ...]
    raw: Mapping[str, Any]

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "Diff":
        """Parse a diff. Raises KeyError or TypeError if it is malformed."""
        return cls(
            a=body["a"],
            b=body["b"],
            same=body["same"],
            ends={name: body[name] for name in _ENDS},
            asked={name: both for part in _ASKED for name, both in body[part].items()},
            resources=body["resources"],
            instructions=body["instructions"],
            stages=tuple(map(StageDiff.from_json, body["stages"])),
            raw=body,
        )

    def __repr__(self) -> str:
        """Return the differences, one per line."""
        if self.same:
            asked = ", ".join(f"{name}: {change}" for name, change in self.differing())
            return f"Diff: both results are the same{f' ({asked})' if asked else ''}"
        lines = [f"{name}: {change}" for name, change in self.differing()]
        lines += [f"{name}: {change}" for name, change in self.instruction_counts()]
        lines += [str(stage) for stage in self.stages if not stage.same]
        return "\n  ".join(["Diff:", *lines])

    def differing(self) -> Iterator[tuple[str, str]]:
        """Yield the settings, outcomes and resources that differ."""
        for part in (self.ends, self.asked, self.resources):
            for name, both in part.items():
                if both["a"] != both["b"]:
                    yield name, f"{_value_text(both['a'])} -> {_value_text(both['b'])}"

    def instruction_counts(self) -> Iterator[tuple[str, str]]:
        """Yield the total and per-class instruction counts that differ."""
        instructions = self.instructions
        if (
            instructions is None
            or instructions["delta"] is None
            or not instructions["delta"]["by_class"]
        ):
            return
        yield "instructions", _counts(instructions["a"]["total"], instructions["b"]["total"])
        for kind in instructions["delta"]["by_class"]:
            counts = (instructions[side]["by_class"].get(kind, 0) for side in ("a", "b"))
            yield kind, _counts(*counts)

    def first_differing(self) -> StageDiff | None:
        """Return the first stage of the pipeline with different texts."""
        return next((stage for stage in self.stages if stage.diff is not None), None)


def _counts(a: int, b: int) -> str:
    return f"{a} -> {b} ({b - a:+d})"


def _value_text(value: Any) -> str:
    if isinstance(value, Mapping):  # a parameter
        if value.get("role") == "constexpr":
            return str(value["value"])
        hints = (f":{_SUFFIXES.get(hint, hint)}" for hint in value.get("hints") or ())
        return "".join([str(value.get("type")), *hints])
    return f"{value:.3g}" if isinstance(value, float) else str(value)

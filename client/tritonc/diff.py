"""What differs between two compilations, as the client sees it.

Reading is lenient, so that a newer service works: what is unknown stays in `raw`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

_ASKED = ("toolchain", "options", "parameters")
_ENDS = ("state", "problem", "kernel", "target")

Both = Mapping[str, Any]
"""A value of both compilations: `{"a": 4, "b": 8}`."""


@dataclass(frozen=True, slots=True)
class StageDiff:
    """How the text of one stage differs, locations and names aside.

    `only_in` is `a` or `b` where the other does not have the stage. `diff` is a unified diff, None
    where nothing differs; it is cut if `truncated`, while `added` and `removed` count all lines.
    With `registers_differ` the same instructions stand in other registers, which is not shown.
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
        """Read a stage. Raises KeyError when it is none."""
        return cls(**{field.name: body[field.name] for field in fields(cls)})

    def __str__(self) -> str:
        """Return a line that says how it differs."""
        if self.only_in is not None:
            return f"{self.stage}: only {self.only_in} has it"
        if self.same:
            return f"{self.stage}: the same"
        counts = f"+{self.added} -{self.removed} lines" if self.added or self.removed else ""
        moved = "other registers" if self.registers_differ else ""
        return f"{self.stage}: {', '.join(part for part in (counts, moved) if part)}"


@dataclass(frozen=True, slots=True, repr=False)
class Diff:
    """What came of `b` differently than of `a`, and what was asked for differently.

    `same` says whether the same came of both. `ends` has state, problem, kernel and target of both,
    `asked` what differs of the toolchain, the options and the parameters, `resources` all numbers
    of both. `instructions` has the counts of both and their `delta`, None where neither was
    assembled.
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
        """Read a diff. Raises KeyError or TypeError when it is none."""
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
        """Return what differs, a line each."""
        if self.same:
            asked = ", ".join(f"{name}: {told}" for name, told in self.differing())
            return f"Diff: the same came of both{f' ({asked})' if asked else ''}"
        lines = [f"{name}: {told}" for name, told in self.differing()]
        lines += [f"{name}: {told}" for name, told in self.instruction_counts()]
        lines += [str(stage) for stage in self.stages if not stage.same]
        return "\n  ".join(["Diff:", *lines])

    def differing(self) -> Iterator[tuple[str, str]]:
        """Yield what was asked, what came of it, and resources, where both are not the same."""
        for part in (self.ends, self.asked, self.resources):
            for name, both in part.items():
                if both["a"] != both["b"]:
                    yield name, f"{_told(both['a'])} -> {_told(both['b'])}"

    def instruction_counts(self) -> Iterator[tuple[str, str]]:
        """Yield how many instructions both have, in all and of classes, where that differs."""
        found = self.instructions
        if found is None or found["delta"] is None or not found["delta"]["by_class"]:
            return
        yield "instructions", _counts(found["a"]["total"], found["b"]["total"])
        for kind in found["delta"]["by_class"]:
            counts = (found[side]["by_class"].get(kind, 0) for side in ("a", "b"))
            yield kind, _counts(*counts)

    def first_differing(self) -> StageDiff | None:
        """Return the first stage of the pipeline whose texts differ: where both part."""
        return next((stage for stage in self.stages if stage.diff is not None), None)


def _counts(a: int, b: int) -> str:
    return f"{a} -> {b} ({b - a:+d})"


def _told(value: Any) -> str:
    if isinstance(value, Mapping):
        return str(value["value"] if value.get("role") == "constexpr" else value.get("type"))
    return f"{value:.3g}" if isinstance(value, float) else str(value)

"""All differences between two compilations, in the form of the answer.

Differences of the requests are listed, but do not count: two compilations are the same if their
results are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compiler.diff.instruction_diff import Texts, instruction_diff
from compiler.diff.stage_diff import StageDiff, stage_diff, stage_of_one
from compiler.instructions.instruction_mix import ASSEMBLIES, InstructionMix, instruction_mix

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Side:
    """One of two compilations: its record as JSON has it, the texts of its stages, its sources."""

    record: Record
    stages: Mapping[str, str]
    files: Texts = field(default_factory=dict)


def compilation_diff(a: Side, b: Side, stages: Sequence[str]) -> dict[str, Any]:
    """Return the answer: `stages` are those whose texts are compared, of those that there are."""
    compared = [_stage(name, a, b) for name in stages if name in a.stages or name in b.stages]
    mixes = [_mix(side) for side in (a, b)]
    instructions = instruction_diff(mixes[0], mixes[1], a.files, b.files)
    resources = {name: _both(name, *map(_resources, (a, b))) for name in _resources(a, b)}
    return {
        "a": a.record["key"],
        "b": b.record["key"],
        "same": _outcome(a) == _outcome(b)
        and all(stage.same for stage in compared)
        and all(pair["a"] == pair["b"] for pair in resources.values())
        and _is_same_mix(mixes[0], mixes[1]),
        "state": _pair(a, b, "state"),
        "problem": {"a": _problem(a), "b": _problem(b)},
        "kernel": _pair(a, b, "kernel"),
        "target": _pair(a, b, "target"),
        "toolchain": _differing(a.record["toolchain"], b.record["toolchain"]),
        "options": _differing(a.record["options"], b.record["options"]),
        "parameters": _differing(_parameters(a), _parameters(b)),
        "resources": resources,
        "instructions": instructions,
        "stages": [stage.as_json() for stage in compared],
    }


def _stage(name: str, a: Side, b: Side) -> StageDiff:
    if name not in b.stages:
        return stage_of_one(name, "a", a.stages[name])
    if name not in a.stages:
        return stage_of_one(name, "b", b.stages[name])
    return stage_diff(name, a.stages[name], b.stages[name])


def _is_same_mix(a: InstructionMix | None, b: InstructionMix | None) -> bool:
    if a is None or b is None:
        return a is b
    return a.by_opcode == b.by_opcode and a.by_class == b.by_class


def _mix(side: Side) -> InstructionMix | None:
    stage = next((name for name in ASSEMBLIES if name in side.stages), None)
    return instruction_mix(stage, side.stages[stage]) if stage is not None else None


def _resources(*sides: Side) -> dict[str, Any]:
    """Return the numbers of all `sides` by name, occupancy among them; the last side's hold."""
    found: dict[str, Any] = {}
    for side in sides:
        resources = dict(side.record["resources"] or {})
        occupancy = resources.pop("occupancy", None) or {}
        resources |= {"occupancy": occupancy.get("ratio")} if occupancy else {}
        resources |= {"occupancy_limited_by": occupancy.get("limited_by")} if occupancy else {}
        resources.pop("backend", None)
        found |= {name: value for name, value in resources.items() if value is not None}
    return found


def _both(name: str, a: Record, b: Record) -> dict[str, Any]:
    return {"a": a.get(name), "b": b.get(name)}


def _pair(a: Side, b: Side, name: str) -> dict[str, Any]:
    return _both(name, a.record, b.record)


def _differing(a: Record, b: Record) -> dict[str, Any]:
    names = dict.fromkeys([*a, *b])
    return {name: _both(name, a, b) for name in names if a.get(name) != b.get(name)}


def _parameters(side: Side) -> dict[str, Any]:
    """Return the members of each parameter except its name, by name."""
    return {
        parameter["name"]: {name: value for name, value in parameter.items() if name != "name"}
        for parameter in side.record["parameters"]
    }


def _problem(side: Side) -> str | None:
    problem = side.record["problem"]
    return problem["slug"] if problem else None


def _outcome(side: Side) -> tuple[Any, ...]:
    """Return how a compilation ended and, where it failed, with which words."""
    errors = [item["message"] for item in side.record["diagnostics"] if item["severity"] == "error"]
    return side.record["state"], _problem(side), errors

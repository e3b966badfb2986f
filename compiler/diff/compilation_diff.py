"""All differences between two compilations, in the form of the answer.

Differences of the requests are listed, but do not count: two compilations are the same if their
results are.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compiler.diff.alignment import Level, aligned, gaps
from compiler.diff.stage_diff import StageDiff, stage_diff, stage_of_one
from compiler.diff.stage_text import Interner
from compiler.instructions.instruction_mix import (
    ASSEMBLIES,
    InstructionMix,
    UserLine,
    instruction_mix,
)
from compiler.instructions.opcode_classes import CLASSES

Record = Mapping[str, Any]
_MAX_OPCODES = 200
MAX_LINES = 500

_Texts = Mapping[str, str]
"""The user's files, by the paths that places name."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of two compilations: its record as JSON has it, the texts of its stages, its sources."""

    record: Record
    stages: Mapping[str, str]
    files: _Texts = field(default_factory=dict)


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
    numbers: dict[str, Any] = {}
    for side in sides:
        resources = dict(side.record["resources"] or {})
        occupancy = resources.pop("occupancy", None) or {}
        resources |= {"occupancy": occupancy.get("ratio")} if occupancy else {}
        resources |= {"occupancy_limited_by": occupancy.get("limited_by")} if occupancy else {}
        resources.pop("backend", None)
        numbers |= {name: value for name, value in resources.items() if value is not None}
    return numbers


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


# The differences between the instructions of two kernels: by class, by opcode, by user's line.
#
# A line of one source matches the line of the other with the same text, wherever it is: a line
# that was inserted above moves all of them, and changes none.


def instruction_diff(
    a: InstructionMix | None, b: InstructionMix | None, texts_a: _Texts, texts_b: _Texts
) -> dict[str, Any] | None:
    """Return the counts of both and what `b` has more, or less; None where neither has any.

    Only differing opcodes and lines are listed, the most different first: at most `_MAX_OPCODES`
    opcodes and `MAX_LINES` lines.
    """
    if a is None and b is None:
        return None
    if a is None or b is None:
        return {"a": _counts(a), "b": _counts(b), "delta": None, "by_line": []}
    return {
        "a": _counts(a),
        "b": _counts(b),
        "delta": {
            "total": b.total - a.total,
            "by_class": _by_class(a.by_class, b.by_class),
            "by_opcode": _most_different(a.by_opcode, b.by_opcode),
        },
        "by_line": _by_line(a, b, texts_a, texts_b),
    }


def _counts(mix: InstructionMix | None) -> dict[str, Any] | None:
    if mix is None:
        return None
    counts = {kind: mix.by_class[kind] for kind in CLASSES}
    return {"total": mix.total, "code_bytes": mix.code_bytes, "by_class": counts}


def _by_class(a: Counter[str], b: Counter[str]) -> dict[str, int]:
    return {kind: b[kind] - a[kind] for kind in CLASSES if a[kind] != b[kind]}


def _most_different(a: Counter[str], b: Counter[str]) -> dict[str, int]:
    differing = {name: b[name] - a[name] for name in [*a, *b] if a[name] != b[name]}
    worst = sorted(differing.items(), key=lambda item: (-abs(item[1]), item[0]))
    return dict(worst[:_MAX_OPCODES])


def _by_line(
    a: InstructionMix, b: InstructionMix, texts_a: _Texts, texts_b: _Texts
) -> list[dict[str, Any]]:
    twins = _twins(texts_a, texts_b)
    for place in a.by_line:  # posted IR may name files that are not part of the request
        if place is not None and (place[0] not in texts_a or place[0] not in texts_b):
            twins[place] = place
    rows: dict[tuple[UserLine | None, UserLine | None], list[Counter[str]]] = {}
    for place, counted in a.by_line.items():
        twin = place and twins.get(place)
        rows.setdefault((place, twin), [Counter(), Counter()])[0].update(counted)
    of_b = {twin: place for place, twin in twins.items()}
    for place, counted in b.by_line.items():
        twin = place and of_b.get(place)
        rows.setdefault((twin, place), [Counter(), Counter()])[1].update(counted)
    differing = [
        {
            "file": (at_a or at_b or (None,))[0],
            "a_line": at_a[1] if at_a else None,
            "b_line": at_b[1] if at_b else None,
            "delta": {"total": y.total() - x.total(), "by_class": _by_class(x, y)},
        }
        for (at_a, at_b), (x, y) in rows.items()
        if x != y
    ]
    differing.sort(key=_weight, reverse=True)
    return differing[:MAX_LINES]


def _weight(row: dict[str, Any]) -> int:
    return sum(abs(more) for more in row["delta"]["by_class"].values())


def _twins(texts_a: _Texts, texts_b: _Texts) -> dict[UserLine, UserLine]:
    """Return which line of the second's files is which of the first's, by place.

    Of lines that changed, the first of a stretch is the first of the other.
    """
    twins: dict[UserLine, UserLine] = {}
    for file in texts_a.keys() & texts_b.keys():
        intern = Interner()
        sides = [texts_a[file].split("\n"), texts_b[file].split("\n")]
        keys = [[intern(line.strip()) for line in lines] for lines in sides]
        pairs = aligned([Level(keys[0], keys[1])])
        for gap in gaps(pairs, len(keys[0]), len(keys[1])):
            pairs += zip(range(gap.a, gap.a_end), range(gap.b, gap.b_end), strict=False)
        twins |= {(file, x + 1): (file, y + 1) for x, y in pairs}
    return twins

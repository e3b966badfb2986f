"""The differences between the instructions of two kernels: by class, by opcode, by user's line.

A line of the one source is that line of the other which says the same, wherever it stands: one that
was put in above moves all of them, and changes none.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from compiler.diff.alignment import Level, aligned, gaps
from compiler.diff.stage_text import Interner
from compiler.instructions.instruction_mix import InstructionMix, UserLine
from compiler.instructions.opcode_classes import CLASSES

MOST_OPCODES = 200
MOST_LINES = 500

Texts = Mapping[str, str]
"""The user's files, by the paths that places name."""


def instruction_diff(
    a: InstructionMix | None, b: InstructionMix | None, texts_a: Texts, texts_b: Texts
) -> dict[str, Any] | None:
    """Return the counts of both and what `b` has more, or less; None where neither has any.

    Only differing opcodes and lines are listed, the most different first: at most `MOST_OPCODES`
    opcodes and `MOST_LINES` lines.
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
    return dict(worst[:MOST_OPCODES])


def _by_line(
    a: InstructionMix, b: InstructionMix, texts_a: Texts, texts_b: Texts
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
    found = [
        {
            "file": (at_a or at_b or (None,))[0],
            "a_line": at_a[1] if at_a else None,
            "b_line": at_b[1] if at_b else None,
            "delta": {"total": y.total() - x.total(), "by_class": _by_class(x, y)},
        }
        for (at_a, at_b), (x, y) in rows.items()
        if x != y
    ]
    found.sort(key=_weight, reverse=True)
    return found[:MOST_LINES]


def _weight(row: dict[str, Any]) -> int:
    return sum(abs(more) for more in row["delta"]["by_class"].values())


def _twins(texts_a: Texts, texts_b: Texts) -> dict[UserLine, UserLine]:
    """Return which line of the second's files is which of the first's, by place.

    Of lines that changed, the first of a stretch is the first of the other.
    """
    found: dict[UserLine, UserLine] = {}
    for file in texts_a.keys() & texts_b.keys():
        intern = Interner()
        sides = [texts_a[file].split("\n"), texts_b[file].split("\n")]
        keys = [[intern(line.strip()) for line in lines] for lines in sides]
        pairs = aligned([Level(keys[0], keys[1])])
        for gap in gaps(pairs, len(keys[0]), len(keys[1])):
            pairs += zip(range(gap.a, gap.a_end), range(gap.b, gap.b_end), strict=False)
        found |= {(file, x + 1): (file, y + 1) for x, y in pairs}
    return found

"""The time of a kernel by user's line: a profiler's counts at each instruction.

A profiler knows instructions by where they lie in the kernel, as `nvdisasm` does. Each instruction
is counted once, in the innermost line of the user's that it stems from; the lines from which that
was called have it among their `inclusive_samples`. Pure text, standard library only.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compiler.lines.line_map import user_lines_of
from compiler.lines.sass import map_sass

MAX_LINES = 200
MAX_INSTRUCTIONS = 1000
"""The limits for lines and instructions: the answer holds the hottest."""
_MAX_TEXT_CHARS = 160
_SECTION = re.compile(r'\s*\.section\s+"?\.text\.([^\s",]+)')
_INSTRUCTION = re.compile(r"\s*/\*([0-9a-f]{4,16})\*/\s+(\S.*)")
_SELECTED = "selected"
"""No stall: the warp was issued."""

UserLine = tuple[str, int]


@dataclass(frozen=True, slots=True)
class CountedInstruction:
    """One instruction as a profiler saw it: `offset_bytes` from where the kernel begins.

    `samples` are warps that were found there, `stalls` those by reason, and `instructions` how
    often a warp executed it.
    """

    offset_bytes: int
    text: str
    samples: int
    instructions: int
    stalls: Mapping[str, int]


def counters_json(counted: Iterable[CountedInstruction]) -> bytes:
    """Return what `read_counters` reads."""
    rows = [[c.offset_bytes, c.text, c.samples, c.instructions, {**c.stalls}] for c in counted]
    return json.dumps(rows, separators=(",", ":")).encode()


def read_counters(data: bytes) -> list[CountedInstruction]:
    """Return what `counters_json` wrote. Raises ValueError, TypeError."""
    return [CountedInstruction(*row) for row in json.loads(data)]


@dataclass(slots=True)
class _Heat:
    """The counts of one line."""

    samples: int = 0
    inclusive_samples: int = 0
    instructions: int = 0
    stalls: Counter[str] = field(default_factory=Counter)

    def add(self, counted: CountedInstruction) -> None:
        self.samples += counted.samples
        self.instructions += counted.instructions
        self.stalls.update(counted.stalls)


@dataclass(frozen=True, slots=True)
class _Origin:
    """One instruction of the disassembly: its text, and the user's lines behind it."""

    opcode: str
    places: Sequence[UserLine]


def hot_lines(
    counted: Sequence[CountedInstruction], sass: str | None, entry: str
) -> dict[str, Any]:
    """Return `lines` and `sass`, the hottest of each, as a launch's profile has them.

    `sass` is the disassembly with places (`compiler.lines.sass`) of the code with the kernel
    `entry`; without one, and where it does not have the instruction that was counted, places are
    null.
    """
    origins = _origins(sass, entry) if sass is not None else {}
    placed = [(instruction, _places(instruction, origins)) for instruction in counted]
    total = sum(instruction.samples for instruction in counted)
    return {
        "samples": total,
        "lines": _lines(placed, total),
        "sass": _instructions(placed, total),
        "sass_left_out": max(0, len(counted) - MAX_INSTRUCTIONS),
    }


def _lines(
    placed: Iterable[tuple[CountedInstruction, Sequence[UserLine]]], total: int
) -> list[dict[str, Any]]:
    """Return the hottest lines, the hottest first; what has no line is one of null."""
    heat: dict[UserLine | None, _Heat] = {}
    for instruction, places in placed:
        heat.setdefault(places[0] if places else None, _Heat()).add(instruction)
        for place in places or (None,):
            heat.setdefault(place, _Heat()).inclusive_samples += instruction.samples
    worst = sorted(
        heat.items(),
        key=lambda row: (-row[1].samples, -row[1].inclusive_samples, -row[1].instructions),
    )
    return [
        {
            "file": place[0] if place else None,
            "line": place[1] if place else None,
            **_shares(heat.samples, total),
            "inclusive_samples": heat.inclusive_samples,
            "instructions": heat.instructions,
            "top_stall": _top(heat.stalls),
        }
        for place, heat in worst[:MAX_LINES]
    ]


def _instructions(
    placed: Iterable[tuple[CountedInstruction, Sequence[UserLine]]], total: int
) -> list[dict[str, Any]]:
    """Return the hottest instructions, in the order of the kernel."""
    worst = sorted(placed, key=lambda pair: (-pair[0].samples, -pair[0].instructions))
    chosen = sorted(worst[:MAX_INSTRUCTIONS], key=lambda pair: pair[0].offset_bytes)
    return [
        {
            "address": instruction.offset_bytes,
            "text": instruction.text[:_MAX_TEXT_CHARS],
            "file": places[0][0] if places else None,
            "line": places[0][1] if places else None,
            **_shares(instruction.samples, total),
            "instructions": instruction.instructions,
            "top_stall": _top(instruction.stalls),
        }
        for instruction, places in chosen
    ]


def _shares(samples: int, total: int) -> dict[str, Any]:
    percent = round(100 * samples / total, 2) if total else 0.0
    return {"samples": samples, "samples_percent": percent}


def _top(stalls: Mapping[str, int]) -> str | None:
    waits = {reason: count for reason, count in stalls.items() if count and reason != _SELECTED}
    return max(waits, key=waits.__getitem__) if waits else None


def _places(instruction: CountedInstruction, origins: Mapping[int, _Origin]) -> Sequence[UserLine]:
    """Return where an instruction stems from, nothing where the disassembly has another there."""
    origin = origins.get(instruction.offset_bytes)
    return (
        origin.places if origin is not None and origin.opcode == _opcode(instruction.text) else ()
    )


def _origins(sass: str, entry: str) -> dict[int, _Origin]:
    """Return the instructions of the kernel `entry`, by their offset."""
    mapped = map_sass(sass)
    origins: dict[int, _Origin] = {}
    within = False
    for number, line in enumerate(sass.splitlines(), 1):
        if section := _SECTION.match(line):
            within = section[1] == entry
        elif within and (match := _INSTRUCTION.match(line)):
            places = user_lines_of(mapped.chains.get(number, ()))
            origins[int(match[1], 16)] = _Origin(_opcode(match[2]), places)
    return origins


def _opcode(text: str) -> str:
    """Return the name of an instruction, without the predicate before it."""
    words = text.split(maxsplit=2)
    guarded = len(words) > 1 and words[0].startswith("@")
    return words[guarded].rstrip(";") if words else ""

"""The source page of ncu on one launch: what each instruction of the kernel was counted.

Pure: text in, `CountedInstruction` out. It finds columns by their names, as versions of ncu have
other columns, and passes over rows that are no instructions.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from compiler.lines.hot_lines import CountedInstruction
from worker.gpu.tools.profile_report import NoProfile, complaint

MAX_INSTRUCTIONS = 50_000
_MAX_TEXT_CHARS = 400
_MAX_COLUMNS = 500
_MAX_COUNT = 2**53 - 1
_ADDRESS, _TEXT = "Address", "Source"
_SAMPLES = ("# Samples", "Warp Stall Sampling (All Samples)")
_EXECUTED = "Instructions Executed"
_STALL = "stall_"
_NOT_ISSUED = ")"
"""Ends the columns of samples taken when no warp was issued: a part of the others."""
_REASONS = {
    "branch_resolve": "branch_resolving",
    "dispatch": "dispatch_stall",
    "imc": "imc_miss",
    "lg": "lg_throttle",
    "long_sb": "long_scoreboard",
    "math": "math_pipe_throttle",
    "mio": "mio_throttle",
    "no_inst": "no_instruction",
    "short_sb": "short_scoreboard",
    "sleep": "sleeping",
    "tex": "tex_throttle",
}
"""The page's own short names, as the raw page and `profile.stalls` spell them."""


def read(text: str) -> list[CountedInstruction]:
    """Return the instructions of the kernel that `text` is about, in their order.

    Raises NoProfile where it has none.
    """
    try:
        counted = _counted(csv.reader(line for line in text.splitlines() if line.startswith('"')))
    except csv.Error as error:
        raise NoProfile(f"ncu's source page cannot be read ({error})") from None
    if not counted:
        raise NoProfile(complaint(text))
    if any(before.offset_bytes >= next_one.offset_bytes for before, next_one in pairwise(counted)):
        raise NoProfile("ncu's source page does not have the instructions in their order")
    return counted


def _counted(rows: Iterator[list[str]]) -> list[CountedInstruction]:
    """Return the rows of the first table that has any."""
    columns: dict[str, int] = {}
    instructions: list[CountedInstruction] = []
    first = 0
    for row in rows:
        address = _address(row, columns)
        if address is None:
            if instructions:
                break  # another function's
            columns = {name: place for place, name in enumerate(row[:_MAX_COLUMNS])}
            continue
        first = first if instructions else address
        instructions.append(_instruction(row, columns, address - first))
        if len(instructions) == MAX_INSTRUCTIONS:
            break
    return instructions


def _address(row: Sequence[str], columns: Mapping[str, int]) -> int | None:
    """Return the address of a row's instruction, None for an incomplete row."""
    if _ADDRESS not in columns or _TEXT not in columns or len(row) < len(columns):
        return None
    words = row[columns[_ADDRESS]].removeprefix("0x")
    if not 0 < len(words) <= 16:
        return None
    try:
        return int(words, 16)
    except ValueError:
        return None


def _instruction(
    row: Sequence[str], columns: Mapping[str, int], offset_bytes: int
) -> CountedInstruction:
    samples = next((name for name in _SAMPLES if name in columns), None)
    stalls = {
        _reason(name): _count(row[place])
        for name, place in columns.items()
        if name.startswith(_STALL) and not name.endswith(_NOT_ISSUED)
    }
    return CountedInstruction(
        offset_bytes=offset_bytes,
        text=row[columns[_TEXT]].strip()[:_MAX_TEXT_CHARS],
        samples=_count(row[columns[samples]]) if samples else 0,
        instructions=_count(row[columns[_EXECUTED]]) if _EXECUTED in columns else 0,
        stalls={reason: count for reason, count in stalls.items() if count},
    )


def _reason(name: str) -> str:
    short = name.removeprefix(_STALL)[:64]
    return _REASONS.get(short, short)


def _count(text: str) -> int:
    """Return the whole number in a text, 0 for any other text."""
    digits = text.replace(",", "").partition(".")[0]
    if not digits.isascii() or not digits.isdigit() or len(digits) > 16:
        return 0
    return min(int(digits), _MAX_COUNT)

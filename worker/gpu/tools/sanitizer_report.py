"""The report of compute-sanitizer on a kernel, as data. Pure: text in, accesses out.

Its text is for people and differs a little between versions, so lines that are not understood are
passed over.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

_PREFIX = "========="
_INVALID = re.compile(r"Invalid __(\w+)__ (read|write|atomic)\w* of size ([\d,]{1,20})")
_UNINITIALIZED = re.compile(r"Uninitialized __(\w+)__ memory read of size ([\d,]{1,20})")
_RACE = re.compile(r"(?:Error|Warning): Race reported between (\w+) access\b(.*)")
_OTHER_SIDE = re.compile(r"and (\w+) access\b(.*)")
_AT = re.compile(r"\bin (\S{1,1000}):(\d{1,9})\b")
_BY = re.compile(r"by thread \([\d,]+\) in block \((\d{1,10}),(\d{1,10}),(\d{1,10})\)")
_ADDRESS = re.compile(r"(?:Access(?: to| at)?|Address) (0x[0-9a-f]{1,16})(?: is (misaligned))?")
_HAZARDS = re.compile(r"\[([\d,]{1,20}) hazards?\]")

Kind = Literal["out_of_bounds", "misaligned_access", "uninitialized", "race"]


@dataclass(frozen=True, slots=True)
class ReportedAccess:
    """One access of one thread, or one pair of lines that race; None where the tool is silent."""

    kind: Kind
    access: Literal["read", "write", "atomic"]
    space: str = "global"
    size_bytes: int = 0
    address: int | None = None
    path: str | None = None
    line: int | None = None
    block: tuple[int, int, int] | None = None
    other_access: str | None = None
    other_line: int | None = None
    count: int = 1


def read(text: str) -> list[ReportedAccess]:
    """Return every access that a report names, in its order."""
    return [access for record in _records(text) if (access := _reported(record)) is not None]


def _records(text: str) -> Iterator[list[str]]:
    """Yield the lines of every message, without the prefix: blank lines are between them."""
    record: list[str] = []
    for line in text.splitlines():
        if not line.startswith(_PREFIX):
            continue
        words = line.removeprefix(_PREFIX).strip()
        if words:
            record.append(words)
        elif record:
            yield record
            record = []
    if record:
        yield record


def _reported(record: list[str]) -> ReportedAccess | None:
    for index, line in enumerate(record):
        rest = record[index + 1 :]
        if match := _INVALID.search(line):
            space, access, size = match.groups()
            plain = ReportedAccess("out_of_bounds", _access(access), space, _number(size))
            return _with_place(plain, rest)
        if match := _UNINITIALIZED.search(line):
            space, size = match.groups()
            return _with_place(ReportedAccess("uninitialized", "read", space, _number(size)), rest)
        if match := _RACE.search(line):
            return _race(match.group(1), match.group(2), rest)
    return None


def _with_place(reported: ReportedAccess, lines: list[str]) -> ReportedAccess:
    for line in lines:
        if line.startswith("at ") and (match := _AT.search(line)):
            reported = replace(reported, path=match.group(1), line=int(match.group(2)))
        elif match := _BY.search(line):
            x, y, z = map(int, match.groups())
            reported = replace(reported, block=(x, y, z))
        elif match := _ADDRESS.search(line):
            reported = replace(reported, address=int(match.group(1), 16))
            if match.group(2):
                reported = replace(reported, kind="misaligned_access")
    return reported


def _race(access: str, where: str, lines: list[str]) -> ReportedAccess:
    reported = ReportedAccess("race", _access(access), "shared")
    if match := _AT.search(where):
        reported = replace(reported, path=match.group(1), line=int(match.group(2)))
    for line in lines:
        if match := _OTHER_SIDE.search(line):
            other = _AT.search(match.group(2))
            reported = replace(
                reported,
                other_access=_access(match.group(1)),
                other_line=int(other.group(2)) if other else None,
            )
        if match := _HAZARDS.search(line):
            reported = replace(reported, count=_number(match.group(1)))
            break
    return reported


def _access(word: str) -> Literal["read", "write", "atomic"]:
    match word.lower():
        case "read":
            return "read"
        case "write":
            return "write"
    return "atomic"


def _number(text: str) -> int:
    return int(text.replace(",", ""))

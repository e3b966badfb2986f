"""A module of Triton IR as plain records: operations, blocks, values. Knows nothing of its text.

Every value is one object, so that names which repeat in sibling regions cannot be confused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from compiler.diagnostic import KERNEL_FOLDER
from compiler.lines.source_location import InlineChain, SourceLocation

_MAX_QUOTE = 90


@dataclass(eq=False)
class Value:
    """A result of an operation or an argument of a block; `name` is the user's where MLIR kept it.

    `type` is MLIR's text of its type; `made_by` is None for block arguments. `path` is the path of
    a kernel's parameter, such as `t.0` for an item of a tuple, "" where it is not known.
    """

    name: str
    type: str = ""
    made_by: Operation | None = None
    path: str = ""


@dataclass(eq=False)
class Operation:
    """One operation; `attributes` are MLIR's texts by name, `successors` blocks with arguments.

    `chain` is its source location, innermost inlined call first; `locations` adds columns. `number`
    counts the operations of a module's text from 0; one that was not read from it has -1.
    """

    name: str
    operands: list[Value]
    results: list[Value] = field(default_factory=list)
    attributes: dict[str, str] = field(default_factory=dict)
    regions: list[list[IrBlock]] = field(default_factory=list)
    successors: list[tuple[str, list[Value]]] = field(default_factory=list)
    chain: InlineChain = ()
    locations: tuple[SourceLocation, ...] = ()
    number: int = -1

    def integer(self, name: str, default: int = 0) -> int:
        """Return an integer attribute (`3 : i32` is 3), `default` where there is none."""
        text = self.attributes.get(name)
        return default if text is None else int(text.split(" ", 1)[0])

    def text(self, name: str) -> str:
        """Return a string attribute without its quotes; "" where there is none."""
        return unquoted(self.attributes.get(name, '""'))

    def integers(self, name: str) -> list[int]:
        """Return an array attribute (`array<i32: 1, 0>` is [1, 0])."""
        inside = self.attributes.get(name, "").partition(":")[2].rstrip(">")
        return [int(part) for part in inside.split(",") if part.strip()]


@dataclass(eq=False)
class IrBlock:
    """Operations that run one after the other; the last one names the next block."""

    label: str
    arguments: list[Value] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)

    @property
    def end(self) -> Operation:
        """Return the terminator."""
        return self.operations[-1]


def inside(operation: Operation) -> Iterator[Operation]:
    """Yield the operations of all regions of `operation`, outer before inner."""
    pending = [operation]
    while pending:
        for region in pending.pop().regions:
            for block in region:
                for inner in block.operations:
                    yield inner
                    if inner.regions:
                        pending.append(inner)


def unquoted(text: str) -> str:
    r"""Return the value of an MLIR string: `"a\0Ab\22"` is `a`, a line feed, `b"`."""
    text = text.strip()
    if not text.startswith('"'):
        return text
    parts = text[1:-1].split("\\")
    content = bytearray(parts[0].encode())
    index = 1
    while index < len(parts):
        part = parts[index]
        if part == "" and index + 1 < len(parts):  # an escaped backslash
            content += b"\\" + parts[index + 1].encode()
            index += 2
            continue
        content += _escaped(part)
        index += 1
    return content.decode(errors="replace")


def _escaped(part: str) -> bytes:
    """Return the bytes of an escape; `part` follows the backslash."""
    try:
        return bytes([int(part[:2], 16)]) + part[2:].encode()
    except ValueError:
        known = {"n": b"\n", "t": b"\t"}
        return known.get(part[:1], part[:1].encode()) + part[1:].encode()


class UserLocations:
    """The user's `files`, by path, and what operations came from them."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._lines = {KERNEL_FOLDER + path: text.splitlines() for path, text in files.items()}

    def comment_on(self, operation: Operation) -> str:
        """Return `12: x = tl.load(x_ptr + offsets)`, or file and line for other files."""
        location = self.location_of(operation)
        if location is None:
            return ""
        quoted = self._quoted(location)
        file = location.file.rpartition("/")[2]
        where = f"{location.line}" if quoted and file == "user.py" else f"{file}:{location.line}"
        return _printable(f"{where}: {quoted}" if quoted else where)

    def words_of(self, operation: Operation) -> str:
        """Return the place of an operation, for a message."""
        location = self.location_of(operation)
        if location is None:
            return ""
        return _printable(f"{location.file.removeprefix(KERNEL_FOLDER)}, line {location.line}")

    def location_of(self, operation: Operation) -> SourceLocation | None:
        """Return the user's innermost line, else the innermost of all, `None` without any."""
        locations = operation.locations
        return self.users_own(operation) or (locations[0] if locations else None)

    def users_own(self, operation: Operation) -> SourceLocation | None:
        """Return the user's innermost line, `None` if there is none."""
        return next(
            (location for location in operation.locations if location.file in self._lines), None
        )

    def _quoted(self, location: SourceLocation) -> str:
        lines = self._lines.get(location.file, [])
        return lines[location.line - 1].strip()[:_MAX_QUOTE] if location.line <= len(lines) else ""


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in text)

"""The location of an operation in the user's files, and its text form."""

from collections.abc import Mapping

from compiler.diagnostic import KERNEL_FOLDER
from compiler.lines.source_location import SourceLocation
from compiler.ttir_to_numpy.ir import Operation

_MAX_QUOTE = 90


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

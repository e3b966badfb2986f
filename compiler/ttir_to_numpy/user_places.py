"""The location of an operation in the user's files, and its text form."""

from collections.abc import Mapping

from compiler.diagnostic import KERNEL_FOLDER
from compiler.lines.place import Spot
from compiler.ttir_to_numpy.ir import Operation

_LONGEST_QUOTE = 90


class UserPlaces:
    """The user's `files`, by path, and what operations came from them."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._lines = {KERNEL_FOLDER + path: text.splitlines() for path, text in files.items()}

    def comment_on(self, operation: Operation) -> str:
        """Return `12: x = tl.load(x_ptr + offsets)`, or file and line for other files."""
        place = self.place_of(operation)
        if place is None:
            return ""
        quoted = self._quoted(place)
        file = place.file.rpartition("/")[2]
        where = f"{place.line}" if quoted and file == "user.py" else f"{file}:{place.line}"
        return _printable(f"{where}: {quoted}" if quoted else where)

    def words_of(self, operation: Operation) -> str:
        """Return where an operation stands, for a message."""
        place = self.place_of(operation)
        if place is None:
            return ""
        return _printable(f"{place.file.removeprefix(KERNEL_FOLDER)}, line {place.line}")

    def place_of(self, operation: Operation) -> Spot | None:
        """Return the user's innermost line, else the innermost of all, `None` without any."""
        spots = operation.spots
        return self.users_own(operation) or (spots[0] if spots else None)

    def users_own(self, operation: Operation) -> Spot | None:
        """Return the user's innermost line, `None` if there is none."""
        return next((spot for spot in operation.spots if spot.file in self._lines), None)

    def _quoted(self, place: Spot) -> str:
        lines = self._lines.get(place.file, [])
        return lines[place.line - 1].strip()[:_LONGEST_QUOTE] if place.line <= len(lines) else ""


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in text)

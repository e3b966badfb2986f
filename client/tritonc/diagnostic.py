"""Problems and diagnostics: errors in a request or a source, as reported by the service.

Problems follow RFC 9457, as the body of an error or inside a result. The service sends excerpts
of sources complete with the caret line; no source is read here.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from tritonc.members import read_members

# C0 except tab and newline, DEL, C1; direction and line separators; surrogates
_POSTED_FILE = re.compile(rb'(//## File|inlined at) "(?:/kernel/)?(user\.(?:py|ttir|ttgir))", line')
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
POSTED_SOURCE = "user.py"  # the service's name for the posted source
POSTED_REFERENCE = "reference.py"  # the service's name for the text of a reference
POSTED_IR = ("user.ttir", "user.ttgir")  # the service's names for posted IR
IR_SUFFIXES = frozenset({".ttir", ".ttgir", ".mlir"})
_POSTED_LINE = re.compile(r"\buser\.(?:py|ttir|ttgir)(?=:\d)")


@dataclass(frozen=True, slots=True)
class FieldError:
    """One error in a request: `pointer` is the JSON pointer of the wrong member."""

    pointer: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """The reason for a failure. Decide by `slug` and `reason`; `title` and `detail` are for people.

    `raw` is the received object. docs/reference/errors.md has all slugs.
    """

    slug: str = ""
    title: str = ""
    detail: str = ""
    status: int | None = None
    errors: tuple[FieldError, ...] = ()
    reason: str | None = None
    """A finer word than `slug`, of a closed list; None without one."""
    fault: str | None = None
    """`request`, `source` or `service`: the part that has to change; None if unknown."""
    retryable: bool | None = None
    """True if the same request may work later; None if unknown."""
    file: str | None = None
    line: int | None = None
    parameter: str | None = None
    needs: tuple[str, ...] = ()
    """Of `missing_module`: the modules to post in `files`, or to list in `absent`."""
    raw: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "Problem":
        """Parse a problem; missing members become empty, unknown ones stay in `raw`."""
        errors = tuple(read_members(FieldError, error) for error in body.get("errors") or ())
        return read_members(cls, body, errors=errors, raw=body)

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "Problem | None":
        """Parse the member `problem` of a result."""
        problem = body.get("problem")
        return None if problem is None else cls.from_json(problem)

    def __str__(self) -> str:
        """Return the detail, then one indented line for each error of the request."""
        headline = self.detail or self.title or self.slug or "no reason given"
        errors = [f"{error.pointer or '/'}: {error.message}" for error in self.errors]
        return "\n  ".join([headline, *(error for error in errors if error not in headline)])


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message; lines and columns count from 1, and are None if unknown.

    `severity` is error, warning or note, and `stage` the step that reported it; newer services
    may send other values.
    """

    severity: str = "error"
    stage: str = ""
    message: str = ""
    hint: str | None = None
    file: str | None = None
    line: int | None = None
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    excerpt: str | None = None

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "Diagnostic":
        """Parse a diagnostic; unknown members are ignored."""
        return read_members(cls, body)

    def render(self, source_name: str = POSTED_SOURCE) -> str:
        """Return `file:line:column: severity: message`, the excerpt and the hint.

        `source_name` replaces the name of the posted source, so that editors find the file.
        """
        message = with_own_lines(self.message.rstrip(), source_name)
        lines = [f"{self._place(source_name)}: {self.severity}: {message}"]
        if self.excerpt:
            lines += [f"    {line}" for line in self.excerpt.rstrip("\n").split("\n")]
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return printable("\n".join(lines))

    def _place(self, source_name: str) -> str:
        if self.file is None:
            return self.stage or "tritond"
        name = posted_names(source_name).get(self.file, self.file)
        return ":".join([name, *(str(n) for n in (self.line, self.column) if n is not None)])


def posted_names(name: str) -> dict[str, str]:
    """Return the user's `name` by the service's names of a posted file.

    If `name` is a file of IR, `user.py` is not among them: its lines are those of the Python
    source that the IR was made from.
    """
    is_ir = PurePath(name).suffix in IR_SUFFIXES
    return dict.fromkeys(POSTED_IR if is_ir else (POSTED_SOURCE, *POSTED_IR), name)


def with_own_lines(message: str, name: str) -> str:
    """Return a message whose places are lines of the user's file `name`."""
    names = posted_names(name)
    return _POSTED_LINE.sub(lambda at: names.get(at[0], at[0]), message)


def render_all(diagnostics: Iterable[Diagnostic], source_name: str = POSTED_SOURCE) -> str:
    """Return the diagnostics in order, separated by newlines."""
    return "\n".join(diagnostic.render(source_name) for diagnostic in diagnostics)


def with_own_name(sass: bytes, name: str) -> bytes:
    """Return disassembly whose line comments name the user's file instead of the posted one."""
    if not name or not name.isprintable() or '"' in name:
        return sass
    names = posted_names(name)

    def renamed(comment: re.Match[bytes]) -> bytes:
        if (own := names.get(comment[2].decode())) is None:
            return comment[0]
        return comment[1] + f' "{own}", line'.encode()

    return _POSTED_FILE.sub(renamed, sass)


def printable(text: str) -> str:
    r"""Return `text` with control characters escaped, so that it cannot control a terminal.

    ESC becomes `\x1b`. Characters that change the writing direction, and surrogates, are escaped.
    """
    return _UNPRINTABLE.sub(lambda match: _escaped(match[0]), text)


def printable_json(text: str) -> str:
    r"""Return JSON with the same characters escaped as JSON, such as `\u001b`; it stays valid."""
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"

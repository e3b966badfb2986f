"""What is wrong with a request or a source, as the service reports it: problems, diagnostics.

Problems are those of RFC 9457, as the body of an error answer or inside a result. Excerpts of
sources come ready from the service, caret line included; no source is read here.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

# C0 but tab and newline, DEL, C1; what turns the direction of writing or breaks lines; surrogates
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
POSTED_SOURCE = "user.py"  # the name that the service gives to the posted source


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with a request: `pointer` is the JSON pointer of the offending member."""

    pointer: str
    message: str


@dataclass(frozen=True, slots=True)
class Problem:
    """What went wrong. `slug` is for programs, `title` and `detail` are for people.

    `retryable` is None where the service does not say. `raw` is the object as received.
    """

    slug: str
    title: str
    detail: str
    status: int | None
    errors: tuple[Fault, ...]
    retryable: bool | None
    raw: Mapping[str, Any]

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "Problem":
        """Read a problem; members that are missing become empty, unknown ones stay in `raw`."""
        errors = body.get("errors") or ()
        return cls(
            slug=body.get("slug") or "",
            title=body.get("title") or "",
            detail=body.get("detail") or "",
            status=body.get("status"),
            errors=tuple(Fault(e.get("pointer") or "", e.get("message") or "") for e in errors),
            retryable=body.get("retryable"),
            raw=body,
        )

    def __str__(self) -> str:
        """Return the detail, then one indented line for each fault of the request."""
        headline = self.detail or self.title or self.slug or "no reason given"
        faults = [f"{fault.pointer or '/'}: {fault.message}" for fault in self.errors]
        return "\n  ".join([headline, *(fault for fault in faults if fault not in headline)])


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message; lines and columns count from 1, and are None where the place is unknown.

    `severity` is error, warning or note and `stage` the step that found it; both may take values
    that are newer than this client.
    """

    severity: str
    stage: str
    message: str
    hint: str | None = None
    file: str | None = None
    line: int | None = None
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    excerpt: str | None = None

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "Diagnostic":
        """Read a diagnostic; unknown members are left out."""
        known = {field.name: body[field.name] for field in fields(cls) if field.name in body}
        return cls(**{"severity": "error", "stage": "", "message": ""} | known)

    def render(self, source_name: str = POSTED_SOURCE) -> str:
        """Return `file:line:column: severity: message`, the excerpt and the hint.

        The posted source is called `source_name`, so that editors find the file it came from.
        """
        lines = [f"{self._place(source_name)}: {self.severity}: {self.message.rstrip()}"]
        if self.excerpt:
            lines += [f"    {line}" for line in self.excerpt.rstrip("\n").split("\n")]
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return printable("\n".join(lines))

    def _place(self, source_name: str) -> str:
        if self.file is None:
            return self.stage or "tritond"
        name = source_name if self.file == POSTED_SOURCE else self.file
        return ":".join([name, *(str(n) for n in (self.line, self.column) if n is not None)])


def render_all(diagnostics: Iterable[Diagnostic], source_name: str = POSTED_SOURCE) -> str:
    """Return the diagnostics in their order, one below the other."""
    return "\n".join(diagnostic.render(source_name) for diagnostic in diagnostics)


def printable(text: str) -> str:
    r"""Return `text` with control characters as Python writes them: no stranger drives a terminal.

    So `\x1b` for ESC. Nor may a text turn the direction of writing, or be what no encoding has.
    """
    return _UNPRINTABLE.sub(lambda match: _escaped(match[0]), text)


def printable_json(text: str) -> str:
    r"""Return JSON with the same characters escaped as JSON does: `\u001b`; it stays JSON."""
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"

"""Compile results in Compiler Explorer's shape: lines of text with their source locations."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, Field

from compiler.diagnostic import USER_FILE, Diagnostic
from compiler.stages import BY_NAME, Syntax

FAILED = "<Compilation failed>"
_SEVERITY = {"note": 1, "warning": 2, "error": 3}
COMMENTS: dict[Syntax, str] = {
    "mlir": "//", "llvm": ";", "ptx": "//", "sass": "//", "amdgcn": ";", "python": "#"
}  # fmt: skip
DEBUG_DIRECTIVES: dict[Syntax, re.Pattern[str]] = {
    "ptx": re.compile(r"\s*\.(?:loc|file)\b"),
    "amdgcn": re.compile(r"\s*\.(?:loc|file|cfi_\w+|ident|addrsig)\b"),
    "mlir": re.compile(r"#loc\d*(?:\b|\()"),
    "llvm": re.compile(r"!\d+ = "),
}


class SourcePlace(BaseModel):
    """The source location of an output line; `file` is null for the posted source."""

    file: str | None
    line: int


class AssemblyLine(BaseModel):
    """One line of the requested stage."""

    text: str
    source: SourcePlace | None = None


class Tag(BaseModel):
    """The location in one line of `stderr`; `severity` is 3 for an error, 2 for a warning."""

    line: int
    column: int
    text: str
    severity: int
    file: str | None = None
    endline: int | None = None
    endcolumn: int | None = None


class OutputLine(BaseModel):
    """One line of `stdout` or `stderr`."""

    text: str
    tag: Tag | None = None


class CompileResult(BaseModel):
    """The result of one compilation; `code` is 0 with assembly, -1 while it is running."""

    code: int
    okToCache: bool = True  # noqa: N815 - Compiler Explorer's names
    timedOut: bool = False  # noqa: N815
    truncated: bool = False
    stdout: list[OutputLine] = Field(default_factory=list)
    stderr: list[OutputLine] = Field(default_factory=list)
    asm: list[AssemblyLine] = Field(default_factory=lambda: [AssemblyLine(text=FAILED)])
    labelDefinitions: dict[str, int] = Field(default_factory=dict)  # noqa: N815
    tools: list[Any] = Field(default_factory=list)
    compilation: str | None = Field(
        default=None, description="URL of the compilation in this service's own API"
    )

    @property
    def as_text(self) -> str:
        """The answer as plain text: the assembly, or the errors as comments."""
        messages = [f"# {line.text}" for line in (*self.stdout, *self.stderr)]
        return "\n".join([*messages, *(line.text for line in self.asm)]) + "\n"


def failed(*messages: str, line: int | None = None) -> CompileResult:
    """Return the result of a request that could not be compiled."""
    return CompileResult(code=1, stderr=[_error(message, line) for message in messages])


def plain_lines(text: str) -> list[OutputLine]:
    """Return `text` as lines without locations."""
    return [OutputLine(text=line) for line in text.splitlines()]


def output_lines(diagnostics: Iterable[Diagnostic]) -> list[OutputLine]:
    """Return diagnostics as a compiler prints them: location and message, excerpt, hint."""
    lines = []
    for item in diagnostics:
        lines.append(_output_line(item))
        lines += plain_lines(item.excerpt or "")
        lines += plain_lines(f"hint: {item.hint}" if item.hint else "")
    return lines


def assembly(
    text: str, stage: str, sources: Mapping[int, SourcePlace], filters: Mapping[str, Any]
) -> list[AssemblyLine]:
    """Return the lines of `text` that pass `filters`, each with its location.

    `sources` are by line, from 1. `commentOnly` leaves out comments, `directives`
    debug information.
    """
    kept: list[AssemblyLine] = []
    for number, line in enumerate(_code(text, stage, filters), start=1):
        if line is not None:
            kept.append(AssemblyLine(text=line, source=sources.get(number)))
    return kept


def sources_of(rows: Sequence[Mapping[str, Any]], stage: str) -> dict[int, SourcePlace]:
    """Return the location of each line of `stage`, from the table of `GET .../lines`.

    A line that stems from several source lines gets the one with the fewest lines, which is the
    innermost.
    """
    places: dict[int, SourcePlace] = {}
    for row in sorted(rows, key=lambda row: len(row.get(stage, ()))):
        file = None if row["file"] == USER_FILE else row["file"]
        for number in row.get(stage, ()):
            places.setdefault(number, SourcePlace(file=file, line=row["line"]))
    return places


def _code(text: str, stage: str, filters: Mapping[str, Any]) -> Iterable[str | None]:
    """Yield each line, None for omitted ones."""
    comment = COMMENTS.get(BY_NAME[stage].syntax) if filters.get("commentOnly") else None
    debug = DEBUG_DIRECTIVES.get(BY_NAME[stage].syntax) if filters.get("directives") else None
    in_debug_section = False
    for line in text.splitlines():
        if debug and stage == "ptx" and line.lstrip().startswith(".section"):
            in_debug_section = True
        is_out = in_debug_section or bool(
            (comment and line.lstrip().startswith(comment)) or (debug and debug.match(line))
        )
        if in_debug_section and line.rstrip().endswith("}"):
            in_debug_section = False
        yield None if is_out else line


def _output_line(item: Diagnostic) -> OutputLine:
    message = f"{item.severity}: {item.message}"
    if item.line is None:
        return OutputLine(text=message)
    file = "<source>" if item.file in {None, USER_FILE} else item.file
    column = item.column or 1
    tag = Tag(
        line=item.line,
        column=column,
        text=message,
        severity=_SEVERITY[item.severity],
        file=None if file == "<source>" else file,
        endline=item.end_line,
        endcolumn=item.end_column,
    )
    return OutputLine(text=f"{file}:{item.line}:{column}: {message}", tag=tag)


def _error(message: str, line: int | None) -> OutputLine:
    return _output_line(Diagnostic(severity="error", stage="request", message=message, line=line))

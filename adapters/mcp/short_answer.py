"""The text that a tool answers: bounded, with source locations and the next step.

A token of code is two to four bytes, so `MAX_BYTES` is less than 2,000 tokens.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

MAX_BYTES = 4000
_NOTE_BYTES = 100
_MESSAGE_CHARS = 600
_MOST_ERRORS = 5


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """The answer of a tool; `is_refusal` for an impossible request."""

    text: str
    is_refusal: bool = False


def answer(*parts: str, next_step: str | None = None, is_refusal: bool = False) -> ToolAnswer:
    """Return `parts` as lines; the next step is last and is never cut."""
    step = f"\nNext: {next_step}" if next_step else ""
    text = "\n".join(part for part in parts if part)
    return ToolAnswer(cut(text, MAX_BYTES - len(step.encode())) + step, is_refusal)


def cut(text: str, most_bytes: int) -> str:
    """Return the first lines of `text`, and the number of missing bytes."""
    data = text.encode(errors="replace")
    if len(data) <= most_bytes:
        return data.decode()
    kept = data[: max(most_bytes - _NOTE_BYTES, 0)]
    kept = kept[: kept.rfind(b"\n")] if b"\n" in kept else kept
    return f"{kept.decode(errors='ignore')}\n… [{len(data) - len(kept)} more bytes]"


def refused(problem: Mapping[str, Any]) -> ToolAnswer:
    """Return the answer for a problem of the API: each wrong field, and the next step."""
    errors = problem.get("errors") or []
    fields = [f"{item['pointer'] or 'the body'}: {item['message']}" for item in errors]
    said = fields or [str(problem["detail"])]
    step = {
        "not_finished": "ask again; the work continues meanwhile",
        "queue_full": "ask again in a few seconds",
        "too_many_requests": "ask again in a few seconds",
        "store_unavailable": "ask again in a few seconds",
        "no_toolchain": "ask again in a few seconds",
        "not_found": "check the key; a compilation that left the cache must be compiled again",
        "evicted": "compile it again",
        "internal_error": "this is an error of the service; report it to the operator",
        "stopping": "ask again in a few seconds",
        "forbidden": "ask the operator for an API key with this scope",
    }.get(problem["slug"], "fix the arguments as described above, and ask again")
    parts = [_short(line) for line in said[:_MOST_ERRORS]]
    return answer(f"Refused: {problem['title']}.", *parts, next_step=step, is_refusal=True)


def diagnosed(diagnostics: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the first errors and warnings with location, excerpt and hint."""
    items = sorted(diagnostics, key=lambda item: item["severity"] != "error")
    lines = []
    for item in items[:_MOST_ERRORS]:
        place = f"{item['file']}:{item['line']}:{item['column']}: " if item["line"] else ""
        lines.append(place + f"{item['severity']}: {_short(item['message'])}")
        if item.get("excerpt"):
            lines.append(_short(item["excerpt"]))
        if item.get("hint"):
            lines.append(f"hint: {_short(item['hint'])}")
    if len(items) > _MOST_ERRORS:
        lines.append(f"… and {len(items) - _MOST_ERRORS} more")
    return lines


def numbered(text: str, first_line: int) -> str:
    """Return the lines of `text` from `first_line` on (from 1), with line numbers."""
    lines = text.splitlines()
    shown = lines[first_line - 1 :]
    return "\n".join(f"{number}: {line}" for number, line in enumerate(shown, start=first_line))


def _short(text: str) -> str:
    return text if len(text) <= _MESSAGE_CHARS else f"{text[:_MESSAGE_CHARS]}…"

"""The answer of a tool: a bounded text, and the same facts as structured content.

The text is the summary, the next step, and then the requested text. A token of code is two to four
bytes, so `MAX_BYTES` is less than 2,000 tokens.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, Field

from adapters.mcp.remedies import short, wrong_arguments

MAX_BYTES = 4000
MAX_FACTS_BYTES = 64 << 10
_STEP = re.compile(r"(?m)^(?=[ \t]*Next:)")
_OF_GRIDS_VALUE = re.compile(r" where \w+ = .*; dimension [xyz] |, not an integer$")
_NOTE_BYTES = 100
MAX_ERRORS = 5
HINT = "hint: "


class WrongArgument(BaseModel):
    """An argument of a tool that has to change."""

    argument: str = Field(description="such as constexprs.BLOCK_SIZE")
    message: str


class ToolOutput(BaseModel):
    """The structured content of every tool; members that do not apply are null."""

    summary: str
    next: str | None = Field(description="the next step")
    state: str | None = Field(default=None, description="of the compilation or run")
    verdict: str | None = Field(default=None, description="of a launch or program")
    key: str | None = Field(default=None, description="of the compilation")
    id: str | None = Field(default=None, description="of the run or proof")
    fault: str | None = Field(
        default=None,
        description="the part to change: request (an argument of the tool), source, or service "
        "(ask again)",
    )
    slug: str | None = Field(default=None, description="of the problem")
    line: int | None = Field(default=None, description="of the source, that the problem is about")
    arguments: list[WrongArgument] | None = Field(
        default=None, description="arguments that have to change"
    )
    diagnostics: list[dict[str, Any]] | None = None
    resources: dict[str, Any] | None = None
    findings: list[dict[str, Any]] | None = None
    rows: list[dict[str, Any]] | None = Field(default=None, description="of a sweep")


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """The answer of a tool; `is_refusal` for an impossible request."""

    text: str
    is_refusal: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)
    """The members of `ToolOutput`."""


def answer(
    *parts: str,
    next_step: str | None = None,
    text: str = "",
    is_refusal: bool = False,
    **facts: Any,
) -> ToolAnswer:
    """Return `parts` as lines, the next step, which is never cut, and then `text`.

    A hint that the next step repeats is not among the lines.
    """
    step = f"\nNext: {next_step}" if next_step else ""
    shown = (
        part
        for part in parts
        if part and not (part.startswith(HINT) and part.removeprefix(HINT) in (next_step or ""))
    )
    whole = _quoted("\n".join(shown))
    summary = cut(whole, MAX_BYTES - len(step.encode()))
    whole_text = summary + step
    if text:
        whole_text += "\n\n" + cut(_quoted(text), MAX_BYTES - len(whole_text.encode()) - 2)
    output = ToolOutput(summary=summary, next=next_step, **facts)
    return ToolAnswer(whole_text, is_refusal, _bounded(output.model_dump(mode="json")))


def _quoted(text: str) -> str:
    """Return a text of which no line looks like our next step: it may be a source's message."""
    return _STEP.sub("> ", text)


def _bounded(facts: dict[str, Any]) -> dict[str, Any]:
    """Return facts of at most `MAX_FACTS_BYTES`: the longest lists lose their last items."""
    while len(json.dumps(facts)) > MAX_FACTS_BYTES:
        lists = [name for name, value in facts.items() if isinstance(value, list) and value]
        if not lists:
            return {name: facts[name] for name in ("summary", "next")}
        longest = max(lists, key=lambda name: len(json.dumps(facts[name])))
        facts[longest] = facts[longest][: len(facts[longest]) // 2]
    return facts


def cut(text: str, most_bytes: int) -> str:
    """Return the first lines of `text`, and the number of missing bytes."""
    data = text.encode(errors="replace")
    if len(data) <= most_bytes:
        return data.decode()
    kept = data[: max(most_bytes - _NOTE_BYTES, 0)]
    kept = kept[: kept.rfind(b"\n")] if b"\n" in kept else kept
    return f"{kept.decode(errors='ignore')}\n… [{len(data) - len(kept)} more bytes]"


def refused(problem: Mapping[str, Any]) -> ToolAnswer:
    """Return the answer for a problem of the API: each wrong argument, and the next step."""
    errors = problem.get("errors") or []
    wrong = wrong_arguments(problem)[:MAX_ERRORS]
    messages = [f"{name}: {message}" for name, message in wrong] or [str(problem["detail"])]
    named = ", ".join(dict.fromkeys(f"`{name}`" for name, _ in wrong))
    step = {
        "not_finished": "ask again; the work continues meanwhile",
        "not_found": "check the key; a compilation that left the cache must be compiled again",
        "evicted": "compile it again",
        "internal_error": "this is an error of the service; report it to the operator",
        "forbidden": "ask the operator for an API key with this scope",
    }.get(problem["slug"])
    if step is None and problem["retryable"]:
        step = "ask again in a few seconds"
    elif step is None and any(item["pointer"].startswith("/device") for item in errors):
        step = "leave out `target` to run it on the CPU device, or change it as described above"
    elif step is None:
        if any(_OF_GRIDS_VALUE.search(item["message"]) for item in errors):
            named += ", or the values in it,"
        step = f"change {named or 'the arguments'} as described above, and ask again"
    return answer(
        f"Refused: {problem['title']}.",
        *(short(line) for line in messages),
        next_step=step,
        is_refusal=True,
        fault=problem["fault"],
        slug=problem["slug"],
        arguments=[{"argument": name, "message": short(message)} for name, message in wrong],
    )


def diagnosed(diagnostics: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the first errors and warnings with location, excerpt and hint."""
    items = sorted(diagnostics, key=lambda item: item["severity"] != "error")
    lines = []
    for item in items[:MAX_ERRORS]:
        where = [item["file"], item["line"], item["column"]] if item["line"] else []
        place = ":".join(str(word) for word in where if word is not None)
        place += ": " if place else ""
        lines.append(place + f"{item['severity']}: {short(item['message'])}")
        if item.get("excerpt"):
            lines.append(short(item["excerpt"]))
        if item.get("hint"):
            lines.append(HINT + short(item["hint"]))
    if len(items) > MAX_ERRORS:
        lines.append(f"… and {len(items) - MAX_ERRORS} more")
    return lines


def short_diagnostics(diagnostics: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the first errors and warnings as structured content."""
    members = ("severity", "message", "hint", "file", "line", "column")
    items = sorted(diagnostics, key=lambda item: item["severity"] != "error")
    return [
        {name: short(item[name]) if isinstance(item[name], str) else item[name] for name in members}
        for item in items[:MAX_ERRORS]
    ]


def numbered(text: str, first_line: int) -> str:
    """Return the lines of `text` from `first_line` on (from 1), with line numbers."""
    lines = text.splitlines()
    shown = lines[first_line - 1 :]
    return "\n".join(f"{number}: {line}" for number, line in enumerate(shown, start=first_line))

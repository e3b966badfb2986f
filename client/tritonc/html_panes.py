"""The HTML of compilations and launches for notebooks.

It contains no scripts and no URLs, and all text of users and services is escaped.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from tritonc.diagnostic import printable

MAX_LINES = 2000
MAX_ACCESSES = 200
_MAX_CHARS = 60
_PRE = "margin:0;max-height:24em;overflow:auto;line-height:1.3"
_GUTTER = "display:inline-block;min-width:4em;opacity:0.6;user-select:none"


@dataclass(frozen=True, slots=True)
class Shown:
    """A cell's output: `html` in a notebook, `text` elsewhere."""

    text: str
    html: str

    def _repr_html_(self) -> str:
        return framed(self.html)

    def __repr__(self) -> str:
        return self.text


def framed(*panes: str) -> str:
    """Return panes, one below the other."""
    return f'<div class="tritonc">{"".join(panes)}</div>'


def cells_pane(heads: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    """Return a table of texts."""
    head = "".join(f'<th scope="col">{_text(text)}</th>' for text in heads)
    rows = "".join(_row(row) for row in cells[:MAX_LINES])
    body = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return body + (f"<p>{len(cells) - MAX_LINES} more</p>" if len(cells) > MAX_LINES else "")


def plain(text: str, *, is_good: bool) -> str:
    """Return a text unchanged, marked as good or not."""
    color = "seagreen" if is_good else "crimson"
    return (
        f'<pre style="{_PRE};border-left:3px solid {color};padding-left:0.6em">{_text(text)}</pre>'
    )


def pane(title: str, text: str, sources: Mapping[int, Sequence[int]], *, is_open: bool) -> str:
    """Return the text of a stage, collapsed or not.

    Each line is prefixed by the lines of the cell that it stems from, as given by `sources`.
    """
    lines = text.splitlines()
    rows = [
        f'<span style="{_GUTTER}">{_numbers(sources.get(number, ()))}</span>{_text(line)}'
        for number, line in enumerate(lines[:MAX_LINES], start=1)
    ]
    if len(lines) > MAX_LINES:
        rows.append(f"… {len(lines) - MAX_LINES} more lines")
    body = f'<pre style="{_PRE}">' + "\n".join(rows) + "</pre>"
    return _folded(f"{title} ({len(lines)} lines)", body, is_open=is_open)


def accesses(trace: Mapping[str, Any]) -> str:
    """Return the loads and stores of a trace, in order, as a table."""
    columns = ("step", "program", "line", "op", "argument", "indices", "mask")
    listed = trace.get("accesses") or []
    head = "".join(f'<th scope="col">{column}</th>' for column in columns)
    rows = "".join(
        _row(access.get(column) for column in columns) for access in listed[:MAX_ACCESSES]
    )
    body = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    if len(listed) > MAX_ACCESSES or trace.get("truncated"):
        body += f"<p>Only the first {min(len(listed), MAX_ACCESSES)} are shown.</p>"
    return _folded(f"trace ({len(listed)} accesses)", body, is_open=True)


def _text(text: str) -> str:
    return escape(printable(text))


def _row(values: Iterable[Any]) -> str:
    return "<tr>" + "".join(f"<td>{_text(_short(value))}</td>" for value in values) + "</tr>"


def _short(value: Any) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= _MAX_CHARS else f"{text[:_MAX_CHARS]}…"


def _numbers(lines: Sequence[int]) -> str:
    return ",".join(str(int(line)) for line in lines[:3])


def _folded(title: str, body: str, *, is_open: bool) -> str:
    opened = " open" if is_open else ""
    return f"<details{opened}><summary>{_text(title)}</summary>{body}</details>"

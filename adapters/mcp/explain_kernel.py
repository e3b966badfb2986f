"""The costs of a compiled kernel: its costly lines, and findings in its stages."""

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import Request

from adapters.mcp.short_answer import ToolAnswer, answer, diagnosed
from service.adapter_host import host_of
from service.http.inner_request import ask_itself

MAX_LINES, MAX_FINDINGS = 5, 4
_SPILL = "local"
"""The class of instructions that spill registers."""
_KINDS = ("matrix_products", "not_vectorised", "uncoalesced", "layout_conversions")


async def explain_kernel(
    request: Request, found: Mapping[str, Any], head: str, resources: str, facts: Mapping[str, Any]
) -> ToolAnswer:
    """Return the answer on a compilation that succeeded, as far as its stages show it."""
    key = found["key"]
    counts = await _derived(request, key, "instructions")
    explained = await _derived(request, key, "explanation")
    findings = list(_findings(explained))
    text = "\n".join([*_costly_lines(counts), *map(_line, findings)])
    step = (
        "sweep options.num_warps, options.num_stages, options.maxnreg or smaller blocks; compare "
        "two keys; or name a line of the source to see its output"
    )
    warnings = diagnosed(found["diagnostics"])
    return answer(
        head, resources, *warnings, next_step=step, text=text, findings=findings or None, **facts
    )


async def _derived(request: Request, key: str, what: str) -> dict[str, Any]:
    """Return a derivation of a compilation, nothing where it cannot be, or not in time."""
    path = f"/v1/compilations/{key}/{what}"
    asked = await ask_itself(request, "GET", path, query={"wait": host_of(request).max_wait_s})
    if asked.is_problem or asked.status == HTTPStatus.ACCEPTED:
        return {}
    found: dict[str, Any] = asked.json
    return found


def _costly_lines(counts: Mapping[str, Any]) -> Iterator[str]:
    rows = [row for row in counts.get("by_line") or () if row["line"] is not None]
    rows.sort(key=lambda row: (-row["by_class"].get(_SPILL, 0), -row["total"]))
    for row in rows[:MAX_LINES]:
        classes = ", ".join(f"{kind} {count}" for kind, count in row["by_class"].items() if count)
        spilled = f" ({row['local_bytes']} bytes local)" if row["local_bytes"] else ""
        yield f"{row['file']}:{row['line']}: {row['total']} instructions: {classes}{spilled}"


def _findings(explained: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for kind in _KINDS:
        for item in explained.get(kind, ())[:MAX_FINDINGS]:
            yield {"kind": kind, **{name: item[name] for name in ("file", "line", "message")}}
    if message := explained.get("tma", {}).get("message"):
        yield {"kind": "tma", "file": None, "line": None, "message": message}


def _line(finding: Mapping[str, Any]) -> str:
    place = f"{finding['file']}:{finding['line']}: " if finding["line"] is not None else ""
    return f"{place}{finding['message']}"

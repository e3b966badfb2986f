"""The tool that compiles many variants of a kernel and answers the best rows of their table."""

from collections.abc import Mapping
from typing import Any

from fastapi import Request

from adapters.mcp import short_forms
from adapters.mcp.assumed_values import chosen_kernel, completed_of
from adapters.mcp.remedies import remedy, short
from adapters.mcp.short_answer import ToolAnswer, answer, refused
from adapters.mcp.tool_arguments import SweepArguments
from service.adapter_host import host_of
from service.http.inner_request import ask_itself

SWEEPS = "/v1/sweeps"
MAX_ROWS = 12
_NUMBERS = ("registers", "spill_store_bytes", "shared_bytes", "occupancy")


async def sweep(request: Request, arguments: SweepArguments) -> ToolAnswer:
    """Compile a kernel with all combinations of some values, and return the first rows.

    Types and values that neither the arguments nor the axes give are assumed.
    """
    members = arguments.model_dump(exclude_none=True)
    base = {name: members[name] for name in members if name not in {"space", "where", "sort"}}
    axes = short_forms.axes(arguments.space)
    assumes = ""
    if (kernel := await chosen_kernel(request, base)) is not None:
        swept = {name.rpartition(".")[2] for name in axes}
        base, assumes = completed_of(kernel, base, swept=swept) or (base, "")
    body = {"base": base, "space": {"product": axes}, "where": arguments.where}
    query: dict[str, str | int | float] = {
        "wait": host_of(request).max_wait_s,
        "sort": arguments.sort,
        "limit": MAX_ROWS,
    }
    asked = await ask_itself(request, "POST", SWEEPS, body, query)
    return refused(asked.json) if asked.is_problem else sweep_answer(asked, assumes)


def sweep_answer(asked: Any, assumes: str = "") -> ToolAnswer:
    """Return the answer for a sweep, with the rows that were asked for."""
    document = asked.json
    counts = ", ".join(f"{count} {state}" for state, count in document["counts"].items())
    head = f"sweep {document['id']}: {document['state']}, {counts}"
    facts = {
        "state": document["state"],
        "key": document["id"],
        "rows": list(map(_row, document["rows"])),
    }
    if document["state"] in {"queued", "running"}:
        step = f"explain with the key {document['id']}; the sweep continues"
        return answer(head, assumes, next_step=step, **facts)
    text = "\n".join(map(_line, document["rows"]))
    problem = next((row["problem"] for row in document["rows"]), None)
    if not document["counts"].get("succeeded") and problem is not None:
        step = remedy(problem, {}, "sweep")
        facts |= {name: problem[name] for name in ("fault", "slug", "line")}
    else:
        step = "launch the best variants with timing on a GPU, or explain one by its key"
    return answer(head, assumes, next_step=step, text=text, **facts)


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    problem = row["problem"]
    return {
        "values": row["values"],
        "state": row["state"],
        "key": row["compilation_key"],
        **{name: row[name] for name in _NUMBERS},
        "problem": short(problem["detail"]) if problem else None,
    }


def _line(row: Mapping[str, Any]) -> str:
    values = ", ".join(f"{name}={value}" for name, value in row["values"].items())
    numbers = [f"{name} {row[name]}" for name in _NUMBERS if row[name] is not None]
    problem = row["problem"]
    result = short(problem["detail"]) if problem else ", ".join(numbers)
    return f"{values}: {row['state']}: {result} (key {row['compilation_key']})"

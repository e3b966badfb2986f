"""Parts of `tritonc launch`'s report after the verdict: output values and memory accesses."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tritonc.cli.terminal import TextTable, table
from tritonc.diagnostic import posted_names
from tritonc.launch import Launch
from tritonc.launch_run import Output, Run

EDGE, MAX_SHOWN = 3, 1000  # as NumPy elides arrays; --json has all values


def values(launch: Launch, names: Sequence[str]) -> str:
    """Return all values of the outputs `names`, for each case that ran."""
    runs: Sequence[Run | Launch] = launch.cases or (launch,)
    lines: list[str] = []
    for index, run in enumerate(runs):
        case = f"case {index}: " if launch.cases else ""
        for name in names:
            if name in run.outputs:
                lines += _output(f"{case}{name}", run.outputs[name])
    return "\n".join(lines)


def accesses(trace: Mapping[str, Any], source_name: str) -> TextTable:
    """Return the loads and stores of a trace, in order, as a table."""
    listed = trace.get("accesses") or []
    rows = [
        [
            str(access.get("step", "")),
            ",".join(map(str, access.get("program") or ())),
            _place(access, source_name),
            str(access.get("op") or ""),
            str(access.get("argument") or ""),
            *_lanes(access),
        ]
        for access in listed
    ]
    title = f"{len(rows)} accesses" + (", cut: there are more" if trace.get("truncated") else "")
    heads = ["step", "program", "line", "op", "argument", "lanes", "active", "from", "to"]
    return table(heads, rows, title)


def _output(name: str, output: Output) -> Iterator[str]:
    summary = output.summary or {}
    shape = ", ".join(map(str, summary.get("shape") or ()))
    yield f"{name}: {summary.get('dtype', '')}[{shape}]"
    if output.values is None:
        yield "  too many values to include in the answer; write them to a file with --save"
        return
    is_elided = _count(output.values) > MAX_SHOWN
    yield from _rows(output.values, "  ", is_elided=is_elided)


def _rows(items: Any, indent: str, *, is_elided: bool) -> Iterator[str]:
    """Yield nested lists with nested brackets, each innermost list on one line."""
    if not isinstance(items, list) or not any(isinstance(item, list) for item in items):
        yield indent + _shown(items, is_elided=is_elided)
        return
    yield f"{indent}["
    for index, part in enumerate(_ends(items) if is_elided else [items]):
        if index:
            yield f"{indent} ..."
        for item in part:
            yield from _rows(item, indent + " ", is_elided=is_elided)
    yield f"{indent}]"


def _shown(items: Any, *, is_elided: bool) -> str:
    if not is_elided or not isinstance(items, list) or len(items) <= 2 * EDGE:
        return json.dumps(items)
    first, last = (json.dumps(part)[1:-1] for part in _ends(items))
    return f"[{first}, ..., {last}]"


def _ends(items: list[Any]) -> list[list[Any]]:
    """Return all items at once, or the first and the last ones."""
    return [items] if len(items) <= 2 * EDGE else [items[:EDGE], items[-EDGE:]]


def _count(items: Any) -> int:
    return sum(map(_count, items)) if isinstance(items, list) else 1


def _place(access: Mapping[str, Any], source_name: str) -> str:
    file = access.get("file") or ""
    return f"{posted_names(source_name).get(file, file)}:{access.get('line') or ''}"


def _lanes(access: Mapping[str, Any]) -> list[str]:
    """Return the number of lanes, of active lanes, and the first and last active index."""
    indices, mask = access.get("indices") or [], access.get("mask")
    active = [at for at, on in zip(indices, mask or [True] * len(indices), strict=False) if on]
    ends = [str(active[0]), str(active[-1])] if active else ["", ""]
    return [str(len(indices)), str(len(active)), *ends]

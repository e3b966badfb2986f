"""Tables for people of the documents that --json writes: lines, instructions, passes, targets."""

from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tritonc.cli.streams import write_json
from tritonc.cli.terminal import Terminal, TextTable, table
from tritonc.service_errors import UnexpectedAnswer

MAX_OPCODES = 12
_STAGES = ("ttir", "ttgir", "llir", "ptx", "amdgcn", "sass")

Document = Mapping[str, Any]


def tables_of(command: str, document: Document) -> list[TextTable]:
    """Return the tables of a command's document, by the command's name."""
    return [made for made in _TABLES[command](document) if made.rows]


def show_tables(args: Namespace, document: Document, terminal: Terminal) -> None:
    """Write the document of a command as tables, or whole with --json.

    Raises UnexpectedAnswer if it is malformed.
    """
    if args.json:
        write_json(document)
        return
    try:
        made = tables_of(args.command, document)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        message = f"the answer to {args.command} is malformed; --json shows it"
        raise UnexpectedAnswer(message) from error
    for item in made:
        terminal.draw(item)
    if not made:
        terminal.say(f"no {args.command}")


def _lines(document: Document) -> Iterator[TextTable]:
    rows = document.get("lines") or []
    there = [stage for stage in _STAGES if any(row.get(stage) for row in rows)]
    cells = [[_place(row), *(_ranges(row.get(stage) or ()) for stage in there)] for row in rows]
    yield table(["line", *there], cells)


def _instructions(document: Document) -> Iterator[TextTable]:
    total = f"{document.get('total')} instructions, {document.get('code_bytes')} bytes"
    yield table(["class", "count"], _counts(document.get("by_class") or {}), total)
    opcodes = _counts(document.get("by_opcode") or {})
    more = len(opcodes) - MAX_OPCODES
    title = f"and {more} more opcodes; --json has all" if more > 0 else ""
    yield table(["opcode", "count"], opcodes[:MAX_OPCODES], title)
    cells = [
        [_place(row), str(row.get("total")), _named(row.get("by_class") or {})]
        for row in document.get("by_line") or ()
    ]
    yield table(["line", "count", "of"], cells)


def _passes(document: Document) -> Iterator[TextTable]:
    rows = document.get("passes") or ()
    cells = [
        [
            str(item.get("stage")),
            str(item.get("name")),
            *(str((item.get(side) or "").count("\n")) for side in ("before", "after")),
        ]
        for item in rows
        if item.get("changed")
    ]
    title = f"{len(cells)} of {len(rows)} passes changed the IR; --json has it before and after"
    yield table(["stage", "pass", "lines before", "lines after"], cells, title)


def _targets(document: Document) -> Iterator[TextTable]:
    for toolchain in document.get("toolchains") or ():
        by_kind: dict[str, list[str]] = {}
        for target in toolchain.get("targets") or ():
            kind, _, name = str(target).partition(":")
            by_kind.setdefault(kind, []).append(name)
        default = ", the default" if toolchain.get("default") else ""
        title = f"Triton {toolchain.get('triton')}, ptxas {toolchain.get('ptxas')}{default}"
        cells = [[f"{kind}:", " ".join(names)] for kind, names in by_kind.items()]
        yield table(["backend", "targets"], cells, title)
        for kind, options in (toolchain.get("options") or {}).items():
            rows = [[name, *_option(option)] for name, option in options.items()]
            yield table(["option", "type", "default", "values"], rows, f"options of {kind}")


def _system(document: Document) -> Iterator[TextTable]:
    workers = document.get("workers") or {}
    store = document.get("store") or {}
    rows = [
        ["version", str(document.get("version"))],
        ["default toolchain", str(document.get("default_toolchain"))],
        ["store", "reachable" if store.get("reachable") else "not reachable"],
        *([f"{kind} workers", str(count)] for kind, count in workers.items()),
    ]
    yield table(["deployment", ""], rows)
    queues = document.get("queues") or {}
    yield table(["queue", "jobs"], [[name, str(count)] for name, count in queues.items()])
    sandboxes = document.get("sandbox") or {}
    yield table(
        ["worker", "sandbox", "self-test"], map(_sandbox, sandboxes.keys(), sandboxes.values())
    )


def _devices(document: Document) -> Iterator[TextTable]:
    rows = [
        [str(item.get("target")), str(item.get("model")), str(item.get("count"))]
        for item in document.get("devices") or ()
    ]
    yield table(["target", "model", "count"], rows)


_TABLES: Mapping[str, Callable[[Document], Iterator[TextTable]]] = {
    "lines": _lines,
    "instructions": _instructions,
    "passes": _passes,
    "targets": _targets,
    "system": _system,
    "devices": _devices,
}


def _sandbox(worker: str, sandbox: Document) -> list[str]:
    test = sandbox.get("self_test") or {}
    failed = test.get("failed") or []
    result = f"failed: {', '.join(map(str, failed))}" if failed else f"{test.get('passed')} passed"
    return [worker, str(sandbox.get("level")), result]


def _option(option: Document) -> list[str]:
    choices = option.get("choices")
    low, high = option.get("minimum"), option.get("maximum")
    is_bounded = low is not None or high is not None
    bounds = f"{'' if low is None else low}..{'' if high is None else high}" if is_bounded else ""
    values = ", ".join(map(str, choices)) if choices else bounds
    return [str(option.get("type")), str(option.get("default")), values]


def _place(row: Document) -> str:
    return f"{row['file']}:{row.get('line')}" if row.get("file") else "no line"


def _counts(counts: Mapping[str, int]) -> list[list[str]]:
    ordered = sorted(counts.items(), key=lambda pair: -pair[1])
    return [[name, str(count)] for name, count in ordered if count]


def _named(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in _counts(counts))


def _ranges(numbers: Sequence[int]) -> str:
    """Return `3-5, 9` for 3, 4, 5 and 9."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1] = [parts[-1][0], number]
        else:
            parts.append([number])
    return ", ".join("-".join(map(str, part)) for part in parts)

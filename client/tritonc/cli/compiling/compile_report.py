"""Reports of compilations: lines for one, a table for several, and hints for missing flags."""

import shlex
from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import Any

from tritonc._sync.client import Client
from tritonc.cli.posted_file import PostedFile, parameters_of
from tritonc.cli.terminal import TextTable, table
from tritonc.compilation import Compilation
from tritonc.diagnostic import render_all

_SLUGS = frozenset({"missing_constexpr", "missing_type", "missing_argument"})
_COLUMNS = ("registers", "spill_store_bytes", "spill_load_bytes", "shared_bytes")


def describe(compilation: Compilation, source_name: str) -> str:
    """Return warnings, key, sizes and resources of a compilation."""
    resources = compilation.resources
    sizes = [f"{stage} {a.size_bytes} bytes" for stage, a in compilation.artifacts.items()]
    numbers = [f"{name} {number}" for name, number in resources.items() if is_number(number)]
    lines = [
        render_all(compilation.diagnostics, source_name),
        f"{compilation.kernel or source_name} for {compilation.target}: "
        f"{compilation.cache or compilation.state}",
        _assumed(compilation),
        f"key {compilation.key}",
        ", ".join(sizes),
        ", ".join(numbers),
        *cost_lines(resources),
    ]
    return "\n".join(filter(None, lines))


def cost_lines(resources: Mapping[str, Any]) -> list[str]:
    """Return a line on spills, if there are any, and one on occupancy, if it is known."""
    spilled = [resources.get(f"spill_{kind}_bytes") or 0 for kind in ("store", "load")]
    lines = []
    if any(spilled):
        lines.append(f"spills: {spilled[0]} bytes stored, {spilled[1]} bytes loaded by each thread")
    occupancy = resources.get("occupancy") or {}
    if occupancy.get("ratio") is not None:
        limit = f", limited by {occupancy['limited_by']}" if occupancy.get("limited_by") else ""
        lines.append(f"occupancy {occupancy['ratio']:.0%}{limit}")
    return lines


def overview(names: Sequence[tuple[str, str]], made: Sequence[Compilation]) -> TextTable:
    """Return a table of several compilations; `names` are file and target of each."""
    rows = [
        [name, item.kernel or "", target, item.state, *_numbers(item), item.key[:16]]
        for (name, target), item in zip(names, made, strict=True)
    ]
    heads = ["registers", "spill stores", "spill loads", "shared bytes"]
    return table(["file", "kernel", "target", "state", *heads, "key"], rows)


def flags_to_add(
    compilation: Compilation, source: PostedFile, args: Namespace, client: Client
) -> str:
    """Return flags for all parameters that lack a type or value; empty if none does."""
    problem = compilation.problem
    if problem is None or problem.slug not in _SLUGS or source.language:
        return ""
    facts = parameters_of(source.inspected(client), args.kernel)
    named = [word.partition("=")[0] for word in args.signature]
    known = {*named, *(name for name, _ in [*args.constexpr, *args.like])}
    missing = [fact for name, fact in facts.items() if name not in known and not fact["default"]]
    types = [f"{fact['name']}=?" for fact in missing if not fact["constexpr"]]
    values = [f"{fact['name']}=?" for fact in missing if fact["constexpr"]]
    flags = [["--like", *types] if types else [], ["--constexpr", *values] if values else []]
    example = ", as in --like 'x_ptr=fp32[4096]' n=98432" if types else ""
    return " ".join(shlex.join(words) for words in flags if words) + example


def why_lines(why: Mapping[str, Any]) -> str:
    """Return how a key differs from the nearest of the caller's own, a part a line."""
    parts = [
        f"  {part['part']}: {_written(part['value'])} here, "
        f"{_written(part['nearest'])} in the nearest"
        for part in why.get("differs") or ()
    ]
    return "\n".join([f"why: {why.get('message', '')}", *parts])


def _written(text: str | None) -> str:
    return "nothing" if text is None else text


def is_number(value: object) -> bool:
    """Return whether `value` is a number of a compilation."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _numbers(compilation: Compilation) -> list[str]:
    resources = compilation.resources
    registers = resources.get("registers", resources.get("vgpr"))
    numbers = [registers, *(resources.get(name) for name in _COLUMNS[1:])]
    return ["" if number is None else str(number) for number in numbers]


def _assumed(compilation: Compilation) -> str:
    """Return a line saying that the result rests on assumptions; empty if it does not."""
    if compilation.complete:
        return ""
    lines = ", ".join(str(item["line"]) for item in compilation.assumptions)
    return f"incomplete: this result assumes something about line {lines}, see the warnings"

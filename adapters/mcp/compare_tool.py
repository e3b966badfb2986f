"""The tool that compares two compilations."""

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from itertools import islice
from typing import Any

from fastapi import Request

from adapters.mcp.compilation_tools import COMPILATIONS, PATH_PART, no_key, wait_s
from adapters.mcp.short_answer import ToolAnswer, answer, refused
from adapters.mcp.tool_arguments import CompareArguments
from adapters.mcp.whole_key import whole_key
from service.http.inner_request import ask_itself

_ASKED = ("state", "problem", "kernel", "target", "toolchain", "options", "parameters", "resources")
_PAIRS = frozenset({"state", "problem", "kernel", "target"})
"""Members that are a pair themselves, not an object of pairs."""
_SUFFIXES = {"divisible_by_16": "16", "equal_to_1": "1"}
"""The suffixes of hints in a signature."""
_MAX_OPCODES = 12
_MAX_LINES = 8


async def compare(request: Request, arguments: CompareArguments) -> ToolAnswer:
    """Return the differences of two compilations: request, resources, instructions, text."""
    keys: list[str] = []
    for word in (arguments.first, arguments.second):
        if not PATH_PART.fullmatch(word):
            return no_key(word)
        key = await whole_key(request, word, ("compilations",))
        if isinstance(key, ToolAnswer):
            return key
        keys.append(key)
    path = f"{COMPILATIONS}/{keys[0]}/diff/{keys[1]}"
    answered = await ask_itself(request, "GET", path, query={"wait": wait_s(request)})
    if answered.is_problem:
        return refused(answered.json)
    if answered.status == HTTPStatus.ACCEPTED:
        return answer("The comparison is not ready.", next_step="ask again")
    diff = answered.json
    stage = _shown_stage(diff["stages"], arguments.stage)
    if diff["same"]:
        step = "change an option, a constexpr or the source of one, and compile it again"
        return answer("Both results are the same.", *_asked(diff), next_step=step)
    step = "explain a line of either; launch both with timing to see which is faster"
    return answer(
        "Differences, first -> second:",
        *_asked(diff),
        *_instructions(diff["instructions"]),
        ", ".join(f"{each['stage']} {_stage_text(each)}" for each in diff["stages"]),
        next_step=step,
        text=(stage["diff"] or "") if stage is not None else "",
    )


def _shown_stage(stages: list[dict[str, Any]], wanted: str | None) -> dict[str, Any] | None:
    """Return the stage to show: the requested one, or the first that differs."""
    named = [stage for stage in stages if wanted in {None, stage["stage"]}]
    return next((stage for stage in named if stage["diff"] is not None), None)


def _asked(diff: Mapping[str, Any]) -> Iterator[str]:
    for part in _ASKED:
        pairs = {part: diff[part]} if part in _PAIRS else diff[part]
        for name, both in pairs.items():
            if both["a"] != both["b"]:
                yield f"{name}: {_value(both['a'])} -> {_value(both['b'])}"


def _value(value: Any) -> Any:
    if isinstance(value, dict):  # a parameter
        if value["role"] == "constexpr":
            return value["value"]
        return "".join([str(value["type"]), *(f":{_SUFFIXES.get(h, h)}" for h in value["hints"])])
    return round(value, 3) if isinstance(value, float) else value


def _instructions(instructions: Mapping[str, Any] | None) -> Iterator[str]:
    if instructions is None or instructions["delta"] is None:
        return
    a, b, delta = instructions["a"], instructions["b"], instructions["delta"]
    yield f"instructions: {a['total']} -> {b['total']}"
    for kind in delta["by_class"]:
        yield f"  {kind}: {a['by_class'][kind]} -> {b['by_class'][kind]}"
    opcodes = islice(delta["by_opcode"].items(), _MAX_OPCODES)
    if shown := ", ".join(f"{name} {more:+d}" for name, more in opcodes):
        yield f"  by opcode: {shown}"
    for row in instructions["by_line"][:_MAX_LINES]:
        lines = dict.fromkeys(at for at in (row["a_line"], row["b_line"]) if at)
        counts = ", ".join(f"{kind} {more:+d}" for kind, more in row["delta"]["by_class"].items())
        yield f"  {row['file'] or 'no line'}:{' -> '.join(map(str, lines))}: {counts}"


def _stage_text(stage: Mapping[str, Any]) -> str:
    if stage["only_in"] is not None:
        return f"only in the {'first' if stage['only_in'] == 'a' else 'second'}"
    if stage["same"]:
        return "same"
    moved = " other registers" if stage["registers_differ"] else ""
    return f"+{stage['added']} -{stage['removed']}{moved}"

"""The tool that runs a kernel and reports its verdict and findings."""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import Request

from adapters.mcp.short_answer import ToolAnswer, answer, diagnosed, refused
from adapters.mcp.tool_arguments import LaunchArguments
from service.adapter_host import host_of
from service.http.inner_request import ask_itself

LAUNCHES = "/v1/launches"
_ID = re.compile(r"[0-9a-f]{8,63}")
_PLACE = re.compile(r"\buser\.py:(\d{1,9})\b")
_OF_COMPILATION = ("source", "kernel", "signature", "constexprs", "options", "triton", "target")
_MOST_FINDINGS = 5


async def launch(request: Request, arguments: LaunchArguments) -> ToolAnswer:
    """Launch a kernel, on the CPU device unless a target is given, and return the verdict."""
    given = arguments.model_dump(exclude_none=True)
    body: dict[str, Any] = {
        "compilation": {name: given[name] for name in _OF_COMPILATION if name in given},
        "device": {"target": arguments.target} if arguments.target else "cpu",
        "grid": given["grid"],
        "arguments": given["arguments"],
    }
    if arguments.reference is not None:
        tolerances = {name: given[name] for name in ("rtol", "atol") if name in given}
        body["reference"] = {"source": arguments.reference, **tolerances}
    if arguments.checks:
        body["checks"] = arguments.checks
    if arguments.time:
        body["timing"] = {}
    wait_s = host_of(request).max_wait_s
    return _answer(await ask_itself(request, "POST", LAUNCHES, body, {"wait": wait_s}))


async def launch_answer(request: Request, launch_id: str) -> ToolAnswer:
    """Return the result of a launch."""
    if not _ID.fullmatch(launch_id):
        shown = f"{launch_id[:80]!r} is neither a compilation's key nor a launch's id."
        return answer(shown, next_step="use one from compile or launch", is_refusal=True)
    wait_s = host_of(request).max_wait_s
    path = f"{LAUNCHES}/{launch_id}"
    return _answer(await ask_itself(request, "GET", path, query={"wait": wait_s}))


def _answer(asked: Any) -> ToolAnswer:
    if asked.is_problem:
        return refused(asked.json)
    ran = asked.json
    head = f"launch {ran['id']}: {ran['verdict'] or ran['state']}"
    if asked.status == HTTPStatus.ACCEPTED or ran["state"] in {"queued", "running"}:
        return answer(head, next_step=f"explain with the key {ran['id']}; the launch continues")
    compilation = ran["compilation"] or {}
    said = diagnosed(compilation.get("diagnostics") or [])
    if ran["problem"] is not None:
        problem = f"{ran['problem']['slug']}: {ran['problem']['detail']}"
        place = _PLACE.search(ran["problem"]["detail"])
        what = f"line {place[1]}" if place else "the error above"
        return answer(head, problem, *said, next_step=f"fix {what}, and launch again")
    findings = ran["findings"] or []
    lines = [_finding(item) for item in findings[:_MOST_FINDINGS]]
    if len(findings) > _MOST_FINDINGS:
        lines.append(f"… and {len(findings) - _MOST_FINDINGS} more findings")
    outputs = [_output(name, item) for name, item in (ran["outputs"] or {}).items()]
    return answer(head, *outputs, *lines, _timing(ran["timing"]), next_step=_step(ran, findings))


def _finding(finding: Mapping[str, Any]) -> str:
    place = f"{finding['file']}:{finding['line']}: " if finding["line"] else ""
    lines = [f"{place}{finding['kind']}: {finding['message']}"]
    return "\n".join(lines + diagnosed(finding["diagnostics"] or []))


def _output(name: str, output: Mapping[str, Any]) -> str:
    comparison, summary = output["comparison"], output["summary"]
    if comparison is not None and comparison["matches"]:
        return f"{name}: matches the reference (max_abs_error {comparison['max_abs_error']})"
    if comparison is not None:
        first = comparison["first_mismatch"]
        where = (
            f", first at {first['index']}: {first['actual']} instead of {first['expected']}"
            if first
            else ""
        )
        return f"{name}: {comparison['mismatched']} elements do not match{where}"
    if summary is not None:
        numbers = ("shape", "dtype", "min", "max", "mean", "nan", "unwritten")
        return f"{name}: " + ", ".join(f"{number} {summary[number]}" for number in numbers)
    return name


def _timing(timing: Mapping[str, Any] | None) -> str:
    if timing is None:
        return ""
    return f"median {timing['median_us']} us of {timing['repeats']} runs"


def _step(ran: Mapping[str, Any], findings: list[Any]) -> str:
    if ran["verdict"] == "passed":
        return "launch with checks such as racecheck and fuzz, or with time on a GPU"
    if ran["verdict"] == "not_checked":
        return "give a reference to have the outputs checked"
    line = next((item["line"] for item in findings if item["line"]), None)
    if line is not None:
        return f"fix line {line}, and launch again"
    return "fix what makes the outputs differ (masks, offsets, dtypes), and launch again"

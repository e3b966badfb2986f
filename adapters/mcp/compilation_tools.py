"""The tools on sources and compilations: targets, inspect, compile and explain.

The costs of a compiled kernel are its costly lines, and findings in its stages.
"""

import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import Request

from adapters.mcp.assumed_values import INCOMPLETE, completed
from adapters.mcp.launch_tool import run_answer
from adapters.mcp.remedies import remedy
from adapters.mcp.short_answer import (
    ToolAnswer,
    answer,
    diagnosed,
    numbered,
    refused,
    short_diagnostics,
)
from adapters.mcp.tool_arguments import (
    CompileArguments,
    ExplainArguments,
    InspectArguments,
    TargetsArguments,
)
from adapters.mcp.whole_key import whole_key
from compiler.stages import BINARY, BY_NAME
from compiler.target import parse_target
from service.adapter_host import host_of
from service.http.inner_request import ask_itself

MAX_LINES, MAX_FINDINGS = 5, 4
_OF_TTGIR = "ttg."
"""The dialect of layouts, which every TTGIR module names and no TTIR module."""
_SPILL = "local"
"""The class of instructions that spill registers."""
_KINDS = ("matrix_products", "not_vectorised", "uncoalesced", "layout_conversions")
COMPILATIONS = "/v1/compilations"
_KEY_CHARS = 64
_EXPLAINED = ("compilations", "launches", "programs", "sweeps")
_NUMBERS = ("registers", "vgpr", "sgpr", "spill_store_bytes", "spill_load_bytes", "shared_bytes")
PATH_PART = re.compile(r"[0-9a-zA-Z-]{1,100}")


async def targets(request: Request, _arguments: TargetsArguments) -> ToolAnswer:
    """Return the available targets, Triton versions and devices."""
    there = await ask_itself(request, "GET", "/v1/targets")
    if there.is_problem:
        return refused(there.json)
    devices = await ask_itself(request, "GET", "/v1/devices")
    lines = [
        f"Triton {item['triton']}{' (default)' if item['default'] else ''}: "
        + ", ".join(item["targets"])
        for item in there.json["toolchains"]
    ]
    offered = [] if devices.is_problem else devices.json["devices"]
    named = [f"{item['count']} x {item['model']} ({item['target']})" for item in offered]
    lines.append(f"GPUs for launches: {', '.join(named) or 'none; the CPU device runs kernels'}")
    return answer(*lines, next_step="inspect a source, or compile it for one of the targets")


async def inspect(request: Request, arguments: InspectArguments) -> ToolAnswer:
    """Return the kernels of a source and their parameters."""
    body = {"source": arguments.source}
    answered = await ask_itself(request, "POST", "/v1/inspect", body, {"wait": wait_s(request)})
    if answered.is_problem:
        return refused(answered.json)
    inspection = answered.json
    if answered.status == HTTPStatus.ACCEPTED:
        return answer("The inspection is not ready.", next_step="ask again")
    if inspection["problem"] is not None:
        errors = diagnosed(inspection["diagnostics"]) or [inspection["problem"]["detail"]]
        step = remedy(inspection["problem"], inspection, "inspect")
        return answer(f"{inspection['problem']['title']}.", *errors, next_step=step)
    kernels = [_described(kernel) for kernel in inspection["kernels"]]
    if not kernels:
        return answer("There is no kernel.", next_step="decorate a function with @triton.jit")
    step = "compile; what `signature` and `constexprs` do not give is assumed as shown"
    return answer(*kernels, next_step=step)


def _described(kernel: Mapping[str, Any]) -> str:
    parameters = ", ".join(
        item["name"]
        + (
            f": {'constexpr' if item['constexpr'] else item['annotation']}"
            if item["constexpr"] or item["annotation"]
            else ""
        )
        + (f" = {_default(item['default'])}" if item["default"] else "")
        for item in kernel["parameters"]
    )
    lines = [f"line {kernel['line']}: {kernel['name']}({parameters})"]
    if kernel["calls"]:
        lines.append(f"  calls {', '.join(kernel['calls'])}")
    for config in kernel["configs"][:4]:
        values = {**config.get("constexprs", {}), **config.get("options", {})}
        shown = ", ".join(f"{name}={_default(value)}" for name, value in values.items())
        lines.append(f"  autotune configuration: {shown}")
    if assumed := kernel.get("assumed"):
        shown = ", ".join(f"{item['parameter']} {item['value']}" for item in assumed)
        lines.append(f"  assumed: {shown}")
    if len(kernel["configs"]) > 4:
        lines.append(f"  … and {len(kernel['configs']) - 4} more")
    return "\n".join(lines)


def _default(value: Mapping[str, Any]) -> Any:
    return value.get("literal", value.get("expression"))


async def compile_kernel(request: Request, arguments: CompileArguments) -> ToolAnswer:
    """Compile a kernel and return the result; what its types lack is assumed, in a line."""
    asked = arguments.model_dump(exclude={"stage", "first_line"}, exclude_none=True)
    if arguments.ir is not None:
        language = "ttgir" if _OF_TTGIR in arguments.ir else "ttir"
        asked["ir"] = {"language": language, "text": arguments.ir}
    made = await ask_itself(request, "POST", COMPILATIONS, asked, {"wait": wait_s(request)})
    if made.is_problem:
        return refused(made.json)
    assumes: tuple[str, ...] = ()
    problem = made.json["problem"]
    if problem is not None and problem["slug"] in INCOMPLETE:
        completion = await completed(request, asked)
        if completion is not None:
            asked, assumes = completion[0], (completion[1],)
            made = await ask_itself(request, "POST", COMPILATIONS, asked, {"wait": wait_s(request)})
            if made.is_problem:
                return refused(made.json)
    compilation = made.json
    head = "\n".join([_head(compilation), *assumes])
    if made.status == HTTPStatus.ACCEPTED:
        step = "compile the same again; the work continues meanwhile"
        return answer(head, next_step=step, **_facts(compilation))
    errors = diagnosed(compilation["diagnostics"])
    if compilation["problem"] is not None:
        return _failed(compilation, "compile", *assumes)
    text = ""
    if arguments.stage is not None:
        shown = await _stage_text(request, compilation["key"], arguments.stage)
        if isinstance(shown, ToolAnswer):
            return shown
        text = numbered(shown, arguments.first_line) or (
            f"{arguments.stage} has {len(shown.splitlines())} lines, and none from "
            f"{arguments.first_line} on"
        )
    step = f"explain with key and line, or compare with another key ({compilation['key']})"
    summary = (head, _resources(compilation), *errors)
    return answer(*summary, next_step=step, text=text, **_facts(compilation))


def _failed(compilation: Mapping[str, Any], again: str, *assumes: str) -> ToolAnswer:
    problem = compilation["problem"]
    errors = diagnosed(compilation["diagnostics"]) or [problem["detail"]]
    step = remedy(problem, compilation, again)
    return answer(_head(compilation), *assumes, *errors, next_step=step, **_facts(compilation))


def _facts(compilation: Mapping[str, Any]) -> dict[str, Any]:
    """Return the structured content of a compilation."""
    facts = {
        "state": compilation["state"],
        "key": compilation["key"],
        "diagnostics": short_diagnostics(compilation["diagnostics"]),
        "resources": compilation["resources"],
    }
    problem = compilation["problem"]
    return facts | ({name: problem[name] for name in ("fault", "slug", "line")} if problem else {})


async def _stage_text(request: Request, key: str, stage: str) -> str | ToolAnswer:
    """Return the text of a stage, or the answer if there is none yet."""
    path = f"{COMPILATIONS}/{key}/artifacts/{stage}"
    query = {"wait": wait_s(request)} if BY_NAME[stage].is_derived else {}
    answered = await ask_itself(request, "GET", path, query=query)
    if answered.is_problem:
        return refused(answered.json)
    if answered.status == HTTPStatus.ACCEPTED:
        return answer(f"The {stage} is not ready.", next_step="ask again", key=key)
    return answered.body.decode(errors="replace")


def _head(compilation: Mapping[str, Any]) -> str:
    problem = compilation["problem"]
    failed = f": {problem['slug']}" if problem else ""
    named = f"{compilation['kernel'] or 'no kernel'} for {compilation['target']}"
    triton = compilation["toolchain"]["triton"]
    state = f"{compilation['state']}{failed}: {named}, Triton {triton}"
    return f"{state}\nkey {compilation['key']}"


def _resources(compilation: Mapping[str, Any]) -> str:
    resources = compilation["resources"] or {}
    numbers = [f"{name} {resources[name]}" for name in _NUMBERS if resources.get(name) is not None]
    occupancy = resources.get("occupancy")
    if occupancy:
        numbers.append(f"occupancy {occupancy['ratio']:.0%}, limited by {occupancy['limited_by']}")
    return ", ".join(numbers)


async def explain(request: Request, arguments: ExplainArguments) -> ToolAnswer:
    """Explain a source line, a failed compilation, or the findings of a launch."""
    key = await whole_key(request, arguments.key, _EXPLAINED)
    if isinstance(key, ToolAnswer):
        return key
    if len(key) != _KEY_CHARS:
        return await run_answer(request, key)
    compilation = await _compilation(request, key)
    if isinstance(compilation, ToolAnswer):
        return compilation
    head = _head(compilation)
    if compilation["problem"] is not None:
        return _failed(compilation, "compile")
    if arguments.line is None:
        return await explain_kernel(
            request, compilation, head, _resources(compilation), _facts(compilation)
        )
    stage = arguments.stage or _assembly_stage(compilation)
    return await _explain_line(request, key, arguments.line, stage)


async def _explain_line(request: Request, key: str, line: int, stage: str) -> ToolAnswer:
    path = f"{COMPILATIONS}/{key}"
    lines = await ask_itself(request, "GET", f"{path}/lines", query={"wait": wait_s(request)})
    text = await _stage_text(request, key, stage)
    if lines.is_problem:
        return refused(lines.json)
    if isinstance(text, ToolAnswer):
        return text
    if lines.status == HTTPStatus.ACCEPTED:
        return answer("The line map is not ready.", next_step="ask again", key=key)
    rows = {row["line"]: row for row in lines.json["lines"] if row["file"] == "user.py"}
    numbers = rows.get(line, {}).get(stage, [])
    if not numbers:
        there = ", ".join(str(number) for number, row in rows.items() if row[stage])
        return answer(f"Line {line} has no output in {stage}.", next_step=f"try one of {there}")
    written = text.splitlines()
    shown = "\n".join(f"{n}: {written[n - 1]}" for n in numbers if n <= len(written))
    title = f"line {line} became {len(numbers)} lines of {stage}"
    step = "compare with another compilation, or edit the line"
    return answer(title, next_step=step, text=shown, key=key, line=line)


async def _compilation(request: Request, key: str) -> dict[str, Any] | ToolAnswer:
    """Return a finished compilation, or the answer if there is none."""
    if not PATH_PART.fullmatch(key):
        return no_key(key)
    answered = await ask_itself(
        request, "GET", f"{COMPILATIONS}/{key}", query={"wait": wait_s(request)}
    )
    if answered.is_problem:
        return refused(answered.json)
    compilation: dict[str, Any] = answered.json
    if compilation["state"] in {"queued", "running"}:
        step = "ask again; the work continues meanwhile"
        return answer(_head(compilation), next_step=step, **_facts(compilation))
    return compilation


def _assembly_stage(compilation: Mapping[str, Any]) -> str:
    stages = parse_target(compilation["target"]).stages
    texts = [s for s in stages if s not in BINARY and s in compilation["artifacts"]]
    return texts[-1] if texts else stages[0]


def no_key(text: str) -> ToolAnswer:
    """Return the refusal of a malformed key."""
    step = "use a key from compile"
    return answer(f"{text[:80]!r} is not a key.", next_step=step, is_refusal=True, fault="request")


def wait_s(request: Request) -> float:
    """Return the maximum wait of a tool in seconds."""
    return host_of(request).max_wait_s


async def explain_kernel(
    request: Request,
    compilation: Mapping[str, Any],
    head: str,
    resources: str,
    facts: Mapping[str, Any],
) -> ToolAnswer:
    """Return the answer on a compilation that succeeded, as far as its stages show it."""
    key = compilation["key"]
    counts = await _derived(request, key, "instructions")
    explained = await _derived(request, key, "explanation")
    findings = list(_findings(explained))
    text = "\n".join([*_costly_lines(counts), *map(_line, findings)])
    step = (
        "sweep options.num_warps, options.num_stages, options.maxnreg or smaller blocks; compare "
        "two keys; or name a line of the source to see its output"
    )
    warnings = diagnosed(compilation["diagnostics"])
    return answer(
        head, resources, *warnings, next_step=step, text=text, findings=findings or None, **facts
    )


async def _derived(request: Request, key: str, what: str) -> dict[str, Any]:
    """Return a derivation of a compilation, nothing where it cannot be, or not in time."""
    path = f"/v1/compilations/{key}/{what}"
    asked = await ask_itself(request, "GET", path, query={"wait": host_of(request).max_wait_s})
    if asked.is_problem or asked.status == HTTPStatus.ACCEPTED:
        return {}
    document: dict[str, Any] = asked.json
    return document


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

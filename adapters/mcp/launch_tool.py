"""The tools that run a kernel or a program, and the one that tries variants of a kernel."""

import json
import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import Request

from adapters.mcp import short_forms
from adapters.mcp.assumed_values import chosen_kernel, completed_of
from adapters.mcp.remedies import is_of_reference, remedy, short
from adapters.mcp.short_answer import (
    ToolAnswer,
    answer,
    diagnosed,
    refused,
    short_diagnostics,
)
from adapters.mcp.tool_arguments import (
    KernelArguments,
    LaunchArguments,
    ProgramArguments,
    SweepArguments,
)
from service.adapter_host import host_of
from service.http.inner_request import ask_itself

SWEEPS = "/v1/sweeps"
MAX_ROWS = 12
_NUMBERS = ("registers", "spill_store_bytes", "shared_bytes", "occupancy")
LAUNCHES, PROGRAMS = "/v1/launches", "/v1/programs"
_ID = re.compile(r"[0-9a-f]{8,63}")
_OF_COMPILATION = frozenset(KernelArguments.model_fields) | {"target"}
_MAX_FINDINGS = 5
_MAX_FUZZED = 4
_WHY_NOT_CHECKED = frozenset({"not_checked", "check_incomplete"})
_GOOD = frozenset({"passed", "not_checked"})
_RACES = "racecheck"
_CUT_SHORT = frozenset({"timeout", "out_of_memory"})
"""Verdicts that a launch may have only because of its checks."""
_OUT_OF_BOUNDS = "out_of_bounds"
_OF_ENDINGS = {
    "timeout": "look for a loop that does not end, or use smaller sizes",
    "out_of_memory": "use smaller sizes",
    "does_not_fit": "use smaller blocks, or fewer `num_stages` or `num_warps`",
    "nondeterministic": "let no output depend on the order of programs (races, atomics on floats)",
}
"""Steps after verdicts whose findings may name no line."""
_OF_OUTPUT = re.compile(r"of shape (\[[\d, ]*\]) for '([\w.]+)', (whose shape|which) is")
_OF_SHAPES = re.compile(r"ValueError: .*(?:broadcast|shape|dimension)")
"""Messages of NumPy about operands that do not fit each other."""
_NO_VALUE = "there is no value named"
_NO_MODULE = re.compile(r"No module named '(\w+)")
_UNCHECKED = "races were not checked"
_FURTHER_CHECKS = (_RACES, "fuzz")
"""Checks that every kernel should pass."""


async def launch(request: Request, arguments: LaunchArguments) -> ToolAnswer:
    """Launch a kernel, on the CPU device unless a target is given, and return the verdict."""
    members = arguments.model_dump(exclude_none=True)
    body: dict[str, Any] = {
        "compilation": {name: members[name] for name in _OF_COMPILATION if name in members},
        "device": {"target": arguments.target} if arguments.target else "cpu",
        "grid": short_forms.grid(arguments.grid),
        "arguments": {
            name: short_forms.argument(item) for name, item in arguments.arguments.items()
        },
    }
    if arguments.reference is not None:
        tolerances = {name: members[name] for name in ("rtol", "atol") if name in members}
        body["reference"] = {"source": arguments.reference, **tolerances}
    if arguments.time:
        body["timing"] = {}
    checks = arguments.checks
    if checks is None:  # GPUs do not look for races between programs
        checks = [] if arguments.target or arguments.time else [_RACES]
    wait_s = host_of(request).max_wait_s
    asked = await ask_itself(request, "POST", LAUNCHES, body | {"checks": checks}, {"wait": wait_s})
    assumes = ""
    if _lacks_value(asked):
        made = await _with_values(request, body["compilation"], arguments.arguments)
        if made is not None:
            body["compilation"], assumes = made
            asked = await ask_itself(
                request, "POST", LAUNCHES, body | {"checks": checks}, {"wait": wait_s}
            )
    unchecked = ""
    if arguments.checks is None and checks and _is_cut_short(asked):
        unchecked = f"{_UNCHECKED}: with this check, the launch ended as {asked.json['verdict']}"
        checks = []
        asked = await ask_itself(request, "POST", LAUNCHES, body, {"wait": wait_s})
    if asked.is_problem:
        return refused(asked.json)
    launched = arguments.model_copy(update={"checks": checks})
    return ran_answer(asked, "launch", launched, unchecked, assumes)


def _lacks_value(asked: Any) -> bool:
    """Return whether a constexpr has no value, which a grid may need before the kernel does."""
    if asked.is_problem:
        return any(_NO_VALUE in item["message"] for item in asked.json.get("errors") or ())
    return (asked.json["problem"] or {}).get("slug") == "missing_constexpr"


async def _with_values(
    request: Request, compilation: Mapping[str, Any], arguments: Mapping[str, Any]
) -> tuple[dict[str, Any], str] | None:
    """Return a compilation with values for its constexprs, and these in a line, as `compile`."""
    kernel = await chosen_kernel(request, compilation)
    if kernel is None:
        return None
    runtime = {item["name"] for item in kernel["parameters"] if not item["constexpr"]}
    made = completed_of(kernel, compilation, swept=runtime | arguments.keys())
    return made and ({name: value for name, value in made[0].items() if value}, made[1])


def _is_cut_short(asked: Any) -> bool:
    """Return whether a launch ended in a way that its check for races may have caused."""
    if asked.is_problem:
        return False
    return asked.json["verdict"] in _CUT_SHORT and "race" not in asked.json["counts"]


async def run_answer(request: Request, run_id: str) -> ToolAnswer:
    """Return the result of a launch, program or sweep."""
    if not _ID.fullmatch(run_id):
        shown = f"{run_id[:80]!r} is neither a compilation's key nor the id of a run."
        step = "use one from compile, launch, program or sweep"
        return answer(shown, next_step=step, is_refusal=True, fault="request")
    wait_s = host_of(request).max_wait_s
    for path, noun in ((LAUNCHES, "launch"), (PROGRAMS, "program"), (SWEEPS, "sweep")):
        query = {"wait": wait_s} | ({"limit": MAX_ROWS} if noun == "sweep" else {})
        asked = await ask_itself(request, "GET", f"{path}/{run_id}", query=query)
        if asked.status != HTTPStatus.NOT_FOUND:
            break
    if asked.is_problem:
        return refused(asked.json)
    return sweep_answer(asked) if noun == "sweep" else ran_answer(asked, noun)


def ran_answer(
    asked: Any,
    noun: str,
    launched: LaunchArguments | None = None,
    unchecked: str = "",
    assumes: str = "",
) -> ToolAnswer:
    """Return the answer for a launch or a program; `launched` are a launch's arguments if known.

    `unchecked` is why races were not checked, if that was tried; `assumes` are assumed values.
    """
    ran = asked.json
    serious = ", ".join(_serious(ran))
    but = f", but incorrect by its flags: {serious}" if serious else ""
    head = f"{noun} {ran['id']}: {ran['verdict'] or ran['state']}{but}"
    head = "\n".join(filter(None, (head, assumes)))
    problem, findings = ran["problem"], ran["findings"] or []
    facts: dict[str, Any] = {name: ran[name] for name in ("state", "verdict")} | {"id": ran["id"]}
    if ran["state"] in {"queued", "running"}:
        step = f"explain with {ran['id']} as key; the {noun} continues"
        return answer(head, next_step=step, **facts)
    compilation = ran.get("compilation") or {}
    diagnostics = compilation.get("diagnostics") or []
    errors = diagnosed(diagnostics)
    if problem is not None:
        facts |= {name: problem[name] for name in ("fault", "slug", "line")}
        facts["diagnostics"] = short_diagnostics(diagnostics)
        shown = f"{problem['slug']}: {problem['detail']}"
        if is_of_reference(problem):
            wrong = {"argument": "reference", "message": short(problem["detail"])}
            facts |= {"fault": "request", "line": None, "arguments": [wrong]}
            shown = f"in `reference`: {shown}"
        return answer(head, shown, *errors, next_step=remedy(problem, compilation, noun), **facts)
    facts["findings"] = [_short_finding(item) for item in findings[:_MAX_FINDINGS]]
    lines = [_finding(item) for item in findings[:_MAX_FINDINGS]]
    if len(findings) > _MAX_FINDINGS:
        lines.append(f"… and {len(findings) - _MAX_FINDINGS} more findings")
    outputs = [_output(name, item) for name, item in (ran["outputs"] or {}).items()]
    times = _timing(ran["timing"])
    step = _step(ran, findings, noun, launched)
    if unchecked and ran["verdict"] in _GOOD:
        step = f'launch a smaller grid, with "{_RACES}" in `checks`'
    fuzzed = ran.get("fuzz") or {}
    is_told = fuzzed.get("cases") or ran["verdict"] == "passed"  # nothing is fuzzed after a fault
    remarks = [*_fuzz(fuzzed if is_told else {}), *_flags(ran), *_remarks(ran, launched, unchecked)]
    return answer(head, *outputs, *lines, *remarks, times, next_step=step, **facts)


def _short_finding(finding: Mapping[str, Any]) -> dict[str, Any]:
    members = ("kind", "access", "argument", "file", "line", "message")
    return {name: finding[name] for name in members} | {"message": short(finding["message"])}


def _serious(ran: Mapping[str, Any]) -> list[str]:
    """Return the kinds of flags that make a program incorrect."""
    return (ran.get("reward") or {}).get("serious") or []


def _remarks(
    ran: Mapping[str, Any], launched: LaunchArguments | None, unchecked: str
) -> Iterator[str]:
    """Yield what the CPU device did not do: time, and check for races unless it was asked to."""
    if launched is None or not ran["device"]["interpreter"]:
        return
    if launched.time:
        yield "not timed: the CPU device does not time; give a `target` with a GPU"
    is_checked = _RACES in (launched.checks or ()) or ran.get("proof")
    if ran["verdict"] in _GOOD and not is_checked:
        yield unchecked or f'{_UNCHECKED}: add "{_RACES}" to `checks`'


def _flags(ran: Mapping[str, Any]) -> list[str]:
    """Return the remarks on a program's method, and its speed-up."""
    flags = [f"flag: {flag['kind']}: {short(flag['message'])}" for flag in ran.get("flags") or []]
    speedup = ran.get("speedup")
    return [*flags[:_MAX_FINDINGS], *([f"speed-up {speedup:.3g}"] if speedup else [])]


def _finding(finding: Mapping[str, Any]) -> str:
    place = f"{finding['file']}:{finding['line']}: " if finding["line"] else ""
    lines = [f"{place}{finding['kind']}: {finding['message']}"]
    return "\n".join(lines + diagnosed(finding["diagnostics"] or []))


def _output(name: str, output: Mapping[str, Any]) -> str:
    comparison, summary = output["comparison"], output["summary"]
    if comparison is not None:
        note = comparison["note"] or ""
        if comparison["matches"] and comparison["zeros_match"]:
            note = note or "an output of only zeros would match, too: choose other inputs"
        return f"{name}: {_compared(comparison)}" + (f"\n  note: {note}" if note else "")
    if summary is not None:
        numbers = ("shape", "dtype", "min", "max", "mean", "nan", "unwritten")
        return f"{name}: " + ", ".join(f"{number} {summary[number]}" for number in numbers)
    return name


def _compared(comparison: Mapping[str, Any]) -> str:
    if comparison["matches"]:
        return f"matches the reference (max_abs_error {comparison['max_abs_error']})"
    count, unwritten = comparison["mismatched"], comparison["unwritten"]
    text = f"{_elements(count)} {'does' if count == 1 else 'do'} not match"
    if unwritten:
        share = "all" if unwritten == count else unwritten
        text += f", {share} of them unwritten" if count > 1 else ", and is unwritten"
    if first := comparison["first_mismatch"]:
        actual, expected = first["actual"], first["expected"]
        text += f", first at {first['index']}: {actual} instead of {expected}"
    return text


def _elements(count: int) -> str:
    return f"{count} element{'' if count == 1 else 's'}"


def _fuzz(fuzz: Mapping[str, Any]) -> Iterator[str]:
    """Yield what fuzzing varied, and what it left as it was, with the reasons."""
    if not fuzz:
        return
    varied = "; ".join(fuzz["varied"][:_MAX_FUZZED])
    yield f"fuzz: {fuzz['cases']} cases" + (f"; varied: {short(varied)}" if varied else "")
    yield from (f"  not varied: {short(kept)}" for kept in fuzz["not_varied"][:_MAX_FUZZED])


def _timing(timing: Mapping[str, Any] | None) -> str:
    if timing is None:
        return ""
    return f"median {timing['median_us']} us of {timing['repeats']} runs"


def _step(
    ran: Mapping[str, Any], findings: list[Any], noun: str, launched: LaunchArguments | None
) -> str:
    if ran["verdict"] == "passed":
        return _after_pass(ran, noun, launched)
    line = next((item["line"] for item in findings if item["line"]), None)
    if (marking := _marking(ran, findings)) and noun == "launch":
        return f"{marking}. Then launch again"
    if ran["verdict"] == "not_checked":
        is_explained = any(item["kind"] in _WHY_NOT_CHECKED for item in findings)
        without = "give a reference to have the outputs checked"
        return f"change what the finding names, and {noun} again" if is_explained else without
    if noun == "launch" and (enlarging := _enlarging(findings)):
        return f"{enlarging}, and launch again"
    if ran["verdict"] == "invalid_reference":
        failed = next((item for item in findings if item["kind"] == "invalid_reference"), None)
        line = failed and failed["line"]
        place = f"line {line} of the reference" if line is not None else "the reference"
        missing = _NO_MODULE.search(failed["message"]) if failed and noun == "launch" else None
        if missing:
            return f"write the reference with NumPy (`np`), not {missing[1]}, and launch again"
        fitting = _fitting(failed["message"]) if failed and noun == "launch" else ""
        what = "kernel" if noun == "launch" else noun
        return f"{fitting}fix {place}, and {noun} again; the {what} may be right"
    if line is not None:
        return f"fix line {line}, and {noun} again"
    if ending := _OF_ENDINGS.get(ran["verdict"]):
        return f"{ending}, and {noun} again"
    comparisons = [item["comparison"] or {} for item in (ran["outputs"] or {}).values()]
    if unwritten := sum(item.get("unwritten", 0) for item in comparisons):
        return (
            f"have the kernel write the {_elements(unwritten)} that no program wrote (the grid, "
            f"the block size or a mask is too small), and {noun} again"
        )
    what = "masks, offsets, dtypes, or the reference if that is wrong"
    return f"fix what makes the outputs differ ({what}), and {noun} again"


def _enlarging(findings: list[Any]) -> str:
    """Return the step after an access past the end of an argument, "" for any other finding.

    In a case that fuzzing made, the argument has the size that its grid and other values ask for.
    """
    past = next((item for item in findings if item["kind"] == _OUT_OF_BOUNDS), None)
    if past is None or past["case"] or not past["argument"] or min(past["index"] or [0]) < 0:
        return ""
    place = f"line {past['line']}" if past["line"] else "the access"
    return (
        f"if `arguments.{past['argument']}` has fewer elements than the kernel should access, give "
        f"it more; else fix {place}"
    )


def _fitting(message: str) -> str:
    """Return the step that changes an argument a reference does not fit, "" if it names none."""
    if output := _OF_OUTPUT.search(message):
        shape, name, misfit = output.groups()
        wrong = f"the shape {shape}" if misfit == "whose shape" else "a dtype such as fp32"
        return f"if `arguments.{name}` should have {wrong}, give it that; else "
    if _OF_SHAPES.search(message):
        return "if shapes in `arguments` are wrong, change them; else "
    return ""


def _after_pass(ran: Mapping[str, Any], noun: str, launched: LaunchArguments | None) -> str:
    """Return the step after a pass: a check that is missing, never one that it had."""
    if _serious(ran):
        return "have the kernels do the work in each call, as the flags ask, and try again"
    if noun == "program":
        return "time it on a GPU, or compile its kernels to see their registers"
    if launched is None:
        return "launch with checks that it did not have, or prove it for all sizes"
    asked = launched.checks or []
    if missing := [check for check in _FURTHER_CHECKS if check not in asked]:
        return f"launch with {json.dumps([*asked, *missing])} as `checks`"
    if any("the grid is a literal" in kept for kept in (ran["fuzz"] or {}).get("not_varied", ())):
        return 'write `grid` as an expression, such as "cdiv(n, BLOCK)", to have sizes fuzzed, too'
    if not ran["proof"]:
        return "prove it for all sizes, with a contract"
    return "it passed all checks; compile it to see its registers, or time it on a GPU"


def _marking(ran: Mapping[str, Any], findings: list[Any]) -> str:
    """Return the step that marks outputs, "" where their marks are not what is wrong."""
    if ran["verdict"] not in {"invalid_reference", "input_modified", "not_checked"}:
        return ""
    names = [item["argument"] for item in findings if item["kind"] == "input_modified"]
    wrong = [item["message"] for item in findings if item["kind"] == "invalid_reference"]
    if wrong and not any(words in wrong[0] for words in ("not an output", "has no output")):
        return ""
    if not names and (ran["outputs"] or (wrong and "has no output" not in wrong[0])):
        return ""
    named = ", ".join(f"`arguments.{name}`" for name in dict.fromkeys(names))
    return (
        f"if the kernel should write it, add `:output` to {named or 'its buffer in `arguments`'}, "
        'as in "fp32[8]:zeros:output" (a buffer with contents is an output only with this mark); '
        "else fix the store"
    )


async def program(request: Request, arguments: ProgramArguments) -> ToolAnswer:
    """Run host code that launches kernels, and its reference, and return the verdict."""
    members = arguments.model_dump(exclude_none=True)
    body: dict[str, Any] = {
        "source": arguments.source,
        "device": {"target": arguments.target} if arguments.target else "cpu",
    }
    if arguments.reference is not None:
        body["reference"] = {"source": arguments.reference}
    if tolerance := {name: members[name] for name in ("rtol", "atol") if name in members}:
        body["tolerance"] = tolerance
    if arguments.time:
        body["timing"] = {}
    wait_s = host_of(request).max_wait_s
    asked = await ask_itself(request, "POST", PROGRAMS, body, {"wait": wait_s})
    if not asked.is_problem:
        return ran_answer(asked, "program")
    errors = asked.json.get("errors") or ()
    if errors and not any(error["pointer"] for error in errors):  # no argument is at fault
        step = "leave the source as it is; ask the operator for this, or launch a single kernel"
        detail = short(errors[0]["message"])
        return answer("Refused.", detail, next_step=step, is_refusal=True, fault="service")
    return refused(asked.json)


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
        "id": document["id"],
        "rows": list(map(_row, document["rows"])),
    }
    if document["state"] in {"queued", "running"}:
        step = f"explain with {document['id']} as key; the sweep continues"
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

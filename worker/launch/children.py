"""The CPU children of a launch: the interpreter, the reference and the comparison.

The one that ran user code never sees what is expected; the one that compares runs none.
"""

import time
from dataclasses import dataclass
from typing import Any

from compiler.launch.launch import Comparison, Finding, Output
from compiler.launch.reference import Reference
from compiler.launch.tolerance import default_tolerance
from compiler.problem import TITLES, Problem, failure_problem
from worker.launch.report import (
    CompareReport,
    InterpretReport,
    LaunchFailure,
    ReferenceReport,
)
from worker.launch.run import Ran, Run, arguments_header, laid_out
from worker.outcome import Ending, Outcome
from worker.pool import Pool
from worker.report import CutReport, Malformed, read_report

COMPARE_DEADLINE_S = 60.0


@dataclass(frozen=True, slots=True)
class Expected:
    """What a reference says: elements in C order and NumPy's dtype by output, or why not."""

    outputs: dict[str, bytes]
    dtypes: dict[str, str]
    failure: Finding | None = None


async def interpret(
    pool: Pool, cut: CutReport, run: Run, asked: dict[str, Any], timeout_s: float
) -> Ran:
    """Run the kernel on Triton's CPU interpreter; `asked` has options, checks and trace."""
    source = cut.slice.encode()
    header = {
        "task": "interpret",
        "kernel": run.kernel,
        "source": [0, len(source)],
        "files": cut.files,
        "complete": cut.complete,
        "grid": run.grid,
        **asked,
        **arguments_header(run, len(source)),
    }
    outcome = await pool.run("front", header, source + run.uploads, deadline_s=timeout_s)
    ran = Ran(stdout=outcome.stdout.decode(errors="replace"))
    try:
        if outcome.result is not None:
            _take(ran, read_report(InterpretReport, outcome.result), outcome)
        elif outcome.failure is not None:
            _take_failure(ran, read_report(LaunchFailure, outcome.failure))
        else:
            ran.timed_out = outcome.ending is Ending.DEADLINE
            ran.crashed = not ran.timed_out
            ran.findings.append(_ended(outcome, timeout_s))
    except Malformed as error:
        ran.crashed = True
        ran.findings.append(Finding(kind="crashed", message=f"its report is none: {error}"))
    return ran


def _take(ran: Ran, report: InterpretReport, outcome: Outcome) -> None:
    stages = {stage.name: stage.body for stage in outcome.stages}
    ran.outputs = {
        name.removeprefix("output:"): data
        for name, data in stages.items()
        if name.startswith("output:")
    }
    ran.trace = stages.get("trace")
    ran.findings = list(report.findings)
    ran.deterministic = report.deterministic
    ran.inputs_modified = bool(report.modified)
    for item in report.modified:
        message = (
            f"{item.argument} is no output, but {item.elements} of its elements were changed, "
            f"the first at {item.first_index}. Mark it as an output if that is meant."
        )
        finding = Finding(
            kind="input_modified",
            access="write",
            argument=item.argument,
            index=item.first_index,
            message=message,
        )
        ran.findings.append(finding)


def _take_failure(ran: Ran, failure: LaunchFailure) -> None:
    if failure.slug == "memory_exceeded":
        ran.out_of_memory = True
        ran.findings.append(Finding(kind="out_of_memory", message=failure.message))
    else:
        ran.problem = kernel_problem(failure)


def kernel_problem(failure: LaunchFailure) -> Problem:
    """Return the problem of a kernel that cannot be run, with its line where that is known."""
    first = failure.diagnostics[0] if failure.diagnostics else None
    detail = failure.message
    if first is not None and first.line is not None:
        hint = f" {first.hint}" if first.hint else ""
        detail = f"{first.file}:{first.line}: {first.message}{hint}"
    slug = failure.slug if failure.slug in TITLES else "compile_error"
    return failure_problem(slug, detail)


def _ended(outcome: Outcome, timeout_s: float) -> Finding:
    if outcome.ending is Ending.DEADLINE:
        message = f"The run did not end within timeout_s = {timeout_s:g} s."
        return Finding(kind="timeout", message=message)
    message = f"The process that ran the kernel ended unexpectedly ({outcome.detail})."
    return Finding(kind="crashed", message=message)


async def expect(pool: Pool, reference: Reference, run: Run, timeout_s: float) -> Expected:
    """Run the user's reference in a child of its own."""
    source = (reference.source or "").encode()
    header = {
        "task": "reference",
        "source": [0, len(source)],
        "language": reference.language,
        **arguments_header(run, len(source)),
    }
    outcome = await pool.run("front", header, source + run.uploads, deadline_s=timeout_s)
    try:
        if outcome.failure is not None:
            failure = read_report(LaunchFailure, outcome.failure)
            return _no_reference(failure.message, failure)
        if outcome.result is None:
            return _no_reference(f"the reference did not return ({outcome.detail})", None)
        report = read_report(ReferenceReport, outcome.result)
    except Malformed as error:
        return _no_reference(f"the reference's report is none: {error}", None)
    stages = {stage.name.removeprefix("expected:"): stage.body for stage in outcome.stages}
    outputs = {name: stages[name] for name in report.outputs if name in stages}
    return Expected(outputs, {name: item.dtype for name, item in report.outputs.items()})


def _no_reference(message: str, failure: LaunchFailure | None) -> Expected:
    first = failure.diagnostics[0] if failure and failure.diagnostics else None
    finding = Finding(
        kind="invalid_reference",
        file="reference.py",
        line=first.line if first else None,
        message=message,
    )
    return Expected({}, {}, finding)


async def compare(
    pool: Pool,
    run: Run,
    ran: Ran,
    expected: Expected | None,
    reference: Reference | None,
    returned: dict[str, str],
) -> tuple[dict[str, Output], dict[str, bytes]]:
    """Return the outputs in numbers, and the .npy files of those that were asked for as such.

    Raises RuntimeError when the comparing child, which is ours, does not report.
    """
    parts = {f"actual:{name}": data for name, data in ran.outputs.items()}
    if expected is not None:
        parts |= {f"expected:{name}": data for name, data in expected.outputs.items()}
    body, places = laid_out(parts)
    outputs = {
        name: _asked(name, run, places, expected, reference, returned) for name in ran.outputs
    }
    header = {"task": "compare", "outputs": outputs}
    started = time.monotonic()
    outcome = await pool.run("cut", header, body, deadline_s=COMPARE_DEADLINE_S)
    if outcome.result is None:
        spent_s = time.monotonic() - started
        raise RuntimeError(f"no comparison after {spent_s:.1f} s: {outcome.failure} {outcome}")
    report = read_report(CompareReport, outcome.result)
    files = {
        stage.name.removeprefix("tensor:"): stage.body
        for stage in outcome.stages
        if stage.name.startswith("tensor:")
    }
    compared = {
        name: Output(
            summary=item.summary if returned.get(name, "summary") != "none" else None,
            comparison=_with_tolerance(item.comparison, outputs[name]["tolerance"]),
            values=item.values,
        )
        for name, item in report.outputs.items()
    }
    return compared, files


def _with_tolerance(comparison: Comparison | None, tolerance: dict[str, Any]) -> Comparison | None:
    if comparison is None:
        return None
    update = {name: tolerance[name] for name in ("rtol", "atol")}
    return comparison.model_copy(update=update)


def _asked(
    name: str,
    run: Run,
    places: dict[str, list[int]],
    expected: Expected | None,
    reference: Reference | None,
    returned: dict[str, str],
) -> dict[str, Any]:
    buffer = run.bound.outputs[name]
    is_poisoned = run.bound.allocations[buffer.allocation].init is None
    default = default_tolerance(buffer.dtype)
    tolerance = {"rtol": default.rtol, "atol": default.atol}
    if reference is not None:
        given = {"rtol": reference.rtol, "atol": reference.atol}
        tolerance |= {field: value for field, value in given.items() if value is not None}
        tolerance["equal_nan"] = reference.equal_nan
        tolerance["max_mismatched_ratio"] = reference.max_mismatched_ratio
    is_expected = expected is not None and name in expected.outputs
    return {
        "dtype": buffer.dtype,
        "shape": buffer.shape,
        "poisoned": is_poisoned,
        "return": returned.get(name, "summary"),
        "actual": places[f"actual:{name}"],
        "expected": places[f"expected:{name}"] if is_expected else None,
        "expected_dtype": expected.dtypes[name] if expected and is_expected else None,
        "tolerance": tolerance,
    }

"""Makes a launcher's order for one run of a launch, and reads its outcome. Pure."""

import re
import secrets
from collections.abc import Mapping
from typing import Any

from compiler.compilation import Compilation
from compiler.diagnostic import KERNEL_FOLDER
from compiler.problem import failure_problem
from compiler.type_name import is_pointer
from launch.messages import MARK_OUTPUT, Finding
from launch.request.launch_job import LaunchJob
from launch.request.launch_record import Timing
from launch.request.launch_request import TimingRequest
from launch.request.verdict import RunEnding
from worker.gpu.launcher import launcher_order as launcher
from worker.gpu.supervisor.launcher_protocol import LaunchEnding, LaunchOutcome
from worker.gpu.timing_integrity.timed_iteration import TimedIteration
from worker.launch.gpu.iteration_findings import NONDETERMINISTIC, is_changed, of_module
from worker.launch.launch_reports import read_findings
from worker.launch.run import PreparedRun, RunResult, SentIteration


def order_of(
    cubin: bytes, compilation: Compilation, launch: LaunchJob, run: PreparedRun, *, plain: bool
) -> launcher.LauncherOrder:
    """Return the job of a launcher; a `plain` one is neither timed nor run twice.

    Raises ValueError for a compilation without an ABI, which none with a cubin is.
    """
    if compilation.abi is None:
        message = f"the compilation {compilation.key} has a cubin but no ABI; compile it again"
        raise ValueError(message)
    x, y, z = run.grid
    dumped = run.bound.model_dump(mode="json")
    return launcher.LauncherOrder(
        cubin=cubin,
        abi=compilation.abi,
        grid=(x, y, z),
        allocations=dumped["allocations"],
        arguments=_run_time(dumped["arguments"], compilation),
        uploads=run.uploads,
        timing=None if plain else _timing_order(launch),
        determinism=not plain and "determinism" in launch.checks,
    )


_SEED_BITS = 64
_VALUES_TIMES, _PART_FOR_VALUES = 10, 0.25
"""The time limit for making values of timed runs: a multiple of `max_ms`, or a share of
`timeout_s`."""


def _timing_order(launch: LaunchJob) -> launcher.TimingOrder:
    asked = launch.timing or TimingRequest()
    return launcher.TimingOrder(
        warmup_repeats=asked.warmup_repeats,
        min_repeats=min(asked.min_repeats, asked.max_repeats or asked.min_repeats),
        max_repeats=asked.max_repeats,
        max_ms=asked.max_ms,
        flush_l2=asked.flush_l2,
        fresh_inputs=asked.fresh_inputs,
        samples=asked.samples,
        seed=secrets.randbits(_SEED_BITS),
        values_ms=min(_VALUES_TIMES * asked.max_ms, _PART_FOR_VALUES * launch.timeout_s * 1000),
    )


def _run_time(arguments: Mapping[str, Any], compilation: Compilation) -> dict[str, Any]:
    """Return the arguments that the compiled kernel takes, with scalars in its types."""
    taken = {item.name: item.type for item in compilation.parameters if item.role == "runtime"}
    return {
        name: _typed(argument, taken[name]) for name, argument in arguments.items() if name in taken
    }


def _typed(argument: dict[str, Any], kind: Any) -> dict[str, Any]:
    is_scalar = argument["kind"] == "scalar" and isinstance(kind, str) and not is_pointer(kind)
    return argument | {"dtype": kind} if is_scalar else argument


ENDINGS = {
    "does_not_fit": RunEnding.DOES_NOT_FIT,
    "out_of_memory": RunEnding.OUT_OF_MEMORY,
    "illegal_access": RunEnding.FAULT,
    "out_of_bounds": RunEnding.FAULT,
    "misaligned_access": RunEnding.FAULT,
    "assertion_failed": RunEnding.FAULT,
}
"""The ending of a run by the kind of a launcher's fault; other kinds are crashes."""
_MAX_LINE = 4000
_BLOCK = re.compile(r"block: \[(\d{1,10}),(\d{1,10}),(\d{1,10})\]")
_PLACE = re.compile(r"([^\s:]{1,1000}):(\d{1,9}): ")


def result_of(
    outcome: LaunchOutcome,
    launch: LaunchJob,
    cluster: int = 1,
    sources: Mapping[str, str] | None = None,
) -> RunResult:
    """Return the result of a run; a program is `cluster` blocks wide.

    `sources` are the posted texts by file, for the source lines of findings.
    """
    result = RunResult(
        outputs=outcome.outputs,
        unwritten=outcome.unwritten,
        stdout=outcome.stdout.decode(errors="replace"),
    )
    match outcome.ending:
        case LaunchEnding.OK:
            _take_report(result, outcome.result or {}, launch)
            _take_iterations(result, outcome)
            _take_state(result, outcome.result or {}, sources or {})
        case LaunchEnding.FAULT:
            _take_fault(result, outcome.fault or {}, cluster)
        case LaunchEnding.DEADLINE:
            message = f"The kernel did not end within timeout_s = {launch.timeout_s:g} s."
            result.end(RunEnding.TIMEOUT, message)
        case LaunchEnding.FAILURE:
            message = (outcome.failure or {}).get("message", "the launcher rejected the job")
            result.fail(failure_problem("invalid_argument", message))
        case _:
            result.end(RunEnding.CRASHED, f"The launcher ended unexpectedly ({outcome.detail}).")
    return result


def _take_report(result: RunResult, reported: dict[str, Any], launch: LaunchJob) -> None:
    result.findings = read_findings(reported.get("findings") or [])
    for name in reported.get("modified_inputs") or []:
        message = f"The kernel changed {name}, which is not an output. Mark it as an output if "
        message += f"that is intended. {MARK_OUTPUT}"
        finding = Finding(
            kind="input_modified", access="write", argument=str(name), message=message
        )
        result.findings.append(finding)
    _take_determinism(result, reported)
    if timing := reported.get("timing"):
        counts = {name: reported.get(name) for name in ("checked_repeats", "differing_repeats")}
        result.timing = _timing_of(timing | counts, launch)


def _take_determinism(result: RunResult, reported: dict[str, Any]) -> None:
    """Record whether runs on equal inputs had equal outputs; nothing after a single run."""
    named: list[str] | None = reported.get("differing")
    repeats: int | None = reported.get("differing_repeats")
    if named is None and repeats is None:
        return
    result.deterministic = not named and not repeats
    result.findings += [_differs(str(name)) for name in named or []]
    if repeats and not named:
        message = (
            f"{repeats} of {reported['checked_repeats']} timed runs differed, bit by bit, from a "
            "freshly loaded copy of the kernel on the same inputs: programs update outputs "
            "atomically in no fixed order, or race."
        )
        result.findings.append(Finding(kind=NONDETERMINISTIC, message=message))


def _take_iterations(result: RunResult, outcome: LaunchOutcome) -> None:
    """Add the timed runs that the launcher sent."""
    for index, fields in enumerate((outcome.result or {}).get("repeats") or []):
        outputs = outcome.repeats.get(index, {})
        unwritten = outcome.iterations_unwritten.get(index, {})
        result.repeats.append(SentIteration(TimedIteration.from_json(fields), outputs, unwritten))


def _take_state(result: RunResult, reported: dict[str, Any], sources: Mapping[str, str]) -> None:
    """Add findings for state that the module could keep between runs."""
    state = reported.get("module_state") or {}
    result.keeps_state = is_changed(state)
    result.findings += of_module(state, sources)


def _differs(name: str) -> Finding:
    message = (
        f"{name} differed, bit by bit, between two runs with equal inputs: programs update it "
        "atomically in no fixed order, or race."
    )
    return Finding(kind="nondeterministic", argument=name, message=message)


def _timing_of(measured: dict[str, Any], launch: LaunchJob) -> Timing:
    asked = launch.timing or TimingRequest()
    seconds = measured["median_us"] * 1e-6
    rates = {"bytes_per_s": asked.bytes_, "flops_per_s": asked.flops}
    per_s = {name: amount / seconds for name, amount in rates.items() if amount and seconds}
    fields = {name: value for name, value in measured.items() if name in Timing.model_fields}
    return Timing.model_validate(fields | per_s)


def _take_fault(result: RunResult, fault: dict[str, Any], cluster: int) -> None:
    kind = str(fault.get("kind"))
    result.ending = ENDINGS.get(kind, RunEnding.CRASHED)
    finding = Finding(kind=kind, message=str(fault.get("message")))
    if kind == "assertion_failed":
        finding = find_assertion(result.stdout, cluster) or finding
    result.findings.append(finding)


def find_assertion(stdout: str, cluster: int) -> Finding | None:
    """Return the finding of the first assertion that CUDA printed, None if it printed none.

    A kernel can print any text, so the search reads each line once.
    """
    lines = (line[:_MAX_LINE] for line in stdout.splitlines())
    return next(
        (assertion for line in lines if (assertion := _read_assertion(line, cluster))), None
    )


def _read_assertion(line: str, cluster: int) -> Finding | None:
    """Read "<path>:<line>: <function>: block: [x,y,z], thread: [...] Assertion `...` failed"."""
    before, is_assertion, after = line.partition("Assertion `")
    words, is_failed, _ = after.rpartition("` failed")
    place, block = _PLACE.match(before), _BLOCK.search(before)
    if not (is_assertion and is_failed and place and block):
        return None
    x, y, z = map(int, block.groups())
    program = [x // cluster, y, z]
    return Finding(
        kind="assertion_failed",
        file=place[1].removeprefix(KERNEL_FOLDER),
        line=int(place[2]),
        program=program,
        message=f"program {tuple(program)}: {words}",
    )

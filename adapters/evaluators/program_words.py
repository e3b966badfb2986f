"""The causes of failed programs, and their findings and times, for other evaluators' formats."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

MAX_FINDINGS = 5
REFERENCE_FILE = "reference.py"
"""The service's name for the text of a reference."""
FINISHED = frozenset({"completed", "failed", "cancelled"})


class FailedPart(Enum):
    """The part that made a program fail."""

    SOURCE = auto()
    """The candidate cannot be imported or recorded, or one of its kernels does not compile."""
    RUN = auto()
    """It raised an exception, or one of its kernels did something invalid."""
    VALUES = auto()
    """It ran, but its outputs differ from the reference's, or it has a serious flag."""
    TIME = auto()
    ELSEWHERE = auto()
    """The reference, a missing GPU, or the service."""


_OF_VERDICTS = {
    "mismatch": FailedPart.VALUES,
    "nondeterministic": FailedPart.VALUES,
    "timeout": FailedPart.TIME,
    "invalid_reference": FailedPart.ELSEWHERE,
    "not_checked": FailedPart.ELSEWHERE,
}
_RAISED = "program_error"
_TIMEOUTS = frozenset({"deadline_exceeded", "record_timeout", "compile_timeout"})


def cause_of(program: Mapping[str, Any]) -> FailedPart | None:
    """Return the cause of failure of `program`, a finished answer; None if it passed."""
    if program["state"] == "completed":
        return _cause_of_verdict(program)
    problem = program.get("problem") or {}
    if problem.get("program") == "reference":
        return FailedPart.ELSEWHERE
    if problem.get("slug") in _TIMEOUTS:
        return FailedPart.TIME
    if problem.get("fault") != "source":
        return FailedPart.ELSEWHERE
    return FailedPart.RUN if problem.get("reason") == _RAISED else FailedPart.SOURCE


def _cause_of_verdict(program: Mapping[str, Any]) -> FailedPart | None:
    reward = program.get("reward") or {}
    if not reward.get("compiled", True):
        return FailedPart.SOURCE
    if program["verdict"] == "passed":
        return None if reward.get("correct", True) else FailedPart.VALUES
    return _OF_VERDICTS.get(program["verdict"], FailedPart.RUN)


def device_of(program: Mapping[str, Any]) -> str | None:
    """Return the GPU model of `program`, an answer of /v1/programs; None for the CPU device."""
    device = program.get("device") or {}
    return device.get("model") or device.get("target")


@dataclass(frozen=True, slots=True)
class Times:
    """Medians of one call in milliseconds, and the speed-up over the reference."""

    program_ms: float
    reference_ms: float
    speedup: float


def times_of(program: Mapping[str, Any]) -> Times | None:
    """Return the times of a correct `program` and its reference, None if it has none."""
    timing, reference = program.get("timing"), (program.get("reference") or {}).get("timing")
    speedup = (program.get("reward") or {}).get("speedup")
    if timing is None or reference is None or speedup is None:
        return None
    program_ms, reference_ms = (round(item["median_us"] / 1000, 6) for item in (timing, reference))
    return Times(program_ms, reference_ms, speedup)


def findings_text(program: Mapping[str, Any]) -> str:
    """Return the errors of `program` with their locations in a few lines, its flags last."""
    lines = []
    problem = program.get("problem")
    if problem is not None:
        why, whose = f"{problem['slug']}: {problem['detail']}", problem
        if problem.get("program") == "reference":
            why, whose = f"the reference failed: {why}", {**problem, "file": REFERENCE_FILE}
        lines.append(_placed(whose, why))
    elif program.get("verdict"):
        serious = ", ".join((program.get("reward") or {}).get("serious") or [])
        but = f", but incorrect by its flags: {serious}" if serious else ""
        lines.append(f"verdict: {program['verdict']}{but}")
    for kernel in program.get("kernels") or []:
        if kernel.get("problem"):
            why = f"kernel {kernel['name']} does not compile: {kernel['problem']['detail']}"
            lines.append(_placed(kernel, why))
    findings = program.get("findings") or []
    lines += [
        _placed(item, f"{item['kind']}: {item['message']}") for item in findings[:MAX_FINDINGS]
    ]
    if len(findings) > MAX_FINDINGS:
        lines.append(f"… and {len(findings) - MAX_FINDINGS} more findings: {program.get('url')}")
    lines += _output_lines(program.get("outputs") or {})
    lines += flag_lines(program)
    return "\n".join(lines) or f"the program is {program['state']}"


def flag_lines(program: Mapping[str, Any]) -> list[str]:
    """Return a line for each flag of `program`."""
    flags = program.get("flags") or []
    return [_placed(flag, f"flag {flag['kind']}: {flag['message']}") for flag in flags]


def _output_lines(outputs: Mapping[str, Any]) -> Iterator[str]:
    """Yield for each wrong output the number of wrong elements, and the first one."""
    for name, output in list(outputs.items())[:MAX_FINDINGS]:
        compared = output.get("comparison") or {}
        if compared.get("matches", True):
            continue
        first = compared.get("first_mismatch")
        where = (
            f"; first at {first['index']}: {first['actual']}, expected {first['expected']}"
            if first
            else ""
        )
        yield f"output {name}: {compared['mismatched']} elements differ{where}"


def _placed(item: Mapping[str, Any], text: str) -> str:
    return f"{item['file']}:{item['line']}: {text}" if item.get("line") else text

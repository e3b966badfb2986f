"""Traces of flashinfer-bench: the result of a solution on a workload."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isnan
from typing import Any

from pydantic import BaseModel

from adapters.evaluators.flashinfer_trace_set import Workload
from adapters.evaluators.program_words import (
    FailedPart,
    cause_of,
    device_of,
    findings_text,
    flag_lines,
    times_of,
)

NOT_TIMED = "nothing was timed: latencies and speed-up are unknown, and set to 0.0"
ON_THE_CPU = "tritond CPU device"
_STATUSES = {
    None: "PASSED",
    FailedPart.SOURCE: "COMPILE_ERROR",
    FailedPart.RUN: "RUNTIME_ERROR",
    FailedPart.VALUES: "INCORRECT_NUMERICAL",
    FailedPart.TIME: "TIMEOUT",
    FailedPart.ELSEWHERE: "RUNTIME_ERROR",
}
_OF_FINDINGS = {
    "wrong_shape": "INCORRECT_SHAPE",
    "wrong_structure": "INCORRECT_SHAPE",
    "wrong_dtype": "INCORRECT_DTYPE",
}
_UNTIMED = {"latency_ms": 0.0, "reference_latency_ms": 0.0, "speedup_factor": 0.0}


class FlashInferTaskAnswer(BaseModel):
    """The answer of `/tasks/{task_id}`, with one trace for each workload."""

    task_id: str
    status: str
    definition: str
    solution: str
    traces: list[dict[str, Any]] | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Traced:
    """The subject of a task's traces; `posted_at` is in ISO 8601."""

    definition: str
    solution: str
    posted_at: str

    def evaluated(self, workload: Workload, program: Mapping[str, Any]) -> dict[str, Any]:
        """Return the trace of `program`, a finished answer of /v1/programs."""
        status, performance = _status(program), _performance(program)
        log = findings_text(program)
        if status == "PASSED":
            untimed = [] if performance is not None else [NOT_TIMED]
            log = "\n".join([*untimed, *flag_lines(program)])
        compared = status in {"PASSED", "INCORRECT_NUMERICAL"}
        return self._trace(
            workload,
            hardware=device_of(program) or ON_THE_CPU,
            status=status,
            log=log,
            correctness=_correctness(program) if compared else None,
            performance=(performance or _UNTIMED) if status == "PASSED" else None,
        )

    def left_out(self, workload: Workload, why: str) -> dict[str, Any]:
        """Return the trace of a workload that was not evaluated."""
        absent = {"correctness": None, "performance": None}
        return self._trace(workload, hardware="none", status="RUNTIME_ERROR", log=why, **absent)

    def _trace(self, workload: Workload, *, hardware: str, **evaluation: Any) -> dict[str, Any]:
        where = {"hardware": hardware, "libs": {}}
        return {
            "definition": self.definition,
            "workload": workload.model_dump(mode="json", exclude_unset=True),
            "solution": self.solution,
            "evaluation": {"environment": where, "timestamp": self.posted_at, **evaluation},
        }


def _status(program: Mapping[str, Any]) -> str:
    status = _STATUSES[cause_of(program)]
    if status != "INCORRECT_NUMERICAL":
        return status
    kinds = [finding["kind"] for finding in program.get("findings") or []]
    return next((_OF_FINDINGS[kind] for kind in kinds if kind in _OF_FINDINGS), status)


def _performance(program: Mapping[str, Any]) -> dict[str, float] | None:
    """Return latencies in milliseconds, None if nothing was timed."""
    times = times_of(program)
    if times is None:
        return None
    return {
        "latency_ms": times.program_ms,
        "reference_latency_ms": times.reference_ms,
        "speedup_factor": times.speedup,
    }


def _correctness(program: Mapping[str, Any]) -> dict[str, Any]:
    compared = [
        output["comparison"]
        for output in (program.get("outputs") or {}).values()
        if output["comparison"] is not None
    ]
    return {
        "max_relative_error": _largest(item["max_rel_error"] for item in compared),
        "max_absolute_error": _largest(item["max_abs_error"] for item in compared),
        "extra": None,
    }


def _largest(errors: Any) -> float | str:
    """Return the largest value; non-finite ones are spelled as flashinfer-bench expects."""
    values = [float(error) for error in errors if error is not None]
    if any(isnan(value) for value in values):
        return "NaN"
    largest = max(values, default=0.0)
    return "Infinity" if largest == inf else largest

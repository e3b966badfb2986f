"""The lines of a profile: what was counted at each instruction, folded to the user's lines.

Runs in the worker, which moves the cubin and the counters into a child and reads no more than its
bounded answer.
"""

from typing import Annotated

from pydantic import Field, ValidationError

from compiler.compilation import Compilation, amended
from compiler.lines.hot_lines import MAX_INSTRUCTIONS, MAX_LINES
from compiler.messages.orders import HotLinesOrder
from launch.messages import Finding
from launch.profile_record import HotInstruction, HotLine
from worker.compile.child_task import carry_out
from worker.compile.compile import CompileContext
from worker.compile.reports import Report
from worker.launch.gpu.tool_reruns import not_profiled
from worker.launch.run import RunResult

_DEADLINE_S = 30.0
_MAX_BYTES = 4 << 20
_CUBIN, _PTX = "cubin", "ptx"


class HotLinesReport(Report):
    """The child's answer, in the form of a profile."""

    samples: int
    lines: Annotated[list[HotLine], Field(max_length=MAX_LINES)]
    sass: Annotated[list[HotInstruction], Field(max_length=MAX_INSTRUCTIONS)]
    sass_left_out: int


async def add_lines(
    result: RunResult, compilation: Compilation | None, context: CompileContext
) -> None:
    """Put the lines that the profiler counted, if it did, into the profile of `result`.

    That they cannot be had is a finding.
    """
    if not result.counters or result.profile is None or compilation is None:
        return
    report = await _hot_lines(result.counters, compilation, context)
    result.counters = b""
    if isinstance(report, HotLinesReport):
        result.profile = amended(result.profile, **dict(report))
    else:
        result.findings.append(report)


async def _hot_lines(
    counters: bytes, compilation: Compilation, context: CompileContext
) -> HotLinesReport | Finding:
    what = "profile by line"
    parts: dict[str, bytes] = {}
    for stage in (_CUBIN, _PTX):
        if (artifact := compilation.artifacts.get(stage)) is None:
            continue
        data = await context.blobs.get(artifact.digest)
        if data is None:
            return not_profiled(what, f"the artifact {stage} has left the cache; launch again")
        parts[stage] = data
    parts["counters"] = counters
    order = HotLinesOrder(
        sizes={name: len(data) for name, data in parts.items()},
        entry=compilation.abi.entry if compilation.abi is not None else "",
    )
    body = b"".join(parts.values())
    outcome = await carry_out(
        context.pool, order, body, deadline_s=_DEADLINE_S, triton=context.toolchain.triton
    )
    made = [stage.body for stage in outcome.stages if stage.name == order.task]
    if outcome.result is None or not made or len(made[0]) > _MAX_BYTES:
        why = (outcome.failure or {}).get("message") or outcome.detail
        return not_profiled(what, f"the kernel was not disassembled ({why})")
    try:
        return HotLinesReport.model_validate_json(made[0])
    except ValidationError as error:
        return not_profiled(what, f"its lines cannot be read ({error.error_count()} errors)")

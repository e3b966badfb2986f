"""Runs each task of a compilation in its own child, checks the report and names failures.

Autotuning posts one source many times, so recent reports on parsed sources are cached.
"""

import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from compiler.constexpr import function_names
from compiler.diagnostic import Diagnostic
from compiler.inspection import InspectJob
from compiler.job import CompileJob
from compiler.key import reading_key
from compiler.messages.orders import LogOrder, Order, ReadOrder
from compiler.messages.reports import LogReport
from compiler.messages.wire import header_of
from compiler.stages import BINARY
from compiler.toolchain import Toolchain
from jobs import tracing
from store.errors import StoreUnavailable
from worker.compile.child_failure import (
    broken_report,
    explains_itself_in_log,
    failure_of,
    reported_failure,
    stage_under_way,
    warnings_of,
)
from worker.compile.lru_cache import LRUCache
from worker.compile.message_limits import MessageLimits
from worker.compile.progress import Progress
from worker.compile.reports import (
    BackReport,
    Diagnostics,
    FailureReport,
    InspectReport,
    Malformed,
    ReadReport,
)
from worker.pool.child_outcome import ChildOutcome
from worker.pool.child_process import MoreTime, OnStage
from worker.pool.pool import Pool

INSPECT_DEADLINE_S = 30.0
_MIN_REPORT_BYTES = 4 << 10
_BYTES_OF_JSON = 20
"""Bytes in memory for each byte of a report's JSON."""
LOG_DEADLINE_S = 10.0
MAX_LOG_IR_CHARS = 4 << 20
"""Longer TTGIR is not searched for the place of an error in a log."""

logger = logging.getLogger(__name__)

_Report = TypeVar("_Report")
Reader = Callable[[Mapping[str, Any]], _Report]
"""Reads the report of a child. Raises Malformed."""
_read_log = MessageLimits({list[Diagnostic]: Diagnostics}).reader(LogReport)


@dataclass(frozen=True, slots=True)
class ChildRun(Generic[_Report]):
    """The end of a child. After a normal end there is either a `report` or a `failure`."""

    outcome: ChildOutcome
    report: _Report | None
    failure: FailureReport | None


class TimeLimit:
    """The limit of one attempt, counted from when it is made.

    The longest timeout of all waiting callers counts. A caller with a longer one may join later,
    so `ask`, which returns the present limit, is called when the time is over.
    """

    def __init__(self, limit_s: float, ask: Callable[[], Awaitable[float]] | None = None) -> None:
        self.limit_s = limit_s
        self._ask = ask
        self._started = time.monotonic()

    def left_s(self) -> float:
        """Return the seconds that are left, always more than 0."""
        return max(self._started + self.limit_s - time.monotonic(), 0.001)

    async def more_s(self) -> float:
        """Ask whether the limit has grown since; return the seconds that are left, 0 for none."""
        try:
            present_s = await self._ask() if self._ask is not None else 0.0
        except StoreUnavailable:
            present_s = 0.0
        self.limit_s = max(self.limit_s, present_s)
        return max(self._started + self.limit_s - time.monotonic(), 0.0)


@dataclass(frozen=True, slots=True)
class ChildTasks:
    """The tasks of one compilation, which share a time limit."""

    pool: Pool
    toolchain: Toolchain
    job: CompileJob
    progress: Progress
    on_stage: OnStage
    limit: TimeLimit

    async def run(self, order: Order, body: bytes, read: Reader[_Report]) -> _Report:
        """Have a child carry out `order`, return its report, and add its stages to the progress.

        Raises CompilationFailed if there is no report.
        """
        outcome = await carry_out(
            self.pool,
            order,
            body,
            deadline_s=self.limit.left_s(),
            triton=self.toolchain.triton,
            on_stage=self.on_stage,
            more_s=self.limit.more_s,
        )
        self.progress.stdout += outcome.stdout.decode(errors="replace")
        try:
            self.progress.stages |= _read_stages(order, outcome)
            run = read_run(outcome, read)
        except Malformed as error:
            raise broken_report(order, str(error)) from None
        logged = await self._read_log(order, run)
        if isinstance(run.report, BackReport) and logged:
            return run.report.with_warnings(warnings_of(logged))
        if run.report is not None:
            return run.report
        if run.failure is not None:
            raise reported_failure(run.failure, outcome, logged)
        stages, limit_s = self.progress.stages, self.limit.limit_s
        raise failure_of(order, outcome, self.job, stages, limit_s, logged)

    async def _read_log(self, order: Order, run: ChildRun[_Report]) -> list[Diagnostic]:
        """Return the diagnostics in a log. A child reads it: its author may be hostile."""
        if not run.outcome.stderr.strip() or not explains_itself_in_log(order, run.outcome):
            return []
        stage = stage_under_way(order, self.job, self.progress.stages)
        if run.failure is not None:
            stage = run.failure.stage or "ttir"
        elif run.report is not None:  # LLVM goes on after errors of code generation only
            stage = "amdgcn" if "amdgcn" in self.job.target.stages else "ptx"
        ttgir = self.progress.stages.get("ttgir", b"").decode()
        searched = ttgir if len(ttgir) <= MAX_LOG_IR_CHARS else ""
        log = LogOrder(stage=stage, files=self.job.texts, ir=searched)
        ended = await carry_out(self.pool, log, run.outcome.stderr, deadline_s=LOG_DEADLINE_S)
        try:
            report = read_run(ended, _read_log).report
        except Malformed as error:
            logger.warning("the log of %s was not read: %s", self.job.key, error)
            return []
        if report is None:
            logger.warning("the log of %s was not read: %s", self.job.key, ended.detail)
            return []
        return report.diagnostics


async def carry_out(
    pool: Pool,
    order: Order,
    body: bytes,
    *,
    deadline_s: float,
    triton: str = "",
    on_stage: OnStage | None = None,
    more_s: MoreTime | None = None,
) -> ChildOutcome:
    """Have a child of `pool` carry out `order`; return how it ended. See `Pool.run`."""
    with tracing.span(order.task, {}):
        outcome = await pool.run(
            order.profile,
            header_of(order),
            body,
            deadline_s=deadline_s,
            stages=order.stages,
            on_stage=on_stage,
            more_s=more_s,
            triton=triton,
        )
        tracing.past_steps({stage.name: stage.ms for stage in outcome.stages})
    return outcome


def read_run(outcome: ChildOutcome, read: Reader[_Report]) -> ChildRun[_Report]:
    """Return the validated report of a child; `read` reads a result. Raises Malformed."""
    return ChildRun(
        outcome,
        None if outcome.result is None else read(outcome.result),
        None if outcome.failure is None else FailureReport.read(outcome.failure),
    )


def _read_stages(order: Order, outcome: ChildOutcome) -> dict[str, bytes]:
    """Return the stages of `outcome` that `order` asks for. Raises Malformed for any other."""
    stages: dict[str, bytes] = {}
    for stage in outcome.stages:
        if stage.name not in order.stages:
            raise Malformed(f"a {order.task} child does not make the stage {stage.name!r}")
        if stage.name not in BINARY and not _is_text(stage.body):
            raise Malformed(f"the stage {stage.name} is not UTF-8 text")
        stages[stage.name] = stage.body
    return stages


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


async def read_source(
    tasks: ChildTasks, known: LRUCache[ReadReport], *, refresh: bool = False
) -> ReadReport:
    """Return the kernel of the tasks' job, and the facts about the jit functions of its source.

    `known` is a cache of reports; `refresh` skips it. Raises CompilationFailed.
    """
    job, progress = tasks.job, tasks.progress
    key = _key_of(job)
    report = None if refresh else known.get(key)
    if report is None:
        report = await tasks.run(_order_of(job), (job.source or "").encode(), ReadReport.read)
        known.put(key, report, size_bytes(report))
    progress.kernel = report.kernel
    progress.timings_ms["cut"] = report.ms  # the name that the API gave it
    progress.made_ms["read"] = report.ms
    return report


def size_bytes(report: ReadReport) -> int:
    """Return what a report takes in memory, at most."""
    return _MIN_REPORT_BYTES + _BYTES_OF_JSON * len(report.model_dump_json())


def _key_of(job: CompileJob) -> str:
    return reading_key(
        namespace=job.namespace,
        source=job.source,
        module=job.module,
        files=job.files,
        kernel=job.kernel,
        functions=function_names(job.specialization_json),
        toolchain_id=job.toolchain_id,
    )


def _order_of(job: CompileJob) -> ReadOrder:
    functions = function_names(job.specialization_json)
    return ReadOrder(kernel=job.kernel, module=job.module, files=job.files, functions=functions)


async def inspect_source(pool: Pool, job: InspectJob) -> ChildRun[InspectReport]:
    """Return the facts about all kernels of a source. Raises Malformed."""
    order = ReadOrder(module=job.module, files=job.files, inspect=True)
    outcome = await carry_out(pool, order, job.source.encode(), deadline_s=INSPECT_DEADLINE_S)
    return read_run(outcome, InspectReport.read)

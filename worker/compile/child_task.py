"""One task of a compilation in a child of its own: run, checked, and its failure named.

How long an attempt may take: what the most patient of those who wait for it allows.

Somebody with more patience may join while it runs, so that is asked again when the time is over.
"""

import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from compiler.diagnostic import Diagnostic
from compiler.job import CompileJob
from compiler.toolchain import Toolchain
from store.errors import StoreUnavailable
from worker.compile.child_failure import (
    PROFILES,
    explains_itself_in_log,
    failure_of,
    gone_on_after,
    lie,
    reported,
    stage_under_way,
)
from worker.compile.progress import Progress
from worker.compile.reports import (
    STAGES_OF_TASK,
    BackReport,
    FailureReport,
    LogReport,
    Malformed,
    Report,
    read_report,
    read_stages,
)
from worker.pool.child_outcome import ChildOutcome, Stage
from worker.pool.pool import Pool
from worker.pool.retry import run_task


class TimeLimit:
    """The limit of one attempt, counted from when it is made; `ask` returns the present one."""

    def __init__(self, limit_s: float, ask: Callable[[], Awaitable[float]] | None = None) -> None:
        self.limit_s = limit_s
        self._ask = ask
        self._started = time.monotonic()

    def left_s(self) -> float:
        """Return the seconds that are left, never less than a moment."""
        return max(self._started + self.limit_s - time.monotonic(), 0.001)

    async def more_s(self) -> float:
        """Return the seconds that are left after all, now that they seem over; 0 for none."""
        try:
            present_s = await self._ask() if self._ask is not None else 0.0
        except StoreUnavailable:
            present_s = 0.0
        self.limit_s = max(self.limit_s, present_s)
        return max(self._started + self.limit_s - time.monotonic(), 0.0)


LOG_DEADLINE_S = 10.0

logger = logging.getLogger(__name__)

OnStage = Callable[[Stage], None]
_Report = TypeVar("_Report", bound=Report)


@dataclass(frozen=True, slots=True)
class ChildTasks:
    """The tasks of one compilation, which share a time limit."""

    pool: Pool
    toolchain: Toolchain
    job: CompileJob
    progress: Progress
    on_stage: OnStage
    limit: TimeLimit

    async def run(
        self, task: str, header: dict[str, Any], body: bytes, model: type[_Report]
    ) -> _Report:
        """Return the report of `task`; its stages and output are added to the progress.

        Raises CompilationFailed however the child ended otherwise.
        """
        outcome = await self._run_child(task, header | {"task": task}, body)
        self.progress.stdout += outcome.stdout.decode(errors="replace")
        try:
            self.progress.stages |= read_stages(task, outcome)
            report = read_report(model, outcome.result) if outcome.result is not None else None
            failure = None
            if outcome.failure is not None:
                failure = read_report(FailureReport, outcome.failure)
        except Malformed as error:
            raise lie(task, str(error)) from None
        logged = await self._logged(task, outcome, failure)
        if isinstance(report, BackReport) and logged:
            return report.model_copy(update={"warnings": gone_on_after(logged)})
        if report is not None:
            return report
        if failure is not None:
            raise reported(failure, outcome, logged)
        job = self.job.model_copy(update={"timeout_s": self.limit.limit_s})
        raise failure_of(task, outcome, job, self.progress.stages, logged)

    async def _logged(
        self, task: str, outcome: ChildOutcome, failure: FailureReport | None
    ) -> list[Diagnostic]:
        """Return what the log complains of, read in a child: its author may be hostile."""
        if not outcome.stderr.strip() or not explains_itself_in_log(task, outcome):
            return []
        stage = stage_under_way(task, self.job, self.progress.stages)
        if failure is not None:
            stage = failure.stage or "ttir"
        elif outcome.result is not None:  # LLVM goes on after errors of code generation only
            stage = "amdgcn" if "amdgcn" in self.job.target.stages else "ptx"
        ir = self.progress.stages.get("ttgir", b"").decode()
        header = {"task": "log", "stage": stage, "files": self.job.texts, "ir": ir}
        read = await self.pool.run("cut", header, outcome.stderr, deadline_s=LOG_DEADLINE_S)
        try:
            return read_report(LogReport, read.result or {}).diagnostics
        except Malformed as error:
            logger.warning("the log of %s was not read: %s (%s)", self.job.key, read.detail, error)
            return []

    async def _run_child(self, task: str, header: dict[str, Any], body: bytes) -> ChildOutcome:
        return await run_task(
            self.pool,
            PROFILES.get(task, task),
            header,
            body,
            deadline_s=self.limit.left_s(),
            stages=STAGES_OF_TASK[task],
            on_stage=self.on_stage,
            more_s=self.limit.more_s,
            triton=self.toolchain.triton,
        )

"""One task of a compilation in a child of its own: run, checked, and its failure named."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from compiler.compilation import Diagnostic
from compiler.job import CompileJob
from compiler.toolchain import Toolchain
from worker.ending import (
    PROFILES,
    explains_itself_in_log,
    failure_of,
    gone_on_after,
    lie,
    reported,
    stage_under_way,
)
from worker.outcome import Outcome, Stage
from worker.pool import Pool
from worker.progress import Progress
from worker.report import (
    STAGES_OF_TASK,
    BackReport,
    FailureReport,
    LogReport,
    Malformed,
    Report,
    read_report,
    read_stages,
)
from worker.time_limit import TimeLimit
from worker.tries import run_task

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
        self, task: str, outcome: Outcome, failure: FailureReport | None
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

    async def _run_child(self, task: str, header: dict[str, Any], body: bytes) -> Outcome:
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

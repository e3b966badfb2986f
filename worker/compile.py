"""One compilation, start to end: cut, front, back, each in a child of its own.

Runs in the worker parent: it moves bytes between children and never looks into source or IR.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from compiler.binding import Binding, BindingFailed, bind, with_defaults
from compiler.compilation import Diagnostic
from compiler.job import CompileJob
from compiler.key import back_key
from compiler.toolchain import Toolchain
from store.blobs import Blobs
from store.derived import Derived
from worker.ending import failure_of, lie
from worker.outcome import Ending, Outcome, Stage
from worker.pool import Pool
from worker.progress import CompilationFailed, Progress
from worker.report import (
    STAGES_OF_TASK,
    BackReport,
    CutReport,
    FailureReport,
    FrontReport,
    Malformed,
    Report,
    read_report,
    read_stages,
)

OnStage = Callable[[Stage], None]
_Report = TypeVar("_Report", bound=Report)


@dataclass(frozen=True, slots=True)
class Bench:
    """What compilations are made with: one toolchain's children, and the shared results."""

    pool: Pool
    toolchain: Toolchain
    blobs: Blobs
    backs: Derived


async def compile_kernel(
    job: CompileJob, bench: Bench, progress: Progress, on_stage: OnStage, *, refresh: bool
) -> None:
    """Fill `progress` with the stages of `job`.

    Raises CompilationFailed; the stages reached until then stay in `progress`.
    """
    attempt = _Attempt(job, bench, progress, on_stage, time.monotonic() + job.timeout_s)
    cut = await attempt.cut()
    binding = attempt.bind(cut)
    front = await attempt.front(cut, binding)
    if job.stop_after not in STAGES_OF_TASK["front"]:
        await attempt.back(front, refresh=refresh)


@dataclass(frozen=True, slots=True)
class _Attempt:
    job: CompileJob
    bench: Bench
    progress: Progress
    on_stage: OnStage
    deadline: float

    async def cut(self) -> CutReport:
        header = {"kernel": self.job.kernel, "files": self.job.files}
        report = await self._run("cut", header, self.job.source.encode(), CutReport)
        self.progress.kernel = report.kernel
        self.progress.timings_ms["cut"] = report.ms
        self.progress.diagnostics += report.notes
        return report

    def bind(self, cut: CutReport) -> Binding:
        facts = next(kernel for kernel in cut.facts.kernels if kernel.name == cut.kernel)
        parameters = [parameter.model_dump() for parameter in facts.parameters]
        try:
            binding = bind(cut.kernel, parameters, self.job.specialization)
        except BindingFailed as error:
            diagnostic = Diagnostic(
                severity="error",
                stage="request",
                message=str(error),
                file="user.py",
                line=facts.line,
            )
            raise CompilationFailed(error.slug, str(error), [diagnostic], error.parameter) from None
        self.progress.parameters = binding.parameters
        return binding

    async def front(self, cut: CutReport, binding: Binding) -> FrontReport:
        header = {
            "kernel": cut.kernel,
            "files": cut.files,
            "complete": cut.complete,
            "signature": binding.signature,
            "constexprs": binding.constexprs,
            "hints": binding.hints,
            **self._common(),
        }
        report = await self._run("front", header, cut.slice.encode(), FrontReport)
        self.progress.timings_ms["frontend"] = sum(report.timings_ms.values())
        self.progress.diagnostics += report.notes
        self.progress.parameters = with_defaults(binding.parameters, report.constexprs)
        return report

    async def back(self, front: FrontReport, *, refresh: bool) -> None:
        ttir = self.progress.stages["ttir"]
        locations = front.locations.model_dump()
        key = back_key(
            [
                ("ttir", ttir),
                ("locations", locations),
                ("toolchain_id", self.job.toolchain_id),
                *self._common().items(),
            ]
        )
        if not refresh and await self._known_back(key):
            return
        # the source is for excerpts in messages only: the back end never runs it
        files = {"user.py": self.job.source, **self.job.files}
        header = {"locations": locations, "files": files, **self._common()}
        report = await self._run("back", header, ttir, BackReport)
        self._learn(report)
        await self._keep_back(key, report)

    async def _known_back(self, key: str) -> bool:
        hit = await self.bench.backs.hit(key, tuple(STAGES_OF_TASK["back"]))
        if hit is None:
            return False
        report = BackReport.model_validate_json(hit.record)
        self.progress.stages |= hit.included
        self._learn(report)
        for stage, data in hit.included.items():
            self.on_stage(Stage(stage, report.timings_ms.get(stage, 0.0), data))
        return True

    def _learn(self, report: BackReport) -> None:
        self.progress.timings_ms |= report.timings_ms
        self.progress.metadata = report.metadata
        self.progress.ptxas = report.ptxas

    async def _keep_back(self, key: str, report: BackReport) -> None:
        stages = self.progress.stages
        made = [stage for stage in stages if stage in STAGES_OF_TASK["back"]]
        digests = await self.bench.blobs.put_many([stages[stage] for stage in made])
        blobs = dict(zip(made, digests, strict=True))
        await self.bench.backs.write(key, report.model_dump_json().encode(), blobs)

    def _common(self) -> dict[str, Any]:
        target = self.job.target
        return {
            "options": self.job.options,
            "target": {
                "backend": target.backend,
                "arch": target.arch,
                "warp_size": target.warp_size,
            },
            "stop_after": self.job.stop_after,
        }

    async def _run(
        self, task: str, header: dict[str, Any], body: bytes, model: type[_Report]
    ) -> _Report:
        header["task"] = task
        outcome = await self._run_child(task, header, body)
        # Triton 3.6 forked now and then dies in LLVM's thread pool (fixed in 3.7): try once more
        if outcome.ending is Ending.SIGNAL and self.bench.toolchain.triton.startswith("3.6."):
            outcome = await self._run_child(task, header, body)
        self.progress.stdout += outcome.stdout.decode(errors="replace")
        try:
            self.progress.stages |= read_stages(task, outcome)
            if outcome.result is not None:
                return read_report(model, outcome.result)
            if outcome.failure is not None:
                failure = read_report(FailureReport, outcome.failure)
                raise CompilationFailed(failure.slug, failure.message, failure.diagnostics)
        except Malformed as error:
            raise lie(task, str(error)) from None
        raise failure_of(task, outcome, self.job, self.progress.stages)

    async def _run_child(self, task: str, header: dict[str, Any], body: bytes) -> Outcome:
        remaining_s = max(self.deadline - time.monotonic(), 0.001)
        return await self.bench.pool.run(
            task, header, body, deadline_s=remaining_s, on_stage=self.on_stage
        )

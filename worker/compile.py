"""One compilation, start to end: cut, front, back, each in a child of its own.

Runs in the worker parent: it moves bytes between children and never looks into source or IR.
What an equal slice or equal TTIR gave before is taken from the cache instead.
"""

import json
import time
from dataclasses import dataclass
from typing import Any

from compiler.binding import Binding, BindingFailed, bind, bind_unseen, with_defaults
from compiler.compilation import Diagnostic, Parameter
from compiler.job import CompileJob
from compiler.key import back_key, front_key
from compiler.request import IrText
from compiler.toolchain import Toolchain
from compiler.value import function_names
from store.blobs import Blobs
from store.derived import Derived
from worker.child_task import ChildTasks, OnStage
from worker.outcome import Stage
from worker.pool import Pool
from worker.progress import CompilationFailed, Progress, Reusable
from worker.report import (
    STAGES_OF_TASK,
    BackReport,
    CutReport,
    FrontReport,
    KernelFacts,
    PostedReport,
)

Header = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Bench:
    """What compilations are made with: one toolchain's children, and the shared results."""

    pool: Pool
    toolchain: Toolchain
    blobs: Blobs
    fronts: Derived
    backs: Derived
    share_namespaces: bool = False
    """Whether what an equal slice or TTIR gave is taken from other namespaces, too."""


async def compile_kernel(
    job: CompileJob, bench: Bench, progress: Progress, on_stage: OnStage, *, refresh: bool
) -> None:
    """Fill `progress` with the stages of `job`.

    Raises CompilationFailed; the stages reached until then stay in `progress`.
    """
    deadline = time.monotonic() + job.timeout_s
    tasks = ChildTasks(bench.pool, bench.toolchain, job, progress, on_stage, deadline)
    way = _Way(job, bench, progress, tasks, refresh=refresh)
    if job.ir is not None:
        await way.posted(job.ir)
        return
    cut = await way.cut()
    front = await way.front(cut, way.bind(cut))
    if job.stop_after not in STAGES_OF_TASK["front"]:
        await way.back(front)


async def front_work(job: CompileJob, bench: Bench, progress: Progress) -> tuple[Header, bytes]:
    """Return what the front end of `job` is given: a header, and the slice that it executes.

    Raises CompilationFailed.
    """
    deadline = time.monotonic() + job.timeout_s
    tasks = ChildTasks(bench.pool, bench.toolchain, job, progress, lambda _: None, deadline)
    way = _Way(job, bench, progress, tasks, refresh=False)
    cut = await way.cut()
    return way.front_header(cut, way.bind(cut)), cut.slice.encode()


@dataclass(frozen=True, slots=True)
class _Way:
    job: CompileJob
    bench: Bench
    progress: Progress
    tasks: ChildTasks
    refresh: bool

    async def cut(self) -> CutReport:
        functions = function_names(self.job.specialization_json)
        header = {"kernel": self.job.kernel, "files": self.job.files, "functions": functions}
        source = (self.job.source or "").encode()
        report = await self.tasks.run("cut", header, source, CutReport)
        self.progress.kernel = report.kernel
        self.progress.timings_ms["cut"] = report.ms
        self.progress.diagnostics += report.notes
        return report

    def bind(self, cut: CutReport) -> Binding:
        facts = next((kernel for kernel in cut.facts.kernels if kernel.name == cut.kernel), None)
        try:
            if facts is None:
                # only executing the source can tell; the front child checks what this cannot
                binding = bind_unseen(self.job.specialization)
            else:
                parameters = [parameter.model_dump() for parameter in facts.parameters]
                binding = bind(facts.name, parameters, self.job.specialization)
        except BindingFailed as error:
            diagnostics = [_misfit(error, facts)]
            raise CompilationFailed(error.slug, str(error), diagnostics, error.parameter) from None
        self.progress.parameters = binding.parameters
        return binding

    def front_header(self, cut: CutReport, binding: Binding) -> Header:
        return {
            "kernel": cut.kernel,
            "files": cut.files,
            "complete": cut.complete,
            "signature": binding.signature,
            "constexprs": binding.constexprs,
            "hints": binding.hints,
            **self._common(),
        }

    async def front(self, cut: CutReport, binding: Binding) -> FrontReport:
        header = self.front_header(cut, binding)
        key = front_key([("slice", cut.slice), *header.items(), *self._place()])
        # a child that saw more than the slice may have been told by it what to say
        report = await self._known_front(key) if cut.complete else None
        if report is None:
            report = await self.tasks.run("front", header, cut.slice.encode(), FrontReport)
            if cut.complete:
                self._keep(self.bench.fronts, key, "front", report)
        self.progress.kernel = report.kernel
        self.progress.timings_ms["frontend"] = sum(report.timings_ms.values())
        self.progress.diagnostics += report.notes
        self.progress.parameters = with_defaults(binding.parameters, report.constexprs)
        return report

    async def back(self, front: FrontReport) -> None:
        # Gluon has no ttir: its back end begins at the stage that Triton calls source
        ir = self.progress.stages["ttir" if front.language == "ttir" else "source"]
        header = {
            "language": front.language,
            "locations": front.locations.model_dump(),
            **self._common(),
        }
        key = back_key([("ir", ir), *header.items(), *self._place()])
        report = await self._known_back(key)
        if report is None:
            # the source is for excerpts in messages only: the back end never runs it
            files = {"files": self.job.texts}
            report = await self.tasks.run("back", header | files, ir, BackReport)
            self._keep(self.bench.backs, key, "back", report)
        self._take(report)

    async def posted(self, ir: IrText) -> None:
        header = {
            "language": ir.language,
            "stage": ir.stage,
            "canonicalize": ir.canonicalize,
            **self._common(),
        }
        text = ir.text.encode()
        key = back_key([("posted", text), *header.items(), *self._place()])
        record = await self._known(self.bench.backs, key, "posted")
        report = PostedReport.model_validate_json(record) if record else None
        if report is None:
            files = {"files": self.job.texts}
            report = await self.tasks.run("posted", header | files, text, PostedReport)
            self._keep(self.bench.backs, key, "posted", report)
        self.progress.kernel = report.kernel
        self.progress.diagnostics += report.notes
        self.progress.parameters = tuple(
            Parameter(**item.model_dump(), role="runtime", value=None) for item in report.parameters
        )
        self._take(report)

    def _take(self, report: BackReport) -> None:
        self.progress.timings_ms |= report.timings_ms
        self.progress.metadata = report.metadata
        self.progress.resources = report.resources

    async def _known_front(self, key: str) -> FrontReport | None:
        record = await self._known(self.bench.fronts, key, "front")
        if record is None:
            return None
        self.progress.stdout += json.loads(record)["stdout"]
        return FrontReport.model_validate_json(record)

    async def _known_back(self, key: str) -> BackReport | None:
        record = await self._known(self.bench.backs, key, "back")
        return BackReport.model_validate_json(record) if record else None

    async def _known(self, level: Derived, key: str, task: str) -> bytes | None:
        if self.refresh:
            return None
        hit = await level.hit(key, tuple(STAGES_OF_TASK[task]))
        if hit is None:
            return None
        self.progress.stages |= hit.included
        self.progress.digests |= hit.blobs
        times = json.loads(hit.record)["timings_ms"]
        for stage, data in hit.included.items():
            self.tasks.on_stage(Stage(stage, times.get(stage, 0.0), data))
        return hit.record

    def _keep(self, level: Derived, key: str, task: str, report: FrontReport | BackReport) -> None:
        made = tuple(stage for stage in self.progress.stages if stage in STAGES_OF_TASK[task])
        value = report.model_dump(mode="json")
        if task == "front":
            value["stdout"] = self.progress.stdout
        self.progress.reusable.append(Reusable(level, key, json.dumps(value).encode(), made))

    def _place(self) -> tuple[tuple[str, str], ...]:
        """Return where results are shared: with the same toolchain, in the same namespace."""
        namespace = "" if self.bench.share_namespaces else self.job.namespace
        return ("toolchain_id", self.job.toolchain_id), ("namespace", namespace)

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


def _misfit(error: BindingFailed, facts: KernelFacts | None) -> Diagnostic:
    return Diagnostic(
        severity="error",
        stage="request",
        message=str(error),
        file="user.py" if facts else None,
        line=facts.line if facts else None,
    )

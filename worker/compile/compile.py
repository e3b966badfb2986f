"""One compilation, start to end: cut, front, back, each in a child of its own.

Runs in the worker parent: it moves bytes between children and never looks into source or IR.
What an equal slice or equal TTIR gave before is taken from the cache instead.
"""

import asyncio
from dataclasses import dataclass, replace
from typing import Any

from compiler.binding import Binding, BindingFailed, Misfit, bind, bind_unseen, with_defaults
from compiler.compilation import Parameter
from compiler.constexpr import function_names
from compiler.diagnostic import USER_FILE, Diagnostic, Span, diagnostic, excerpt
from compiler.job import CompileJob
from compiler.key import back_key, front_key, posted_ir_key, second_opinion_key
from compiler.options import told_and_untold
from compiler.request import IrText
from compiler.toolchain import Toolchain
from store.blobs import Blobs
from store.compilations import Derived
from worker.compile import second_opinion
from worker.compile.child_failure import lie
from worker.compile.child_task import ChildTasks, OnStage, TimeLimit
from worker.compile.progress import CompilationFailed, Progress
from worker.compile.reports import (
    OPTION_ASKED,
    STAGES_OF_TASK,
    BackReport,
    CutReport,
    FrontReport,
    KernelFacts,
    PostedReport,
)
from worker.compile.result_cache import OptionsAsked, ResultCache
from worker.pool.pool import Pool

Header = dict[str, Any]


@dataclass(frozen=True, slots=True)
class CompileContext:
    """What compilations are made with: one toolchain's children, and the shared results."""

    pool: Pool
    toolchain: Toolchain
    blobs: Blobs
    fronts: Derived
    backs: Derived
    share_namespaces: bool = False
    """Whether what an equal slice or TTIR gave is taken from other namespaces, too."""


async def compile_kernel(
    job: CompileJob,
    bench: CompileContext,
    progress: Progress,
    on_stage: OnStage,
    limit: TimeLimit,
    *,
    refresh: bool,
) -> None:
    """Fill `progress` with the stages of `job`, within `limit`.

    Raises CompilationFailed; the stages reached until then stay in `progress`.
    """
    tasks = ChildTasks(bench.pool, bench.toolchain, job, progress, on_stage, limit)
    way = _CompileRun(job, bench, progress, tasks, _shelf(tasks, bench, refresh=refresh))
    if job.ir is not None:
        await way.posted(job.ir)
        return
    cut = await way.cut()
    front = await way.front(cut, way.bind(cut))
    if job.stop_after not in STAGES_OF_TASK["front"]:
        await way.back(front)


async def front_work(
    job: CompileJob, bench: CompileContext, progress: Progress
) -> tuple[Header, bytes]:
    """Return what the front end of `job` is given: a header, and the slice that it executes.

    Raises CompilationFailed.
    """
    limit = TimeLimit(job.timeout_s)
    tasks = ChildTasks(bench.pool, bench.toolchain, job, progress, lambda _: None, limit)
    way = _CompileRun(job, bench, progress, tasks, _shelf(tasks, bench, refresh=False))
    cut = await way.cut()
    return way.front_header(cut, way.bind(cut)), (cut.opinion or cut.slice).encode()


@dataclass(frozen=True, slots=True)
class _CompileRun:
    job: CompileJob
    bench: CompileContext
    progress: Progress
    tasks: ChildTasks
    shelf: ResultCache

    async def cut(self) -> CutReport:
        functions = function_names(self.job.specialization_json)
        header = {"kernel": self.job.kernel, "files": self.job.files, "functions": functions}
        source = (self.job.source or "").encode()
        report = await self.tasks.run("cut", header, source, CutReport)
        self.progress.kernel = report.kernel
        self.progress.timings_ms["cut"] = report.ms
        self.progress.diagnostics += report.notes
        self.progress.assumptions += report.assumptions
        return report

    def bind(self, cut: CutReport) -> Binding:
        known = [kernel for kernel in cut.facts.kernels if kernel.name == cut.kernel]
        facts = next((kernel for kernel in known if kernel.certain), None)
        try:
            if facts is None:
                # only executing the source can tell; the front child checks what this cannot
                binding = bind_unseen(self.job.specialization)
            else:
                parameters = [parameter.model_dump() for parameter in facts.parameters]
                binding = bind(facts.name, parameters, self.job.specialization, sure=facts.sure)
        except BindingFailed as error:
            diagnostics = [_misfit(item, facts, self.job.source or "") for item in error.misfits]
            raise CompilationFailed(error.slug, str(error), diagnostics, error.parameter) from None
        self.progress.parameters = binding.parameters
        return binding

    def front_header(self, cut: CutReport, binding: Binding) -> Header:
        return {
            "kernel": cut.kernel,
            "files": cut.files,
            "touched": cut.touched,
            "signature": binding.signature,
            "constexprs": binding.constexprs,
            "hints": binding.hints,
            **self._common(),
        }

    async def front(self, cut: CutReport, binding: Binding) -> FrontReport:
        header = self.front_header(cut, binding)
        if cut.opinion is None:
            report = await self.execute(cut.slice, header)
        else:
            report = await self._settled(cut.slice, cut.opinion, header)
        self.progress.kernel = report.kernel
        self.progress.timings_ms["frontend"] = sum(
            ms for name, ms in report.timings_ms.items() if not self._is_behind(name)
        )
        self.progress.diagnostics += report.notes
        self.progress.assumptions += report.assumptions
        self.progress.parameters = with_defaults(binding.parameters, report.constexprs)
        return report

    async def _settled(self, part: str, whole: str, header: Header) -> FrontReport:
        """Execute a slice, and beside it the whole text, which decides where it can."""
        key = second_opinion_key(part=part, whole=whole, **header, **self._sharing())
        if await self.shelf.knows_opinion(key):
            return await self.execute(part, header)
        other = self._beside()
        whole_run = second_opinion.outcome(other.execute(whole, header), other.progress.stages)
        second = asyncio.create_task(whole_run)
        try:
            first = await second_opinion.outcome(self.execute(part, header), self.progress.stages)
            said = await second_opinion.in_time(second)
        finally:
            await second_opinion.ended(second)
        if said is None:
            self.progress.assumptions.append(second_opinion.UNFINISHED)
        elif not said.is_conclusive or second_opinion.agree(first, said):
            self.shelf.keep_opinion(key)
        else:
            self.progress.take_over(other.progress)
            first = said
        if isinstance(first.end, CompilationFailed):
            raise first.end
        return first.end

    def _beside(self) -> "_CompileRun":
        """Return a run of the same job with a progress of its own, which announces nothing."""
        progress = Progress()
        tasks = replace(self.tasks, progress=progress, on_stage=lambda _: None)
        shelf = replace(self.shelf, progress=progress, on_stage=tasks.on_stage)
        return replace(self, progress=progress, tasks=tasks, shelf=shelf)

    async def execute(self, text: str, header: Header) -> FrontReport:
        """Execute `text` in a front child, or take what equal ones gave.

        Raises CompilationFailed.
        """
        report = await self._front_untold(text, header) or await self._front_of(text, header)
        if report is OptionsAsked.TO_BE_TOLD:
            raise lie("front", "it was told all options and asks for one")
        return report

    async def _front_untold(self, text: str, header: Header) -> FrontReport | None:
        """Return what a front end makes that is not told what only back ends read, if it can."""
        if "gluon" in text:
            return None  # its language begins with num_warps; to be told at once saves a child
        told, untold = told_and_untold(self.job.options)
        report = await self._front_of(text, header | {"options": told, "untold": untold})
        return None if report is OptionsAsked.TO_BE_TOLD else report

    async def _front_of(self, text: str, header: Header) -> FrontReport | OptionsAsked:
        # all that the child sees is in its key: what the source makes of it, it gives to its like
        inputs: Header = {"untold": None} | _all_but_stop(header)
        key = front_key(text=text, **inputs, **self._sharing())
        known = await self.shelf.front(key)
        if known is not None:
            return known
        stdout = self.progress.stdout
        try:
            report = await self.tasks.run("front", header, text.encode(), FrontReport)
        except CompilationFailed as failure:
            if failure.slug != OPTION_ASKED:
                raise
            self.progress.stdout = stdout
            self.progress.stages.clear()
            self.shelf.keep_asks(key)
            return OptionsAsked.TO_BE_TOLD
        self.shelf.keep_front(key, report)
        return report

    async def back(self, front: FrontReport) -> None:
        # Gluon has no ttir: its back end begins at the stage that Triton calls source
        ir = self.progress.stages["ttir" if front.language == "ttir" else "source"]
        header = {
            "language": front.language,
            "locations": front.locations.model_dump(),
            **self._common(),
        }
        key = back_key(ir=ir, **_all_but_stop(header), **self._sharing())
        report = await self.shelf.back(key, "back", BackReport)
        if report is None:
            # the source is for excerpts in messages only: the back end never runs it
            files = {"files": self.job.texts}
            report = await self.tasks.run("back", header | files, ir, BackReport)
            self.shelf.keep_back(key, "back", report)
        self._take(report, front.language)

    async def posted(self, ir: IrText) -> None:
        header = {
            "language": ir.language,
            "stage": ir.stage,
            "canonicalize": ir.canonicalize,
            **self._common(),
        }
        text = ir.text.encode()
        key = posted_ir_key(text=text, **_all_but_stop(header), **self._sharing())
        report = await self.shelf.back(key, "posted", PostedReport)
        if report is None:
            files = {"files": self.job.texts}
            report = await self.tasks.run("posted", header | files, text, PostedReport)
            self.shelf.keep_back(key, "posted", report)
        self.progress.kernel = report.kernel
        self.progress.diagnostics += report.notes
        self.progress.parameters = tuple(
            Parameter(**item.model_dump(), role="runtime", value=None) for item in report.parameters
        )
        self._take(report, ir.language)

    def _take(self, report: BackReport, language: str) -> None:
        """Take over what the report says of the stage to stop after."""
        # IR that is not lowered at all has its facts under its language
        at = self.job.stop_after if self.job.stop_after in report.facts else language
        facts = report.facts.get(at)
        if facts is None:
            raise lie("back", f"nothing is said of {at}")
        self.progress.timings_ms |= {
            name: ms for name, ms in report.timings_ms.items() if not self._is_behind(name)
        }
        self.progress.diagnostics += [
            warning for warning in report.warnings if not self._is_behind(warning.stage)
        ]
        self.progress.metadata = facts.metadata.model_dump()
        self.progress.resources = facts.resources

    def _is_behind(self, name: str) -> bool:
        """Return whether a time is that of a stage that this job does not go on to."""
        order = self.job.target.stages
        return name in order[order.index(self.job.stop_after) + 1 :]

    def _sharing(self) -> Header:
        """Return where results are shared: with the same toolchain, in the same namespace."""
        namespace = "" if self.bench.share_namespaces else self.job.namespace
        return {"toolchain_id": self.job.toolchain_id, "namespace": namespace}

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


def _all_but_stop(header: Header) -> Header:
    """Return what a child is given but for the stage to stop after: see `ResultCache`.

    A member that the key does not know is a TypeError there, never an input outside of the key.
    """
    return {name: value for name, value in header.items() if name != "stop_after"}


def _shelf(tasks: ChildTasks, bench: CompileContext, *, refresh: bool) -> ResultCache:
    return ResultCache(
        tasks.job, tasks.progress, tasks.on_stage, bench.fronts, bench.backs, refresh
    )


def _misfit(misfit: Misfit, facts: KernelFacts | None, source: str) -> Diagnostic:
    if facts is None:
        return diagnostic("error", "request", misfit.message, hint=misfit.hint)
    named = [item for item in facts.parameters if item.name == misfit.parameter]
    span = Span(USER_FILE, facts.line)
    if named:
        end = named[0].column + len(misfit.parameter)
        span = Span(USER_FILE, named[0].line, named[0].column, named[0].line, end)
    shown = excerpt(source.replace("\r\n", "\n").replace("\r", "\n").split("\n"), span)
    return diagnostic(
        "error", "request", misfit.message, hint=misfit.hint, span=span, excerpt=shown
    )

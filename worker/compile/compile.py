"""Runs one compilation: read, front and back, each in its own child.

Runs in the worker's own process: it moves bytes between children and never parses source or IR.
It takes the results of an equal source or of equal TTIR from the cache.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from compiler.compilation import AssumedValue, Parameter
from compiler.constexpr import plain_value
from compiler.diagnostic import USER_FILE, Diagnostic, Span, diagnostic, excerpt
from compiler.job import CompileJob
from compiler.key import back_key, front_key, posted_ir_key
from compiler.languages import BY_IR, EXECUTED
from compiler.messages.orders import BackOrder, FrontOrder, IrBounds, Order, PostedOrder
from compiler.messages.reports import FrontReport
from compiler.messages.wire import members_of
from compiler.parameter_binding import (
    Binding,
    BindingFailed,
    BindingProblem,
    bind,
    bind_unseen,
    with_defaults,
)
from compiler.request.compile_request import IrText
from compiler.request.options import split_options
from compiler.toolchain import Toolchain
from store.blobs import Blobs
from store.compilations import Derived
from worker.compile.child_failure import broken_report
from worker.compile.child_task import ChildTasks, TimeLimit, read_source
from worker.compile.front_report import read_front_report
from worker.compile.lru_cache import LRUCache
from worker.compile.progress import CompilationFailed, Progress
from worker.compile.reports import (
    OPTION_ASKED,
    BackReport,
    KernelFacts,
    PostedReport,
    ReadReport,
)
from worker.compile.result_cache import CachedFact, CacheScope, ResultCache
from worker.pool.child_process import OnStage
from worker.pool.pool import Pool


@dataclass(frozen=True, slots=True)
class CompileContext:
    """The children of one toolchain, and the results that compilations share."""

    pool: Pool
    toolchain: Toolchain
    blobs: Blobs
    fronts: Derived
    backs: Derived
    share_namespaces: bool = False
    """True if results of equal sources and TTIR are also taken from other namespaces."""
    ir_bounds: IrBounds = field(default_factory=IrBounds)
    readings: LRUCache[ReadReport] = field(default_factory=LRUCache)

    def tasks_of(
        self,
        job: CompileJob,
        progress: Progress,
        limit: TimeLimit,
        on_stage: OnStage = lambda _: None,
    ) -> ChildTasks:
        """Return the tasks of `job`, whose children fill `progress`."""
        return ChildTasks(self.pool, self.toolchain, job, progress, on_stage, limit)

    def run_of(self, tasks: ChildTasks, *, refresh: bool = False) -> "CompileRun":
        """Return the run of the tasks' job; with `refresh`, it takes nothing from the cache."""
        job = tasks.job
        sharing = CacheScope(job.toolchain_id, "" if self.share_namespaces else job.namespace)
        results = ResultCache(job, tasks.progress, tasks.on_stage, self.fronts, self.backs, refresh)
        return CompileRun(tasks, results, sharing, self.ir_bounds)


async def compile_kernel(
    job: CompileJob,
    context: CompileContext,
    progress: Progress,
    on_stage: OnStage,
    limit: TimeLimit,
    *,
    refresh: bool,
) -> None:
    """Fill `progress` with the stages of `job`, within `limit`.

    Raises CompilationFailed; the stages reached until then stay in `progress`.
    """
    tasks = context.tasks_of(job, progress, limit, on_stage)
    run = context.run_of(tasks, refresh=refresh)
    if job.ir is not None:
        await run.lower_posted(job.ir)
    else:
        reading = await read_source(tasks, context.readings, refresh=refresh)
        front = await run.front(run.front_order(reading, run.bind(reading)))
        if job.stop_after not in FrontOrder.stages:
            await run.back(front)
    if job.stop_after not in progress.stages:
        raise _no_such_stage(job, progress)


@dataclass(frozen=True, slots=True)
class CompileRun:
    """The steps of one compilation; they fill the progress of its tasks."""

    tasks: ChildTasks
    results: ResultCache
    sharing: CacheScope
    ir_bounds: IrBounds

    @property
    def job(self) -> CompileJob:
        """The job."""
        return self.tasks.job

    @property
    def progress(self) -> Progress:
        """The progress so far."""
        return self.tasks.progress

    def bind(self, reading: ReadReport) -> Binding:
        """Return the specialization fitted to the kernel's parameters. Raises CompilationFailed."""
        known = [kernel for kernel in reading.facts.kernels if kernel.name == reading.kernel]
        facts = next((kernel for kernel in known if kernel.certain), None)
        try:
            if facts is None:
                # only executing the source can show this; the front child checks what this cannot
                binding = bind_unseen(self.job.specialization)
            else:
                parameters = [parameter.model_dump() for parameter in facts.parameters]
                binding = bind(facts.name, parameters, self.job.specialization, sure=facts.sure)
        except BindingFailed as error:
            diagnostics = [_misfit(item, facts, self.job.source or "") for item in error.misfits]
            raise CompilationFailed(error.slug, str(error), diagnostics, error.parameter) from None
        self.progress.parameters = binding.parameters
        return binding

    def front_order(self, reading: ReadReport, binding: Binding) -> FrontOrder:
        """Return the order for the front child, whose body is the source."""
        return FrontOrder(
            kernel=reading.kernel,
            module=self.job.module,
            files=self.job.files,
            absent=self.job.absent,
            signature=binding.signature,
            constexprs=binding.constexprs,
            hints=binding.hints,
            options=self.job.options,
            target=self.job.target,
            stop_after=self.job.stop_after,
            ir_bounds=self.ir_bounds,
        )

    async def front(self, order: FrontOrder) -> FrontReport:
        """Execute the source, or take the result of an equal one. Raises CompilationFailed."""
        text = self.job.source or ""
        report = await self._without_back_options(text, order) or await self._executed(text, order)
        if report is CachedFact.READS_HIDDEN_OPTIONS:
            raise broken_report(order, "it reads a hidden option, although all options were given")
        self.progress.kernel = report.kernel
        self.progress.timings_ms["frontend"] = sum(
            ms for name, ms in report.timings_ms.items() if not self._is_behind(name)
        )
        self.progress.diagnostics += report.notes
        self.progress.assumptions += report.assumptions
        self.progress.needs += report.needs
        self.progress.parameters = with_defaults(self.progress.parameters, report.constexprs)
        self.progress.assumed = [
            AssumedValue(parameter=name, value=plain_value(value), why="is its default")
            for name, value in report.constexprs.items()
        ]
        return report

    async def _without_back_options(self, text: str, order: FrontOrder) -> FrontReport | None:
        """Execute `text` without the options that only back ends read; None if it reads one."""
        # Gluon's language begins with num_warps; to give it at once saves a child
        if any(language.word and language.word in text for language in EXECUTED):
            return None
        visible, hidden = split_options(order.options)
        report = await self._executed(text, replace(order, options=visible, hidden=hidden))
        return None if report is CachedFact.READS_HIDDEN_OPTIONS else report

    async def _executed(self, text: str, order: FrontOrder) -> FrontReport | CachedFact:
        # the key has all that the child sees, so equal keys have equal results
        key = front_key(text=text, **_front_inputs(order), **self.sharing.key_inputs)
        known = await self.results.front(key)
        if known is not None:
            return known
        progress = self.progress
        stdout = progress.stdout
        try:
            report = await self.tasks.run(order, text.encode(), read_front_report)
        except CompilationFailed as failure:
            if failure.slug != OPTION_ASKED:
                raise
            progress.stdout = stdout
            progress.stages.clear()
            self.results.keep_reads_hidden(key)
            return CachedFact.READS_HIDDEN_OPTIONS
        self.results.keep_front(key, report)
        return report

    async def back(self, front: FrontReport) -> None:
        """Lower what the front end made. Raises CompilationFailed."""
        ir = self.progress.stages[BY_IR[front.language].lowered_from]
        order = BackOrder(
            language=front.language,
            locations=front.locations,
            options=self.job.options,
            target=self.job.target,
            stop_after=self.job.stop_after,
            files=self.job.texts,
            ir_bounds=self.ir_bounds,
        )
        key = back_key(ir=ir, **_back_inputs(order, "canonicalize"), **self.sharing.key_inputs)
        report = await self.results.back(key, order.stages, BackReport)
        if report is None:
            report = await self.tasks.run(order, ir, BackReport.read)
            self.results.keep_back(key, order.stages, report)
        self._take(order, report)

    async def lower_posted(self, ir: IrText) -> None:
        """Lower posted IR. Raises CompilationFailed."""
        text = ir.text.encode()
        order = PostedOrder(
            language=ir.language,
            stage=ir.stage,
            canonicalize=ir.canonicalize,
            options=self.job.options,
            target=self.job.target,
            stop_after=self.job.stop_after,
            files=self.job.texts,
            ir_bounds=self.ir_bounds,
        )
        key = posted_ir_key(
            text=text, **_back_inputs(order, "locations"), **self.sharing.key_inputs
        )
        report = await self.results.back(key, order.stages, PostedReport)
        if report is None:
            report = await self.tasks.run(order, text, PostedReport.read)
            self.results.keep_back(key, order.stages, report)
        self.progress.kernel = report.kernel
        self.progress.diagnostics += report.notes
        self.progress.parameters = tuple(
            Parameter(**item.model_dump(), role="runtime", value=None) for item in report.parameters
        )
        self._take(order, report)

    def _take(self, order: BackOrder, report: BackReport) -> None:
        """Take the facts of the stage to stop after from the report."""
        # IR that is not lowered at all has its facts under its language
        at = self.job.stop_after if self.job.stop_after in report.facts else order.language
        facts = report.facts.get(at)
        if facts is None:
            raise broken_report(order, f"nothing is reported about {at}")
        self.progress.timings_ms |= {
            name: ms for name, ms in report.timings_ms.items() if not self._is_behind(name)
        }
        self.progress.diagnostics += [
            warning for warning in report.warnings if not self._is_behind(warning.stage)
        ]
        self.progress.metadata = facts.metadata.model_dump()
        self.progress.resources = facts.resources

    def _is_behind(self, name: str) -> bool:
        """Return True if `name` is a stage behind the one where this job stops."""
        order = self.job.target.stages
        return name in order[order.index(self.job.stop_after) + 1 :]


# A member of an order that its key does not know is a TypeError there, never an input outside of
# the key. Those that change no result are left out.


def _front_inputs(order: FrontOrder) -> dict[str, Any]:
    return _without(order, {"stop_after", "ir_bounds"})


def _back_inputs(order: BackOrder, other: str) -> dict[str, Any]:
    # the files are for excerpts in messages only: the back end never runs them
    return _without(order, {other, "stop_after", "files", "ir_bounds"})


def _without(order: Order, left_out: set[str]) -> dict[str, Any]:
    return {name: value for name, value in members_of(order).items() if name not in left_out}


def _no_such_stage(job: CompileJob, progress: Progress) -> CompilationFailed:
    """Return the failure of a job whose last stage Triton does not make of its kernel."""
    message = (
        f"Triton makes no {job.stop_after} for {progress.kernel}, whose stages so far are "
        f"{', '.join(progress.stages)}: set another `stop_after`"
    )
    return CompilationFailed("compile_error", message, [diagnostic("error", "request", message)])


def _misfit(misfit: BindingProblem, facts: KernelFacts | None, source: str) -> Diagnostic:
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

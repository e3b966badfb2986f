"""The IR that the CPU device runs: what the front end makes of a source, or what was posted.

Made and kept as for a compilation, up to the stage before Triton's first pass: no access is folded
away in it, and helpers are functions. No back end is run.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from compiler.compilation import amended
from compiler.diagnostic import Diagnostic, diagnostic
from compiler.job import CompileJob
from compiler.languages import BY_IR, BY_NAME, Language, titles_with_ttir
from compiler.request.compile_request import IrText
from compiler.request.resolution import specialized_job
from compiler.specialization import SpecializedParameter
from jobs.deadline import Deadline
from launch.request.hint_check import as_given, check_hints, compiled_hints, names_as_given
from worker.compile.child_task import TimeLimit
from worker.compile.compile import CompileContext
from worker.compile.lru_cache import LRUCache
from worker.compile.progress import CompilationFailed, Progress
from worker.compile.result_cache import put_reusable, put_stages
from worker.launch.kernel_source import KernelSource, KernelSources, ended_by
from worker.launch.run import PreparedRun

NEEDS_GPU = "needs_gpu"
_SOURCE = "source"
_CONSTEXPR = "constexpr"
_KIB = 1 << 10
_CONVERSION = b"tt.fp_to_fp "
_OF_SOME_TARGETS = (b"rounding = rtz", b"f8E", b"f64")
"""Parts of conversions that only some targets have; passes refuse others, long after this stage."""
_REFUSED = frozenset({"compile_error", "lowering_failed"})


@dataclass(frozen=True, slots=True)
class KernelIr:
    """The text of one stage, and which arguments its kernel takes at run time, in its order."""

    key: str
    """The key of its inputs: cases with equal keys share it."""
    stage: str
    text: bytes
    files: Sequence[str]
    parameters: Sequence[str]
    warnings: Sequence[Diagnostic] = ()
    stdout: str = ""
    """The output of the source while it was compiled."""
    hints: Mapping[str, SpecializedParameter] = field(default_factory=dict)
    """Properties of parameters in posted IR, which arguments must satisfy."""
    fp_fusion: bool = True
    """The option `enable_fp_fusion`."""


class KernelIrs:
    """The IRs of one launch; cases share theirs whose specializations differ in alignment alone."""

    def __init__(
        self,
        compiling: CompileContext,
        deadline: Deadline,
        sources: KernelSources,
        cache: LRUCache[KernelIr] | None = None,
    ) -> None:
        self._compiling = compiling
        self._deadline = deadline
        self._sources = sources
        self._cache = cache or LRUCache()
        self._keys: dict[str, str] = {}
        self._made: dict[str, KernelIr] = {}
        self._kept: list[tuple[Progress, str]] = []

    async def read(self, job: CompileJob, run: PreparedRun) -> KernelIr:
        """Return the IR of `job`, whose specialization is complete, to be run as `run` describes.

        Raises IrFailed (NEEDS_GPU for a language that no CPU runs), DeadlinePassed, and
        RequestRejected where the arguments break what posted IR declares of its parameters.
        """
        key = self._keys.get(job.key) or self._keys.setdefault(job.key, _key_of(job))
        if (known := self._cache.get(key)) is not None:
            self._made[key] = known
        if key not in self._made:
            progress = Progress()
            make = self._of_source if job.ir is None else self._posted
            try:
                with ended_by(self._deadline):
                    self._made[key] = await make(job, key, progress)
            except CompilationFailed as failure:
                raise IrFailed(failure, progress) from failure
            self._kept.append((progress, job.namespace))
            self._cache.put(key, self._made[key], len(self._made[key].text) + _KIB)
        made = self._made[key]
        if job.ir is not None:
            arguments = run.bound.arguments
            names = names_as_given(made.parameters, arguments)
            made = replace(made, parameters=names, hints=as_given(made.hints, arguments))
        if made.hints:
            check_hints(made.hints, run.bound, of_ir=True)
        return made

    async def keep(self) -> None:
        """Leave what was made for other launches and compilations. Raises StoreUnavailable."""
        for progress, namespace in self._kept:
            digests = await put_stages(progress, self._compiling.blobs, namespace)
            await put_reusable(progress, digests)
        self._kept.clear()

    async def _of_source(self, job: CompileJob, key: str, progress: Progress) -> KernelIr:
        kernel = await self._sources.read(job)
        _check_runs_on_cpu(BY_NAME[kernel.facts.language], kernel)
        asked, job = job, amended(checked(job), stop_after=_SOURCE)
        limit = TimeLimit(self._deadline.limit_s(job.timeout_s))
        run = self._compiling.run_of(self._compiling.tasks_of(job, progress, limit))
        binding = run.bind(kernel.reading)
        front = await run.front(run.front_order(kernel.reading, replace(binding, hints={})))
        _check_runs_on_cpu(BY_IR[front.language], kernel)
        if may_be_refused(progress.stages[_SOURCE]):
            await self._compile_for_target(asked, kernel)
        names = [item.name for item in kernel.facts.parameters if item.name in binding.signature]
        return KernelIr(
            key,
            _SOURCE,
            progress.stages[_SOURCE],
            list(job.texts),
            [path for name in names for path in runtime_paths(name, binding.signature[name])],
            _warnings(progress),
            progress.stdout,
            fp_fusion=fuses(job),
        )

    async def _compile_for_target(self, job: CompileJob, kernel: KernelSource) -> None:
        """Compile `job` to assembly. Raises CompilationFailed where its target refuses the kernel.

        Other failures, such as a lack of time or of registers, do not prevent the run.
        """
        assembly = "ptx" if job.target.backend == "cuda" else "amdgcn"
        limit = TimeLimit(self._deadline.limit_s(job.timeout_s))
        tasks = self._compiling.tasks_of(amended(job, stop_after=assembly), Progress(), limit)
        run = self._compiling.run_of(tasks)
        try:
            binding = run.bind(kernel.reading)
            await run.back(await run.front(run.front_order(kernel.reading, binding)))
        except CompilationFailed as failure:
            if failure.slug in _REFUSED:
                raise

    async def _posted(self, job: CompileJob, key: str, progress: Progress) -> KernelIr:
        """Return posted IR as it is; a back child has parsed it."""
        ir = job.ir
        assert ir is not None
        _check_posted_runs_on_cpu(ir)
        job = amended(job, stop_after="ttir")
        limit = TimeLimit(self._deadline.limit_s(job.timeout_s))
        run = self._compiling.run_of(self._compiling.tasks_of(job, progress, limit))
        await run.lower_posted(ir)
        return KernelIr(
            key,
            ir.stage,
            progress.stages[ir.stage],
            list(job.texts),
            [item.name for item in progress.parameters],
            _warnings(progress),
            hints=compiled_hints(list(progress.parameters)),
            fp_fusion=fuses(job),
        )


def _key_of(job: CompileJob) -> str:
    """Return the key of the inputs of `job`'s IR, without alignments.

    Before any pass they are attributes of arguments, which a CPU does not read. Arguments equal to
    1 are constants, and count.
    """
    return job.key if job.ir is not None else specialized_job(job, job.specialization.unaligned).key


def may_be_refused(ir: bytes) -> bool:
    """Return whether a target's passes may refuse a conversion in `ir`.

    The text may be hostile, such as a printed prefix that repeats the operation: each line is
    searched once, while a regular expression would start again at each repetition.
    """
    rests = (line.partition(_CONVERSION)[2] for line in ir.split(b"\n"))
    return any(part in rest for rest in rests for part in _OF_SOME_TARGETS)


def fuses(job: CompileJob) -> bool:
    """Return whether products are fused with sums, which they are unless the options disable it."""
    return job.options.get("enable_fp_fusion") is not False


def _warnings(progress: Progress) -> list[Diagnostic]:
    return [item for item in progress.diagnostics if item.is_warning]


class IrFailed(Exception):
    """There is no IR: `failure` is the reason, and `progress` what was reached until then."""

    def __init__(self, failure: CompilationFailed, progress: Progress) -> None:
        super().__init__(str(failure))
        self.failure = failure
        self.progress = progress


def checked(job: CompileJob) -> CompileJob:
    """Return `job` with its assertions compiled in; integer overflow is looked for if asked.

    On a GPU `tl.device_assert` needs the option `debug`; the CPU device always looks.
    """
    options = job.options
    overflow = bool(options.get("debug")) and options.get("sanitize_overflow") is not False
    added = {"debug": True, "sanitize_overflow": overflow}
    known = {name: value for name, value in added.items() if name in options}
    return amended(job, options=options | known)


def runtime_paths(path: str, kind: Any) -> Iterator[str]:
    """Yield the paths of a parameter's values at run time, in order; its type is `kind`."""
    if isinstance(kind, list):
        for position, item in enumerate(kind):
            yield from runtime_paths(f"{path}.{position}", item)
    elif kind != _CONSTEXPR:
        yield path


def _check_runs_on_cpu(language: Language, kernel: KernelSource) -> None:
    """Raise CompilationFailed (NEEDS_GPU) for a kernel in a language that no CPU runs."""
    if language.not_on_cpu:
        message = (
            f"{kernel.facts.name} is a {language.title} kernel, which {language.not_on_cpu}, and "
            f"only {titles_with_ttir()} kernels run on the CPU device: launch it on a device with "
            "a GPU"
        )
        raise _needs_gpu(message, "user.py", kernel.facts.line)


def _check_posted_runs_on_cpu(ir: IrText) -> None:
    language = BY_NAME[ir.language]
    if language.not_on_cpu:
        message = (
            f"posted {language.title} {language.not_on_cpu}; the CPU device runs TTIR: post that, "
            "or launch it on a device with a GPU"
        )
        raise _needs_gpu(message, ir.path, 1)


def _needs_gpu(message: str, file: str, line: int) -> CompilationFailed:
    error = diagnostic("error", "frontend", message)
    return CompilationFailed(NEEDS_GPU, message, [replace(error, file=file, line=line)])

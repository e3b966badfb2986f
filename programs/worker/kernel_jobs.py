"""The compile jobs of a recorded program: one for each kernel that Triton's JIT would compile.

Launches with equal specializations share a job. Nothing is compiled here, and children read the
kernels' parameters from the source.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from compiler.job import CompileJob
from compiler.languages import BY_NAME as LANGUAGES
from compiler.languages import titles_with_ttir
from compiler.parameter_binding import BindingFailed
from compiler.problem import Problem, failure_problem
from compiler.rejection import RequestRejected
from compiler.request.compile_request import CompileRequest
from compiler.request.resolution import resolve, specialized_job
from compiler.specialization import Specialization
from compiler.stages import CompiledStage
from compiler.toolchain import Toolchain
from launch.request.inference import infer
from programs.program_job import CPU_TARGET
from programs.tape.schema import (
    LaunchValue,
    LaunchVariant,
    Tape,
    TapeLaunch,
    variant_on_cpu,
)
from programs.worker.launch_arguments import (
    LaunchSpecializations,
    ReadKernel,
    RecordedArguments,
    constants_key,
    launch_arguments,
)
from programs.worker.program_recordings import PostedKernel, ProgramTexts
from worker.compile.progress import CompilationFailed
from worker.launch.kernel_source import KernelSources, problem_of

"""The target of the GPU that the recorder imitates."""
TTIR: Final = "ttir"
NO_TTIR: Final = (
    f"It has no TTIR, which the CPU device runs: only {titles_with_ttir()} kernels have it. Run it "
    "on a GPU."
)
MAX_USES = 512
"""Limit of compiled kernels of one tape: each specialization counts."""
_AT_ONCE = 1_000
"""The number of arguments to look at before this task yields to others of its process."""


@dataclass(eq=False, slots=True)
class KernelUse:
    """A kernel with one specialization that launches of a tape use.

    If `job` is None, `problem` gives the reason.
    """

    kernel: str
    """Its name in the tape."""
    job: CompileJob | None
    problem: Problem | None = None
    is_own: bool = True
    """True if the job's source is the program's own, so that lines agree."""
    parameters: Sequence[str] = ()
    """The names of the kernel's parameters, in its order."""
    launches: int = 0
    """The number of launches in one call."""


class TooManyKernels(Exception):
    """A tape needs more compilations than one program may have."""

    def __init__(self) -> None:
        super().__init__(
            f"The program's launches need more than {MAX_USES} compilations. Pass values that "
            "change from launch to launch as run-time arguments, or list these in "
            "do_not_specialize."
        )


@dataclass(slots=True)
class KernelUses:
    """All uses of a tape's kernels, and the use of each launch, by its index among the ops."""

    of_launch: dict[int, KernelUse] = field(default_factory=dict)
    variants: dict[int, list[KernelUse]] = field(default_factory=dict)
    """The uses of each launch's variants that were requested; one if it is not autotuned."""
    by_key: dict[bytes, KernelUse] = field(default_factory=dict)
    """The uses by the digests of `LaunchSpecializations.key_of`."""
    _by_job: dict[tuple[str, str], KernelUse] = field(default_factory=dict)
    _made: Counter[tuple[KernelUse, str]] = field(default_factory=Counter)

    @property
    def all(self) -> Sequence[KernelUse]:
        """Each use once, in the order of the first launches."""
        return list(self._by_job.values())

    def count(self, use: KernelUse, phase: str) -> None:
        """Count a launch. The two calls of a program may use a kernel in different ways."""
        self._made[use, phase] += 1
        use.launches = max(self._made[use, "run"], self._made[use, "run2"])

    def same(self, use: KernelUse) -> KernelUse:
        """Return the known use that is equal, else this one. Raises TooManyKernels."""
        identity = use.job.key if use.job is not None else str(use.problem)
        known = self._by_job.setdefault((use.kernel, identity), use)
        if len(self._by_job) > MAX_USES:
            raise TooManyKernels
        return known


@dataclass(frozen=True, slots=True)
class KernelJobs:
    """Finds the compile jobs of one program."""

    texts: ProgramTexts
    toolchain: Toolchain
    namespace: str
    sources: KernelSources
    timeout_s: float
    target: str = CPU_TARGET
    stop_after: CompiledStage | None = TTIR

    async def of(self, tape: Tape, *, all_variants: bool = False) -> KernelUses:
        """Return the tape's uses of its kernels; with `all_variants`, of those that autotuners try.

        Raises TooManyKernels, DeadlinePassed.
        """
        uses, specializations = KernelUses(), LaunchSpecializations()
        launches = [(at, op) for at, op in enumerate(tape.ops) if isinstance(op, TapeLaunch)]
        looked_at = _AT_ONCE
        for index, launch in launches:
            values = 1 + sum(map(_size, (*launch.args.values(), *launch.constexprs.values())))
            variants = _variants(launch)
            runs = variant_on_cpu(launch)
            for number in range(len(variants)) if all_variants else (runs,):
                looked_at += values
                if looked_at >= _AT_ONCE:
                    looked_at = 0
                    self.sources.deadline.check()
                    await asyncio.sleep(0)
                use = await self._use(tape, launch, variants[number], uses, specializations)
                uses.variants.setdefault(index, []).append(use)
                if number == runs:
                    uses.of_launch[index] = use
                if number == (0 if all_variants else runs):
                    uses.count(use, launch.phase)
        return uses

    async def _use(
        self,
        tape: Tape,
        launch: TapeLaunch,
        variant: LaunchVariant,
        uses: KernelUses,
        specializations: LaunchSpecializations,
    ) -> KernelUse:
        key = specializations.key_of(tape, launch, variant)
        if key not in uses.by_key:
            use = uses.same(await self._found(tape, launch, variant, specializations))
            uses.by_key[key] = use
            # reading the kernel may have changed its key
            uses.by_key[specializations.key_of(tape, launch, variant)] = use
        return uses.by_key[key]

    async def _found(
        self,
        tape: Tape,
        launch: TapeLaunch,
        variant: LaunchVariant,
        specializations: LaunchSpecializations,
    ) -> KernelUse:
        name, is_own = launch.kernel, True
        try:
            arguments = launch_arguments(tape, launch, variant.constexprs)
            text = self.texts.of(tape.kernels[name])
            is_own = text.is_own
            read = await self._read(text, arguments, variant, launch, specializations)
            if read.problem is not None or read.posted is None:
                return KernelUse(name, None, read.problem, is_own)
            inferred = infer(
                read.name, read.parameters, arguments.bound, dict(arguments.constexprs)
            )
            job = specialized_job(read.posted, inferred.specialization)
        except BindingFailed as failed:
            return KernelUse(name, None, _binding_problem(failed), is_own)
        except RequestRejected as rejected:
            problem = failure_problem("invalid_argument", str(rejected))
            return KernelUse(name, None, problem, is_own)
        return KernelUse(
            name, job, None, is_own, [parameter["name"] for parameter in read.parameters]
        )

    async def _read(
        self,
        text: PostedKernel,
        arguments: RecordedArguments,
        variant: LaunchVariant,
        launch: TapeLaunch,
        specializations: LaunchSpecializations,
    ) -> ReadKernel:
        """Return the kernel's parameters, which are read once for all run-time arguments."""
        constants = constants_key(launch, variant)
        if constants not in specializations.kernels:
            specializations.kernels[constants] = await self._read_anew(text, arguments, variant)
        return specializations.kernels[constants]

    async def _read_anew(
        self, text: PostedKernel, arguments: RecordedArguments, variant: LaunchVariant
    ) -> ReadKernel:
        try:
            request = CompileRequest(
                source=text.source,
                files=dict(text.files),
                kernel=text.name,
                target=self.target,
                options=dict(variant.options),
                stop_after=self.stop_after,
                timeout_s=self.timeout_s,
            )
            constants = Specialization(dict(arguments.constexprs))
            posted = await asyncio.to_thread(resolve, request, self.toolchain, self.namespace)
            facts = (await self.sources.read(specialized_job(posted, constants))).facts
        except RequestRejected as rejected:
            return ReadKernel(problem=failure_problem("invalid_argument", str(rejected)))
        except CompilationFailed as failure:
            return ReadKernel(problem=problem_of(failure))
        if self.stop_after == TTIR and not LANGUAGES[facts.language].has_ttir:
            return ReadKernel(problem=failure_problem("needs_gpu", NO_TTIR))
        parameters = [item.model_dump() for item in facts.parameters]
        return ReadKernel(posted, facts.name, parameters)


def _variants(launch: TapeLaunch) -> Sequence[LaunchVariant]:
    """Return the configurations of a launch; its own if it is not autotuned."""
    own = LaunchVariant(launch.grid, launch.constexprs, launch.options)
    return launch.variants or (own,)


def _size(value: LaunchValue) -> int:
    return sum(map(_size, value)) + 1 if isinstance(value, tuple) else 1


def _binding_problem(failed: BindingFailed) -> Problem:
    return failure_problem(failed.slug, str(failed), failed.parameter)

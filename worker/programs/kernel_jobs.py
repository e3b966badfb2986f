"""The compile jobs of a recorded program: what Triton's JIT would compile for each of its launches.

Launches that give their kernel the same to compile share a job. Nothing is compiled here; what a
source says of a kernel's parameters is found out in children.
"""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from compiler.job import CompileJob
from compiler.parameter_binding import BindingFailed
from compiler.problem import Problem, failure_problem
from compiler.rejection import RequestRejected
from compiler.request.compile_request import CompileRequest, Stage
from compiler.request.resolution import resolve, specialized_job
from compiler.specialization import Specialization
from compiler.toolchain import Toolchain
from launch.request.inference import infer
from programs.tape.schema import (
    Launch,
    LaunchValue,
    LaunchVariant,
    Tape,
    TapeKernel,
    variant_on_cpu,
)
from worker.compile.progress import CompilationFailed
from worker.launch.kernel_source import KernelSources, detail_of
from worker.programs.launch_arguments import RecordedArguments, launch_arguments
from worker.programs.program_texts import PostedKernel, ProgramTexts

TARGET = "cuda:90"
"""What the recorder stands in for."""
TTIR: Final = "ttir"
MOST_USES = 512
"""Kernels in all the ways in which one tape has them compiled."""
_AT_ONCE = 1_000
"""Arguments looked at until others of this process may go on."""


@dataclass(eq=False, slots=True)
class KernelUse:
    """A kernel as launches of a tape use it: one for each way in which it is compiled.

    `job` None: `problem` says why there is none.
    """

    kernel: str
    """Its name in the tape."""
    job: CompileJob | None
    problem: Problem | None = None
    is_own: bool = True
    """Whether the job's own source is the program's."""
    parameters: Sequence[str] = ()
    """The names of the kernel's parameters, in its order."""
    launches: int = 0
    """In one call."""


class TooManyKernels(Exception):
    """A tape has more compiled than one program may."""

    def __init__(self) -> None:
        super().__init__(
            f"The program launches its kernels in more than {MOST_USES} ways that each have to be "
            "compiled: pass what changes from launch to launch as a run-time argument, or name it "
            "in do_not_specialize."
        )


@dataclass(slots=True)
class KernelUses:
    """All of them, and which one each launch of the tape is, by its index among the ops."""

    of_launch: dict[int, KernelUse] = field(default_factory=dict)
    variants: dict[int, list[KernelUse]] = field(default_factory=dict)
    """Of each launch, as far as they were asked for: of one that is not autotuned there is one."""
    _by_job: dict[tuple[str, str], KernelUse] = field(default_factory=dict)
    _made: Counter[tuple[KernelUse, str]] = field(default_factory=Counter)

    @property
    def all(self) -> Sequence[KernelUse]:
        """Each of them once, in the order of the first launches."""
        return list(self._by_job.values())

    def count(self, use: KernelUse, phase: str) -> None:
        """Count a launch; the two calls of a program may use a kernel in different ways."""
        self._made[use, phase] += 1
        use.launches = max(self._made[use, "run"], self._made[use, "run2"])

    def same(self, use: KernelUse) -> KernelUse:
        """Return the one that is known already and is the same. Raises TooManyKernels."""
        said = use.job.key if use.job is not None else str(use.problem)
        known = self._by_job.setdefault((use.kernel, said), use)
        if len(self._by_job) > MOST_USES:
            raise TooManyKernels
        return known


@dataclass(frozen=True, slots=True)
class KernelJobs:
    """Finds the jobs of one program."""

    texts: ProgramTexts
    toolchain: Toolchain
    namespace: str
    sources: KernelSources
    timeout_s: float
    target: str = TARGET
    stop_after: Stage | None = TTIR

    async def of(self, tape: Tape, *, all_variants: bool = False) -> KernelUses:
        """Return how the tape uses its kernels; `all_variants`: what autotuners try, too.

        Raises TooManyKernels, DeadlinePassed.
        """
        found, known = KernelUses(), dict[bytes, KernelUse]()
        launches = [(at, op) for at, op in enumerate(tape.ops) if isinstance(op, Launch)]
        looked_at = _AT_ONCE
        for index, launch in launches:
            values = _number_of_values(launch)
            variants = _variants(launch)
            runs = variant_on_cpu(launch)
            for number in range(len(variants)) if all_variants else (runs,):
                looked_at += values
                if looked_at >= _AT_ONCE:
                    looked_at = 0
                    self.sources.deadline.check()
                    await asyncio.sleep(0)
                use = await self._use(tape, launch, variants[number], found, known)
                found.variants.setdefault(index, []).append(use)
                if number == runs:
                    found.of_launch[index] = use
                if number == (0 if all_variants else runs):
                    found.count(use, launch.phase)
        return found

    async def _use(
        self,
        tape: Tape,
        launch: Launch,
        variant: LaunchVariant,
        found: KernelUses,
        known: dict[bytes, KernelUse],
    ) -> KernelUse:
        try:
            arguments = launch_arguments(tape, launch, variant.constexprs)
        except BindingFailed as failed:
            return found.same(KernelUse(launch.kernel, None, _binding_problem(failed)))
        told = f"{launch.kernel} {_told(arguments)} {sorted(variant.options.items())}"
        asked = hashlib.sha256(told.encode()).digest()  # there may be very many, and long ones
        if asked not in known:
            use = await self._found(tape.kernels[launch.kernel], launch.kernel, arguments, variant)
            known[asked] = found.same(use)
        return known[asked]

    async def _found(
        self, kernel: TapeKernel, name: str, arguments: RecordedArguments, variant: LaunchVariant
    ) -> KernelUse:
        try:
            text = self.texts.of(kernel)
        except BindingFailed as failed:
            return KernelUse(name, None, _binding_problem(failed))
        try:
            job, parameters = await self._job(text, arguments, variant)
        except BindingFailed as failed:
            problem = _binding_problem(failed)
        except RequestRejected as rejected:
            problem = failure_problem("invalid_argument", str(rejected))
        except CompilationFailed as failure:
            problem = failure_problem(failure.slug, detail_of(failure), failure.parameter)
        else:
            return KernelUse(name, job, None, text.is_own, parameters)
        return KernelUse(name, None, problem, text.is_own)

    async def _job(
        self, text: PostedKernel, arguments: RecordedArguments, variant: LaunchVariant
    ) -> tuple[CompileJob, Sequence[str]]:
        """Return the job of one launch, exactly as Triton's JIT would specialize it.

        Also the names of the kernel's parameters.
        """
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
        job = specialized_job(posted, constants)
        facts = (await self.sources.read(job)).facts
        parameters = [item.model_dump() for item in facts.parameters]
        inferred = infer(facts.name, parameters, arguments.bound, constants.named)
        names = [item.name for item in facts.parameters]
        return specialized_job(posted, inferred.specialization), names


def _variants(launch: Launch) -> Sequence[LaunchVariant]:
    """Return the configurations of a launch, that which the CPU device runs first."""
    own = LaunchVariant(launch.grid, launch.constexprs, launch.options)
    return launch.variants or (own,)


def _number_of_values(launch: Launch) -> int:
    """Return how much there is to look at in one variant of a launch."""
    return 1 + sum(map(_size, (*launch.args.values(), *launch.constexprs.values())))


def _size(value: LaunchValue) -> int:
    return sum(map(_size, value)) + 1 if isinstance(value, tuple) else 1


def _told(arguments: RecordedArguments) -> str:
    """Return the same text for arguments that are the same to a compiler."""
    bound = arguments.bound
    items = [item.model_dump_json() for item in bound.arguments.values()]
    constants = [(name, item.value) for name, item in arguments.constexprs.items()]
    return f"{list(bound.arguments)} {items} {constants}"


def _binding_problem(failed: BindingFailed) -> Problem:
    return failure_problem(failed.slug, str(failed), failed.parameter)

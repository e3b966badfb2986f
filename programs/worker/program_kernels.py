"""The compiled kernels of one tape: the IR of each launch, and the record of each kernel."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from compiler.compilation import Compilation, amended, compilation_url
from compiler.diagnostic import USER_FILE, Diagnostic
from compiler.json_number import written_number
from compiler.problem import Problem, failure_problem
from compiler.slug import STATIC_ASSERT
from launch.messages import Finding
from programs.program_job import program_problem
from programs.program_record import KernelConfiguration, ProgramKernel, ProgramProblem
from programs.tape.kernel_effects import NO_EFFECTS, KernelEffects, united_effects
from programs.tape.schema import (
    DtypeName,
    KernelArgument,
    LaunchVariant,
    Tape,
    TapeLaunch,
    variant_on_cpu,
)
from programs.worker.kernel_compiles import BuiltKernel, KernelCompiles
from programs.worker.kernel_jobs import NO_TTIR, KernelJobs, KernelUse
from worker.launch.cpu_device import warning_finding
from worker.launch.kernel_ir import KernelIr
from worker.launch.precision_causes import questionable

_ATOMIC = "tt.atomic_"
_MAX_WARNINGS = 64
_MAX_NAME_CHARS = 4096
"""Limit of one kernel's parameter names in a record: a program may have hundreds of kernels."""
_LEFT_OUT_BY_TUNERS = frozenset({"out_of_resources", "assembler_failed"})
NO_ALLOCATOR = "no_allocator"
_MAKES_DESCRIPTOR = "tt.make_tensor_descriptor"
_FIRST_WITH_DESCRIPTORS = 90
_WHAT_TO_WRITE = (
    "triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, "
    'device="cuda"))'
)


@dataclass(frozen=True, slots=True)
class ProgramKernels:
    """The compiled kernels of one program.

    `irs` are by the index of the launch among the tape's ops. A launch without one did not compile.
    """

    tape: Tape
    uses: Sequence[KernelUse]
    compiled: Mapping[str, BuiltKernel]
    """Kernels by compile key."""
    of_launch: Mapping[int, KernelUse]
    variants: Mapping[int, Sequence[KernelUse]] = field(default_factory=dict)
    """The uses of all variants of each launch, by its index, if all were asked for."""
    numbers: Mapping[int, int] = field(default_factory=dict)
    """The number of the variant that the CPU device runs, for each autotuned launch."""

    @property
    def answered(self) -> list[ProgramKernel]:
        """The kernels as they are in the record."""
        return self.answered_with({})

    def answered_with(self, fastest: Mapping[int, int]) -> list[ProgramKernel]:
        """Return the kernels as they are in the record, with the configurations of autotuned ones.

        `fastest` is the number of a launch's fastest variant, by the launch's index.
        """
        configurations = configurations_of(self.tape, self.variants, fastest)
        return [
            amended(self._answered(use), configuration=configurations.get(use)) for use in self.uses
        ]

    @property
    def left_out_warnings(self) -> list[str]:
        """Warnings about kernels with configurations that do not compile, and are left out."""
        counts = Counter(use.kernel for use in self.left_out)
        kernels = ((self.tape.kernels[name], count) for name, count in counts.items())
        return [
            f"{kernel.name} ({kernel.file}:{kernel.line}) is autotuned, and {count} of its "
            "configurations did not compile. They are left out, as in Triton's autotuner: see "
            "`kernels`."
            for kernel, count in kernels
        ]

    @property
    def irs(self) -> dict[int, KernelIr]:
        """The IR of each launch."""
        irs = {}
        for index, use in self.of_launch.items():
            ir = self._of(use).ir if use.job is not None else None
            if ir is not None:
                irs[index] = ir
        return irs

    @property
    def warnings(self) -> list[Finding]:
        """The compilers' warnings, without duplicates, up to a limit."""
        kernels = self.compiled.values()
        warnings = [warning_finding(item) for kernel in kernels for item in kernel.warnings]
        return list(dict.fromkeys(warnings))[:_MAX_WARNINGS]

    @property
    def has_atomics(self) -> bool:
        """True if instances of a kernel may observe in which order they ran."""
        return any(_ATOMIC in kernel.ttir for kernel in self.compiled.values())

    @property
    def questionable_irs(self) -> list[bytes]:
        """The TTIRs of kernels that may compute with too low a precision."""
        texts = (kernel.ttir.encode() for kernel in self.compiled.values())
        return list(filter(None, map(questionable, texts)))

    def effects(self) -> dict[str, KernelEffects | None]:
        """Return each kernel's effects, over all of its compilations."""
        effects: dict[str, KernelEffects | None] = {}
        for use in self.uses:
            if use.job is not None and (built := self._of(use)).ttir:
                before = effects.get(use.kernel, NO_EFFECTS)
                effects[use.kernel] = united_effects(before, built.effects)
        return effects

    def problem(self, program: str) -> ProgramProblem | None:
        """Return the problem of the first kernel that does not compile, at its line, or None."""
        left_out = self.left_out
        for use in self.uses:
            problem = self._problem(use)
            if problem is not None and use not in left_out:
                return self._at_its_line(use, problem, program)
        return None

    @property
    def left_out(self) -> frozenset[KernelUse]:
        """Variants that Triton's autotuner leaves out: they do not compile, and another does."""
        left_out = set[KernelUse]()
        needed = set[KernelUse]()
        for index, uses in self.variants.items():
            failed = {use for use in uses if self._is_left_out(use)}
            left_out |= failed
            if failed.issuperset(_runnable(self.tape, index, uses)):
                needed |= failed
        return frozenset(left_out - needed)

    def on_cpu(self) -> "ProgramKernels":
        """Return these kernels, with the variants that compile and that the CPU device runs."""
        numbers = {}
        for index, op in enumerate(self.tape.ops):
            if not isinstance(op, TapeLaunch) or len(op.variants) < 2:
                continue
            numbers[index] = variant_on_cpu(op, self.numbers_left_out(index))
        chosen = {
            index: self.variants[index][number]
            for index, number in numbers.items()
            if len(self.variants.get(index, ())) > 1
        }
        compiled = {key: _for_cpu(kernel) for key, kernel in self.compiled.items()}
        launches = {**self.of_launch, **chosen}
        return replace(self, compiled=compiled, numbers=numbers, of_launch=launches)

    def numbers_left_out(self, index: int) -> list[int]:
        """Return the numbers of a launch's variants that do not compile, if all were asked for."""
        op, uses = self.tape.ops[index], self.variants.get(index, ())
        assert isinstance(op, TapeLaunch)
        if len(uses) != len(op.variants):
            return []
        return [number for number, use in enumerate(uses) if self._is_left_out(use)]

    def with_variants(self, numbers: Mapping[int, int]) -> "ProgramKernels":
        """Return these kernels with other variants of some launches, by their index."""
        chosen = {index: self.variants[index][number] for index, number in numbers.items()}
        of_launch = {**self.of_launch, **chosen}
        return replace(self, numbers={**self.numbers, **numbers}, of_launch=of_launch)

    @property
    def lacks_variants(self) -> bool:
        """True if a launch's variant does not compile, so that another one must replace it."""
        return any(map(self._is_left_out, self.of_launch.values()))

    def built(self, use: KernelUse) -> BuiltKernel | None:
        """Return the compiled kernel of a use, None if there was nothing to compile."""
        return None if use.job is None else self._of(use)

    def _is_left_out(self, use: KernelUse) -> bool:
        problem = self._problem(use)
        if problem is None:
            return False
        return problem.slug in _LEFT_OUT_BY_TUNERS or problem.reason == STATIC_ASSERT

    def _of(self, use: KernelUse) -> BuiltKernel:
        assert use.job is not None
        return self.compiled[use.job.key]

    def _problem(self, use: KernelUse) -> Problem | None:
        return use.problem if use.job is None else self._of(use).problem

    def _answered(self, use: KernelUse) -> ProgramKernel:
        kernel, key = self.tape.kernels[use.kernel], None if use.job is None else use.job.key
        effects = None if use.job is None else self._of(use).effects
        return ProgramKernel(
            name=kernel.name,
            file=kernel.file,
            line=kernel.line,
            launches=use.launches,
            compilation_key=key,
            compilation_url=None if key is None else compilation_url(key),
            reads=None if effects is None else _sorted_names(effects.reads),
            writes=None if effects is None else _sorted_names(effects.writes),
            problem=self._problem(use),
        )

    def _at_its_line(self, use: KernelUse, problem: Problem, program: str) -> ProgramProblem:
        kernel = self.tape.kernels[use.kernel]
        file, line = kernel.file, kernel.line
        first = None if use.job is None else _first_error(self._of(use).compilation)
        if first is not None and first.file and (use.is_own or first.file != USER_FILE):
            file, line = first.file, first.line or line
        detail = problem.detail
        if first is not None and first.message in detail:
            detail = replace(first, message=detail).advice
        detail = f"{kernel.name}: {detail}"
        return program_problem(problem.slug, detail, program=program, file=file, line=line)


def _sorted_names(names: frozenset[str]) -> list[str] | None:
    """Return the names for a record, None if they exceed the limit of one kernel."""
    return sorted(names) if sum(map(len, names)) <= _MAX_NAME_CHARS else None


def _for_cpu(kernel: BuiltKernel) -> BuiltKernel:
    """Return the kernel, with a problem if the CPU device cannot run it."""
    if kernel.ir is not None or kernel.problem is not None:
        return kernel
    return BuiltKernel(kernel.compilation, problem=failure_problem("needs_gpu", NO_TTIR))


def _runnable(tape: Tape, index: int, uses: Sequence[KernelUse]) -> Sequence[KernelUse]:
    """Return the variants of a launch whose hooks were recorded."""
    launch = tape.ops[index]
    assert isinstance(launch, TapeLaunch)
    if len(uses) != len(launch.variants):
        return uses
    return [
        use for use, variant in zip(uses, launch.variants, strict=True) if not variant.unprepared
    ]


def _first_error(compilation: Compilation) -> Diagnostic | None:
    return next(
        (diagnostic for diagnostic in compilation.diagnostics if diagnostic.severity == "error"),
        None,
    )


async def compile_kernels(
    tape: Tape, jobs: KernelJobs, compiles: KernelCompiles, *, all_variants: bool, on_cpu: bool
) -> ProgramKernels:
    """Compile the kernels of `tape`; with `on_cpu`, choose variants for the CPU device.

    Raises TooManyKernels, DeadlinePassed, CallerBytesFull.
    """
    kernels = await _compiled(tape, jobs, compiles, all_variants=all_variants)
    if not on_cpu:
        return kernels
    if kernels.lacks_variants:
        kernels = await _compiled(tape, jobs, compiles, all_variants=True)
    return kernels.on_cpu()


async def _compiled(
    tape: Tape, jobs: KernelJobs, compiles: KernelCompiles, *, all_variants: bool
) -> ProgramKernels:
    uses = await jobs.of(tape, all_variants=all_variants)
    wanted = {use.job.key: use for use in uses.all if use.job is not None}
    compiled = await compiles.all(wanted)
    return ProgramKernels(tape, uses.all, compiled, uses.of_launch, uses.variants)


def configurations_of(
    tape: Tape, variants: Mapping[int, Sequence[KernelUse]], fastest: Mapping[int, int]
) -> dict[KernelUse, KernelConfiguration]:
    """Return the configuration of each use of an autotuned kernel.

    `variants` has all uses of a launch, `fastest` the number of its fastest variant; both are by
    the index of the launch.
    """
    configurations: dict[KernelUse, KernelConfiguration] = {}
    for index, uses in variants.items():
        op = tape.ops[index]
        if not isinstance(op, TapeLaunch) or len(op.variants) != len(uses):
            continue
        for number, use in enumerate(uses):
            was_fastest = configurations[use].is_fastest if use in configurations else None
            is_fastest = fastest[index] == number if index in fastest else None
            if use not in configurations or (is_fastest and not was_fastest):
                configurations[use] = _configuration(op.variants, number, is_fastest)
    return configurations


def _configuration(
    variants: Sequence[LaunchVariant], number: int, is_fastest: bool | None
) -> KernelConfiguration:
    """Return one of `variants`, with only those constants that differ among them."""
    own = variants[number]
    constants = {
        name: _shown(value)
        for name, value in own.constexprs.items()
        if any(variant.constexprs.get(name) != value for variant in variants)
    }
    options = dict(own.options)
    return KernelConfiguration(
        number=number, constexprs=constants, options=options, is_fastest=is_fastest
    )


def _shown(value: object) -> JsonValue:
    match value:
        case None | bool() | str():
            return value
        case int() | float():
            return written_number(value)
        case DtypeName():
            return value.name
        case KernelArgument():
            return value.kernel
        case tuple():
            return [_shown(item) for item in value]
    return str(value)


def launch_without_allocator(kernels: ProgramKernels) -> Finding | None:
    """Return a finding at the first launch that Triton would refuse, None without one."""
    for index, use in kernels.of_launch.items():
        launch = kernels.tape.ops[index]
        assert isinstance(launch, TapeLaunch)
        if launch.has_allocator or 0 in launch.grid or use.job is None:
            continue
        built = kernels.built(use)
        target = use.job.target
        needs_scratch = target.backend == "cuda" and int(target.arch) >= _FIRST_WITH_DESCRIPTORS
        if needs_scratch and built is not None and _MAKES_DESCRIPTOR in built.ttir:
            return _finding(kernels, launch)
    return None


def _finding(kernels: ProgramKernels, launch: TapeLaunch) -> Finding:
    kernel, place = kernels.tape.kernels[launch.kernel], launch.place
    message = (
        f"{kernel.name} makes a tensor descriptor, which needs global scratch memory, and no "
        "allocator is set: Triton raises a RuntimeError at this launch. Call "
        f"{_WHAT_TO_WRITE} before it."
    )
    return Finding(
        kind=NO_ALLOCATOR,
        message=message,
        file=place.file if place else None,
        line=place.line if place else None,
    )

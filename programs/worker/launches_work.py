"""The work of a program's launches in operations, and their share of all its work."""

from collections.abc import Mapping

from programs.tape.flow import flow_of
from programs.tape.kernel_work import KernelWork
from programs.tape.kernel_work_reader import kernel_work
from programs.tape.program_work import LaunchesWork, ProgramWork, WorkShares, program_work, shares
from programs.tape.schema import TapeLaunch, variant_on_cpu
from programs.worker.program_kernels import ProgramKernels

_MOST_STEPS = 4_000_000
"""Limit of steps of counting, over all launches of a tape: some two seconds of a thread."""
_MOST_TTIR_CHARS = 1 << 20
"""The work of a kernel with a longer TTIR is not counted."""
_CHARS_A_STEP = 2
"""The characters of TTIR that are read in the time of a step."""


def launches_work(kernels: ProgramKernels) -> LaunchesWork:
    """Return the operations of each launch of the first call; None if they cannot be counted.

    When counting would take too many steps, that launch and those after it have no entry.
    """
    works: dict[str, KernelWork] = {}
    known: dict[object, int | None] = {}
    found: dict[int, int | None] = {}
    steps = 0
    for index, use in kernels.of_launch.items():
        launch = kernels.tape.ops[index]
        built = kernels.built(use)
        if (
            not isinstance(launch, TapeLaunch)
            or launch.phase != "run"
            or not built
            or not built.ttir
        ):
            continue
        assert use.job is not None
        key = use.job.key
        if len(built.ttir) > _MOST_TTIR_CHARS:
            found[index] = None
            continue
        if key not in works:
            steps += len(built.ttir) // _CHARS_A_STEP
            if steps > _MOST_STEPS:
                break
            works[key] = kernel_work(built.ttir)
        work = works[key]
        numbers = _numbers(launch, work)
        asked = key, grid_of(launch, kernels.numbers.get(index)), tuple(numbers.items())
        if asked not in known:
            steps += work.steps
            if steps > _MOST_STEPS:
                break
            known[asked] = work.operations(numbers, asked[1])
        found[index] = known[asked]
    return found


def coverage_by_work(
    program: ProgramKernels, reference: ProgramKernels | None
) -> tuple[WorkShares | None, str | None]:
    """Return the shares of a program's work; or None, and a warning that says why.

    Without a reference there is neither, as the amount of necessary work is unknown.
    """
    if reference is None:
        return None, None
    done, needed = _work(program), _work(reference)
    if done.kernels is None or needed.total is None:
        whose = "program" if done.kernels is None else "reference"
        return None, (
            f"coverage is null: the work of a kernel of the {whose} cannot be counted before it "
            "runs, for instance because it loads the bounds of a loop."
        )
    found = shares(done, needed.total) if needed.total else None
    if found is None or found.coverage is None:
        return None, "coverage is null: the program does no work that can be counted."
    return found, None


def _work(kernels: ProgramKernels) -> ProgramWork:
    flow = flow_of(kernels.tape, kernels.effects())
    return program_work(kernels.tape, flow, launches_work(kernels))


def grid_of(launch: TapeLaunch, variant: int | None) -> tuple[int, int, int]:
    """Return the grid of `variant`; None: of the variant that the CPU device would run."""
    if not launch.variants:
        return launch.grid
    return launch.variants[variant_on_cpu(launch) if variant is None else variant].grid


def _numbers(launch: TapeLaunch, work: KernelWork) -> Mapping[str, int]:
    """Return the integer arguments that bound loops of the kernel, by parameter."""
    found = {name: launch.args.get(name) for name in work.parameters.values()}
    return {name: int(value) for name, value in found.items() if isinstance(value, int)}

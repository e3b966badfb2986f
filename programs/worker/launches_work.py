"""How much work the launches of a program are, and which share of all that is, where they ran."""

from collections.abc import Mapping

from programs.tape.flow import flow_of
from programs.tape.kernel_work import KernelWork
from programs.tape.kernel_work_reader import kernel_work
from programs.tape.program_work import LaunchesWork, ProgramWork, WorkShares, program_work, shares
from programs.tape.schema import TapeLaunch, variant_on_cpu
from programs.worker.program_kernels import ProgramKernels

_MOST_STEPS = 20_000_000
"""Of counting, over all launches of a tape: some ten seconds."""
_CHARS_A_STEP = 2
"""Read in the time of a step."""


def launches_work(kernels: ProgramKernels) -> LaunchesWork:
    """Return the operations of each launch of a first call, as far as they follow from numbers.

    Launches behind the first that would take too many steps have none.
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
    """Return who does a program's work beside its reference's, or None and why that is not known.

    Without a reference there is neither: nothing says how much work there is.
    """
    if reference is None:
        return None, None
    done, needed = _work(program), _work(reference)
    if done.kernels is None or needed.total is None:
        whose = "program" if done.kernels is None else "reference"
        return None, (
            f"coverage is null: how much a kernel of the {whose} does is not known before it "
            "runs: bounds of a loop are loaded, say."
        )
    found = shares(done, needed.total) if needed.total else None
    if found is None or found.coverage is None:
        return None, "coverage is null: there is no work to be shared."
    return found, None


def _work(kernels: ProgramKernels) -> ProgramWork:
    flow = flow_of(kernels.tape, kernels.effects())
    return program_work(kernels.tape, flow, launches_work(kernels))


def grid_of(launch: TapeLaunch, variant: int | None) -> tuple[int, int, int]:
    """Return the grid of the variant that runs, or would run first."""
    if not launch.variants:
        return launch.grid
    return launch.variants[variant_on_cpu(launch) if variant is None else variant].grid


def _numbers(launch: TapeLaunch, work: KernelWork) -> Mapping[str, int]:
    """Return the integers that a launch gives to parameters from which bounds of loops come."""
    found = {name: launch.args.get(name) for name in work.parameters.values()}
    return {name: int(value) for name, value in found.items() if isinstance(value, int)}

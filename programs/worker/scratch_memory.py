"""Finds launches of kernels that need global scratch memory, without an allocator to provide it.

Triton allocates that memory at each launch, and raises if the program never called
`triton.set_allocator`. On CUDA 9.0 and newer, a kernel needs it for the tensor descriptors that it
makes; older GPUs, and AMD's, have none.
"""

from launch.messages import Finding
from programs.tape.schema import TapeLaunch
from programs.worker.program_kernels import ProgramKernels

NO_ALLOCATOR = "no_allocator"
_MAKES_DESCRIPTOR = "tt.make_tensor_descriptor"
_FIRST_WITH_DESCRIPTORS = 90
_WHAT_TO_WRITE = (
    "triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, "
    'device="cuda"))'
)


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

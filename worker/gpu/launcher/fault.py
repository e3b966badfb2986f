"""Faults of a kernel on a GPU: CUDA's errors under the names that verdicts use.

This module never imports CUDA.
"""

from enum import StrEnum


class GpuFault(StrEnum):
    """A kernel's fault, or the reason why it could not run. Verdicts use the same values."""

    DOES_NOT_FIT = "does_not_fit"
    ILLEGAL_ACCESS = "illegal_access"
    OUT_OF_BOUNDS = "out_of_bounds"
    MISALIGNED_ACCESS = "misaligned_access"
    ASSERTION_FAILED = "assertion_failed"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    CRASHED = "crashed"


_BY_NAME = {
    "CUDA_ERROR_ILLEGAL_ADDRESS": GpuFault.ILLEGAL_ACCESS,
    "CUDA_ERROR_INVALID_ADDRESS_SPACE": GpuFault.ILLEGAL_ACCESS,
    "CUDA_ERROR_MISALIGNED_ADDRESS": GpuFault.MISALIGNED_ACCESS,
    "CUDA_ERROR_ASSERT": GpuFault.ASSERTION_FAILED,
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": GpuFault.DOES_NOT_FIT,
    "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE": GpuFault.DOES_NOT_FIT,
    "CUDA_ERROR_INVALID_CLUSTER_SIZE": GpuFault.DOES_NOT_FIT,
    "CUDA_ERROR_OUT_OF_MEMORY": GpuFault.OUT_OF_MEMORY,
    "CUDA_ERROR_LAUNCH_TIMEOUT": GpuFault.TIMEOUT,
    "CUDA_ERROR_LAUNCH_FAILED": GpuFault.CRASHED,
    "CUDA_ERROR_ILLEGAL_INSTRUCTION": GpuFault.CRASHED,
    "CUDA_ERROR_HARDWARE_STACK_ERROR": GpuFault.CRASHED,
    "CUDA_ERROR_INVALID_PC": GpuFault.CRASHED,
}

NOT_LOADABLE = frozenset(
    f"CUDA_ERROR_{name}"
    for name in (
        "INVALID_IMAGE",
        "NO_BINARY_FOR_GPU",
        "INVALID_PTX",
        "UNSUPPORTED_PTX_VERSION",
        "INVALID_SOURCE",
        "NOT_FOUND",
    )
)
"""Errors of a kernel that was built for another GPU or driver."""

_HARMLESS = frozenset({GpuFault.DOES_NOT_FIT, GpuFault.OUT_OF_MEMORY, GpuFault.OUT_OF_BOUNDS})

MESSAGES = {
    GpuFault.ILLEGAL_ACCESS: "The kernel accessed memory outside its arguments. Check masks and "
    "offsets.",
    GpuFault.MISALIGNED_ACCESS: "The kernel accessed an address that is not a multiple of the "
    "element size. Check pointer casts and offsets.",
    GpuFault.ASSERTION_FAILED: "An assertion of the kernel failed; its text is in stdout.",
    GpuFault.DOES_NOT_FIT: "The kernel needs more registers, threads or shared memory than a "
    "multiprocessor of this GPU has. Use smaller blocks, or fewer warps or stages.",
    GpuFault.OUT_OF_MEMORY: "The GPU does not have enough free memory for the arguments. Use "
    "smaller ones.",
    GpuFault.TIMEOUT: "The GPU's driver stopped the kernel at the driver's own time limit.",
    GpuFault.CRASHED: "The kernel ended with a GPU error.",
}


def fault_of(error_name: str) -> GpuFault | None:
    """Return the kernel's fault for the CUDA error `CUDA_ERROR_...`; None for other errors."""
    return _BY_NAME.get(error_name)


def leaves_context(fault: GpuFault) -> bool:
    """Return True if the CUDA context still works after `fault`; other faults destroy it."""
    return fault in _HARMLESS


class KernelFault(Exception):
    """Ends a run with a fault of the kernel; `error` is CUDA's name for it, if it has one."""

    def __init__(self, fault: GpuFault, message: str, error: str | None = None) -> None:
        super().__init__(message)
        self.fault = fault
        self.error = error


class JobFailed(Exception):
    """Ends a job for a reason that is not the kernel's fault.

    `slug` is malformed_job, module_not_loadable or device_error.
    """

    def __init__(self, slug: str, message: str) -> None:
        super().__init__(message)
        self.slug = slug

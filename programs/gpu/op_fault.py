"""Turns an error of the GPU into a fault of the op that was running. Uses no CUDA."""

from __future__ import annotations

from typing import TYPE_CHECKING

from programs.tape.schema import AtenOp, Op
from worker.gpu.launcher.fault import (
    MESSAGES,
    GpuFault,
    JobFailed,
    KernelFault,
    fault_of,
    leaves_context,
)

if TYPE_CHECKING:  # its module needs CUDA
    from worker.gpu.launcher.device import CudaError


class OpFault(Exception):
    """Ends a replay with a fault of op `index`; with `leaves_context`, the GPU still works."""

    def __init__(self, fault: KernelFault, index: int, *, leaves_context: bool) -> None:
        super().__init__(str(fault))
        self.fault, self.index, self.leaves_context = fault, index, leaves_context


def op_fault(error: CudaError, index: int, op: Op | None) -> OpFault:
    """Return the fault of op `index`, which was running when the error came.

    If `op` is None, several were. Raises JobFailed for errors that no kernel causes.
    """
    kind = fault_of(error.name)
    if kind is None:
        raise JobFailed("device_error", str(error))
    leaves = leaves_context(kind)
    words = MESSAGES[kind]
    if isinstance(op, AtenOp):
        kind, words = _of_aten(kind, op)
    elif kind is GpuFault.CRASHED:
        words = f"{words} ({error.name})"
    return OpFault(KernelFault(kind, words, error.name), index, leaves_context=leaves)


def _of_aten(kind: GpuFault, op: AtenOp) -> tuple[GpuFault, str]:
    if kind is GpuFault.ASSERTION_FAILED:
        return GpuFault.OUT_OF_BOUNDS, f"{op.op} got an index that is out of range."
    if kind in (GpuFault.ILLEGAL_ACCESS, GpuFault.MISALIGNED_ACCESS):
        return kind, f"{op.op} accessed memory outside of its tensors."
    return kind, f"{op.op} ended with a GPU error."

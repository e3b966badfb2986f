"""Chooses the fastest variant of an autotuned launch, as Triton's autotuner does.

All variants are timed at the first use of a launch, on its arguments, and what they may write is
restored. This uses torch, but no CUDA API.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import TYPE_CHECKING

from programs.replay.live_tensors import LiveTensors
from programs.tape.schema import Tape, TapeLaunch, TensorRef, tensors_of
from worker.gpu.launcher.fault import GpuFault, JobFailed, KernelFault

if TYPE_CHECKING:  # tests choose variants without CUDA
    from programs.gpu.cuda_timing import CudaTiming

LaunchVariant = Callable[[int], None]
_RUNS = 7
"""The timed runs of each variant, after an untimed one."""
_MAX_MS = 50.0
"""Limit of the time of a variant's runs; a slow one has fewer."""
_HEAD_START_US = 100.0


class VariantChoice:
    """Chooses once for each kernel and kind of arguments. Asked at each use of a launch."""

    def __init__(self, tape: Tape, device: CudaTiming) -> None:
        self._tape, self._device = tape, device
        self._known: dict[object, int] = {}

    def variant_of(
        self, op: TapeLaunch, names: Sequence[str], tensors: LiveTensors, launch: LaunchVariant
    ) -> int:
        """Return the variant that a launch runs; `names` are the kernels of its variants.

        A variant without a name cannot run. `launch` queues a variant on the current stream. Raises
        CudaError, and KernelFault if no variant can run.
        """
        usable = [at for at, name in enumerate(names) if name]
        if len(usable) == 1:
            return usable[0]
        key = (op.kernel, op.grid, tuple(names), self._argument_key(op))
        if key not in self._known:
            self._known[key] = self._fastest(op, usable, tensors, launch)
        return self._known[key]

    def _fastest(
        self, op: TapeLaunch, usable: Sequence[int], tensors: LiveTensors, launch: LaunchVariant
    ) -> int:
        arguments = _Arguments(self._tape, op, tensors)
        times_us: dict[int, float] = {}
        fault: KernelFault | None = None
        for variant in usable:
            try:
                times_us[variant] = self._time_us(variant, launch, arguments)
            except KernelFault as error:
                if error.fault is not GpuFault.DOES_NOT_FIT:
                    raise
                fault = error  # Triton's autotuner leaves these out, too
        arguments.restore()
        if not times_us:
            raise fault or JobFailed("malformed_job", f"a launch of {op.kernel} has no variant")
        return min(times_us, key=lambda number: times_us[number])

    def _time_us(self, variant: int, launch: LaunchVariant, arguments: _Arguments) -> float:
        measured_us: list[float] = []
        marks = self._device.marks()
        try:
            for run in range(_RUNS + 1):
                arguments.restore()
                self._device.head_start(_HEAD_START_US, flush_l2=True)
                marks.begin()
                marks.mark()
                launch(variant)
                marks.mark()
                times_us = marks.intervals_us()
                measured_us += times_us if run else ()
                if sum(measured_us) + times_us[0] > _MAX_MS * 1000:
                    return median(measured_us or times_us)
        finally:
            marks.close()
        return median(measured_us)

    def _argument_key(self, op: TapeLaunch) -> object:
        """Return the key of a choice, which distinguishes all that Triton's keys do."""
        key_parts: list[object] = []
        for name, value in op.args.items():
            metas = [self._tape.tensors[id_] for id_ in tensors_of(value)]
            tensors = tuple([(meta.dtype, meta.shape, meta.strides) for meta in metas])
            key_parts.append((name, tensors) if metas else (name, type(value), value))
        return tuple(key_parts)


class _Arguments:
    """Copies of the tensors that a launch may write, from before it."""

    def __init__(self, tape: Tape, op: TapeLaunch, tensors: LiveTensors) -> None:
        ids = [id_ for value in op.args.values() for id_ in tensors_of(value)]
        storages = {tape.tensors[id_].storage for id_ in ids}
        self._places = [tensors.octets(storage) for storage in sorted(storages)]
        self._contents = [place.clone() for place in self._places]
        zeroed = (op.args.get(name) for name in op.reset_to_zero)
        self._zeroed = [tensors.get(value.id) for value in zeroed if isinstance(value, TensorRef)]

    def restore(self) -> None:
        """Restore them, and zero what the autotuner zeroes before each run."""
        for place, content in zip(self._places, self._contents, strict=True):
            place.copy_(content)
        for tensor in self._zeroed:
            tensor.zero_()

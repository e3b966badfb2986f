"""The runs that are timed: which buffers each of them gets. Imported in launchers only."""

from collections.abc import Sequence
from typing import Any

from cuda.bindings import driver as cu

from worker.cuda.bench import Bench
from worker.cuda.buffers import Buffers, Pristine
from worker.cuda.contents import Contents
from worker.cuda.driver import check
from worker.cuda.fault import Fault, KernelFault
from worker.cuda.job import LaunchJob
from worker.cuda.kernel import Kernel
from worker.cuda.stopwatch import Work

MOST_SETS = 64
_PART_OF_FREE_MEMORY = 0.5


class Rotation:
    """Runs of one kernel on several sets of buffers, one after the other, round and round.

    With one set, every run has the same addresses. With many, a run finds inputs at addresses that
    no run has touched since the last round: nothing that a kernel, a cache or an address
    translation could keep of them. All sets hold equal values, so outputs stay comparable.
    """

    def __init__(self, kernel: Kernel, pristine: Pristine, sets: Sequence[Buffers]) -> None:
        self._kernel = kernel
        self._pristine = pristine
        self._sets = sets
        self._turn = 0

    @property
    def current(self) -> Buffers:
        """The buffers of the run that was queued last."""
        return self._sets[self._turn % len(self._sets)]

    @property
    def work(self) -> Work:
        """What a stopwatch times."""
        return Work(self._launch, self._restore, self._pristine.operations)

    def _restore(self) -> None:
        self._turn += 1
        self._pristine.restore(self.current)

    def _launch(self) -> None:
        self._kernel.launch(self.current.parameters)


def fresh_sets(
    bench: Bench, job: LaunchJob, contents: Contents, first: Buffers, wanted: int
) -> list[Buffers]:
    """Return `wanted` sets equal to `first`, or as many as fit into half of the free memory.

    At most 64, and `first` is one of them. Raises KernelFault where there is no room for a second
    one, CudaError, JobFailed.
    """
    page = bench.device.granularity_bytes
    set_bytes = sum((size // page + 1) * page for size in contents.sizes_bytes)
    free: Any = check(cu.cuMemGetInfo(), "asking for free memory")
    room = int(free[0] * _PART_OF_FREE_MEMORY) // max(1, set_bytes)
    if room < 1:
        message = (
            f"timing.fresh_inputs needs the arguments twice; one more set takes {set_bytes} bytes, "
            f"and {free[0]} are free. Leave it out, or launch with smaller arguments."
        )
        raise KernelFault(Fault.OUT_OF_MEMORY, message)
    sets = [first]
    for _ in range(max(1, min(wanted, MOST_SETS, room + 1) - 1)):
        sets.append(Buffers(bench, job, contents))
        sets[-1].copy(first)
    return sets

"""State that a launcher keeps between its caller's jobs. Imported in launchers only."""

import numpy as np

from worker.gpu.inputs.uniform_values import UniformValues
from worker.gpu.launcher.device import GpuDevice
from worker.gpu.launcher.guarded_memory import GuardedMemory
from worker.gpu.launcher.kept_inputs import KeptBudget, KeptInputs
from worker.gpu.launcher.memory_checks import MemoryChecks
from worker.gpu.launcher.tensor_map import TensorMaps
from worker.gpu.launcher.timing import Clocks, Stopwatch
from worker.gpu.timing_integrity.register_clearing import RegisterClearing
from worker.gpu.timing_integrity.run_comparison import RunComparison

_WARM_BLOCKS = 4


class LauncherContext:
    """A GPU with memory, clocks and a stopwatch, for one job after the other."""

    def __init__(self, device: GpuDevice, budget: KeptBudget | None = None) -> None:
        self.device = device
        self.memory = GuardedMemory(device)
        self.checks = MemoryChecks(device)
        self.comparison = RunComparison(device, self.memory)
        self.registers = RegisterClearing(device)
        self.uniform = UniformValues(device)
        budget = budget or KeptBudget.of(device)
        self.inputs = KeptInputs(device, self.memory, self.checks, self.uniform, budget)
        self.clocks = Clocks(device.uuid)
        self.maps = TensorMaps(device.driver_version)
        self._stopwatch: Stopwatch | None = None

    def warm_up(self) -> None:
        """Do once what is slow the first time, so that no job waits for it. Raises CudaError."""
        number = np.random.Generator(np.random.Philox(0)).normal(size=1).view(np.uint8)
        blocks = [
            self.memory.take(number.nbytes, 16, is_argument=True) for _ in range(_WARM_BLOCKS)
        ]
        for block in blocks:
            self.memory.write(block.address, number)
            self.memory.copy(block.address, blocks[0].address, block.size_bytes)
            self.memory.damage(block)
        self.checks.ask(
            [self.checks.digest_of(block.address, block.size_bytes) for block in blocks]
        )
        self.uniform.prove(self.memory)
        self.memory.scrub()

    @property
    def stopwatch(self) -> Stopwatch:
        """Made when the first job is timed."""
        if self._stopwatch is None:
            self._stopwatch = Stopwatch(self.device, self.memory, self.clocks, self.registers.clear)
        return self._stopwatch

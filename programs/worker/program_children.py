"""The children that record and replay programs: two zygotes with torch, started on first use.

A recording child runs user code and sees no values. A replaying child sees values and runs no user
code. They never share a process.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

from programs.replay.replay_order import MAX_OUTPUT_BYTES
from programs.tape.kernel_effects import KernelEffects
from programs.tape.schema import MAX_TAPE_BYTES
from worker.compile.lru_cache import LRUCache
from worker.launch.launch_children import TORCH_ENVIRONMENT, is_torch_here
from worker.pool.child_outcome import Caps
from worker.pool.idle_time import IdleTime
from worker.pool.pool import LazyPool, Pool
from worker.pool.zygote_client import ZygoteToolchain

ENVIRONMENT = TORCH_ENVIRONMENT | {
    "CUDA_VISIBLE_DEVICES": "",
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
}
"""One thread, and no GPU.

NVML is asked for GPUs: by default, torch's check for one would start the driver and a thread.
"""
RECORDER_TASKS = "programs.recorder.record_tasks"
EFFECTS_TASKS = "programs.replay.effects_tasks"
REPLAY_TASKS = "programs.replay.replay_tasks"
MAX_EFFECTS_BYTES = 8 << 20
"""Limit of the report about the kernels that one child reads."""
_BESIDE_BYTES = 1 << 20
"""The size allowed to a child's report, besides its tape or outputs."""


@dataclass(frozen=True, slots=True)
class ProgramChildren:
    """The pools of one toolchain, whose environment has torch."""

    recorder: LazyPool
    replay: LazyPool
    readers: LazyPool
    """Children that read TTIRs. Their zygote has no torch."""
    effects: LRUCache[KernelEffects]
    """The effects of kernels that they read."""
    tensor_bytes: int
    """Limit of the memory of all tensors of a program in its replay."""

    async def started(self) -> tuple[Pool, Pool]:
        """Return the pools that record and that replay, both warm. Raises ZygoteError."""
        return await asyncio.gather(self.recorder.started(), self.replay.started())

    async def close(self) -> None:
        """End all pools."""
        await asyncio.gather(self.recorder.close(), self.replay.close(), self.readers.close())


def program_children(
    toolchain: ZygoteToolchain, on_outdated: Callable[[], None], idle: IdleTime
) -> ProgramChildren | None:
    """Return the children of programs; None if torch is not installed.

    `toolchain` has the settings of the zygotes of launches, on which these are based.
    """
    if not is_torch_here():
        return None

    def lazy(tasks: str, spares: dict[str, int], result_bytes: int) -> LazyPool:
        own = replace(toolchain, tasks_module=tasks, environment=ENVIRONMENT)
        caps = Caps(result_bytes=result_bytes + _BESIDE_BYTES)
        return LazyPool(
            lambda: Pool(own, spares=spares, caps=caps, on_outdated=on_outdated, idle=idle)
        )

    return ProgramChildren(
        recorder=lazy(RECORDER_TASKS, {"record": 1}, MAX_TAPE_BYTES),
        replay=lazy(REPLAY_TASKS, {"back": 1}, MAX_OUTPUT_BYTES),
        readers=reading_children(toolchain, on_outdated, idle),
        effects=LRUCache(),
        tensor_bytes=toolchain.limits["back"].memory_bytes * 3 // 4,
    )


def reading_children(
    toolchain: ZygoteToolchain, on_outdated: Callable[[], None], idle: IdleTime
) -> LazyPool:
    """Return the children that read what kernels do to their parameters."""
    own = replace(toolchain, tasks_module=EFFECTS_TASKS, environment={})
    caps = Caps(result_bytes=MAX_EFFECTS_BYTES)
    return LazyPool(lambda: Pool(own, spares={}, caps=caps, on_outdated=on_outdated, idle=idle))

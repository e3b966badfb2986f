"""The children that record and replay programs: two zygotes with torch, started when first needed.

A recording child runs user code and sees no value; a replaying child sees values and runs no user
code. They never share a process.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

from programs.replay.replay_order import MOST_OUTPUT_BYTES
from programs.tape.tape_bounds import MAX_TAPE_BYTES
from worker.launch.launch_children import TORCH_ENVIRONMENT, is_torch_here
from worker.pool.child_outcome import Caps
from worker.pool.idle_time import IdleTime
from worker.pool.pool import Pool
from worker.pool.zygote_client import ZygoteToolchain

ENVIRONMENT = TORCH_ENVIRONMENT | {
    "CUDA_VISIBLE_DEVICES": "",
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
}
"""One thread, and no GPU. A build of torch for CUDA looks for none: what asks whether there is one
would start the driver, and with it a thread, unless it may go by what is visible.
"""
RECORDER_TASKS = "programs.recorder.record_tasks"
REPLAY_TASKS = "programs.replay.replay_tasks"
_BESIDE_BYTES = 1 << 20
"""What a child reports beside a tape or outputs."""


class LatePool:
    """A pool of children that starts with the first who asks for it."""

    def __init__(self, make: Callable[[], Pool]) -> None:
        self._make = make
        self._pool: Pool | None = None
        self._starting = asyncio.Lock()

    async def started(self) -> Pool:
        """Return the pool, its zygote warm. Raises ZygoteError."""
        async with self._starting:
            if self._pool is None:
                pool = self._make()
                await pool.start()
                self._pool = pool
        return self._pool

    async def close(self) -> None:
        """End its children, if there are any; it starts again with who asks next."""
        async with self._starting:
            pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close()


@dataclass(frozen=True, slots=True)
class ProgramChildren:
    """Of one toolchain, whose environment has torch."""

    recorder: LatePool
    replay: LatePool
    tensor_bytes: int
    """What all tensors of a program may take at one time in its replay."""

    async def started(self) -> tuple[Pool, Pool]:
        """Return the pools that record and that replay, both warm. Raises ZygoteError."""
        return await asyncio.gather(self.recorder.started(), self.replay.started())

    async def close(self) -> None:
        """End them."""
        await asyncio.gather(self.recorder.close(), self.replay.close())


def program_children(
    toolchain: ZygoteToolchain, on_outdated: Callable[[], None], idle: IdleTime
) -> ProgramChildren | None:
    """Return the children of programs; None where torch is not installed.

    `toolchain` is how zygotes of launches are started.
    """
    if not is_torch_here():
        return None

    def late(tasks: str, spares: dict[str, int], result_bytes: int) -> LatePool:
        own = replace(toolchain, tasks_module=tasks, environment=ENVIRONMENT)
        caps = Caps(result_bytes=result_bytes + _BESIDE_BYTES)
        return LatePool(
            lambda: Pool(own, spares=spares, caps=caps, on_outdated=on_outdated, idle=idle)
        )

    return ProgramChildren(
        recorder=late(RECORDER_TASKS, {"record": 1}, MAX_TAPE_BYTES),
        replay=late(REPLAY_TASKS, {"back": 1}, MOST_OUTPUT_BYTES),
        tensor_bytes=toolchain.limits["back"].memory_bytes * 3 // 4,
    )

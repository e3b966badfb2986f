"""A program launcher for tests on a GPU, and the program that most of them run."""

from __future__ import annotations

import asyncio
import os

import numpy as np

from programs.gpu.program_launcher import BOOTSTRAP
from tests.gpu.program_tapes import t
from worker.gpu.supervisor.launcher_process import LauncherCommand, LauncherProcess

COUNT = 98_432


class Launcher:
    """A program launcher that restarts after it ended."""

    def __init__(self) -> None:
        path = os.environ.get("PYTHONPATH")
        environment = {"PYTHONPATH": path} if path else {}
        self.command = LauncherCommand(bootstrap=BOOTSTRAP, environment=environment)
        self.loop = asyncio.new_event_loop()
        self.process: LauncherProcess | None = None
        self.starts = 0

    def run(self, order, deadline_s=30.0):
        return self.loop.run_until_complete(self._run(order, deadline_s))

    async def _run(self, order, deadline_s):
        if self.process is None:
            self.process = LauncherProcess(self.command, 0)
            await self.process.start()
            self.starts += 1
        outcome = await self.process.run(order, deadline_s)
        if not outcome.clean:
            await self.process.close()
            self.process = None
        return outcome

    def close(self):
        if self.process is not None:
            self.loop.run_until_complete(self.process.close())
        self.loop.close()


def floats(outcome, name):
    """Return an output of that name."""
    return np.frombuffer(bytes(outcome.outputs[name]), np.float32)


def adding(tape, inputs):
    """Call the vector add of Triton's first tutorial."""
    x, y = inputs
    out = tape.empty([COUNT])
    args = {"x_ptr": t(x), "y_ptr": t(y), "output_ptr": t(out), "n_elements": COUNT}
    tape.launch("add", args, -(-COUNT // 1024), n_elements="i32")
    return [out, x, y]

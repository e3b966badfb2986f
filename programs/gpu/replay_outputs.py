"""Sends the outputs of calls to the worker, or keeps them for a comparison on the GPU.

Only program launchers import this.
"""

import numpy as np
import torch

from launch.buffers.element_types import Array
from programs.gpu.program_context import GpuProgramContext
from programs.gpu.timed_call import octets_of
from programs.replay.replay_order import MAX_OUTPUT_BYTES
from worker.gpu.launcher.run_outputs import Send, send_output

OutputIndex = tuple[int, int]
"""An output: the number of its call, and its position there."""


class SentOutputs:
    """Sends all outputs; `most_bytes` is the size of both calls' outputs."""

    most_bytes: int | None = MAX_OUTPUT_BYTES

    def __init__(self, context: GpuProgramContext, send: Send) -> None:
        self._context, self._send = context, send

    def take(self, place: OutputIndex, tensor: torch.Tensor) -> None:
        """Send an output. Raises CudaError."""
        self._context.send_tensor(self._send, f"output:{named(place)}", tensor)

    def take_unwritten(self, place: OutputIndex, flags: Array) -> None:
        """Send a bit for each element."""
        send_output(self._send, "unwritten", named(place), np.packbits(flags).tobytes())

    def take_input(self, place: OutputIndex, data: bytes) -> None:
        """Send the contents of a changed input."""
        send_output(self._send, "output", f"input:{named(place)}", data)


class KeptOutputs:
    """Sends only changed inputs; the replay makes `copies` of outputs after everything else."""

    most_bytes: int | None = None

    def __init__(self, send: Send, program: str = "") -> None:
        """`program` is the prefix of the names of inputs."""
        self._send, self._program = send, program
        self.copies: dict[OutputIndex, torch.Tensor] = {}
        """The bytes of outputs, with elements in C order."""
        self.unwritten: dict[OutputIndex, Array] = {}

    def keep(self, place: OutputIndex, tensor: torch.Tensor) -> None:
        """Keep a copy of an output."""
        self.copies[place] = octets_of(tensor).clone()

    def take(self, place: OutputIndex, tensor: torch.Tensor) -> None:
        """Do nothing."""

    def take_unwritten(self, place: OutputIndex, flags: Array) -> None:
        """Keep them."""
        self.unwritten[place] = flags

    def take_input(self, place: OutputIndex, data: bytes) -> None:
        """Send the contents of a changed input."""
        send_output(self._send, "output", f"{self._program}input:{named(place)}", data)


class DroppedOutputs:
    """Drops everything: for a reference that is only timed."""

    most_bytes: int | None = None

    def take(self, place: OutputIndex, tensor: torch.Tensor) -> None:
        """Do nothing."""

    def take_unwritten(self, place: OutputIndex, flags: Array) -> None:
        """Do nothing."""

    def take_input(self, place: OutputIndex, data: bytes) -> None:
        """Do nothing."""


def named(place: OutputIndex) -> str:
    """Return the name of an output in frames."""
    return f"{place[0]}:{place[1]}"

"""Sends the outputs of calls to the worker, or keeps them for a comparison on the GPU.

Only program launchers import this.
"""

from collections.abc import Callable

import numpy as np
import torch

from launch.buffers.element_types import Array
from programs.gpu.iteration_outputs import HeldOutput, octets_of
from programs.gpu.program_context import GpuProgramContext, close_output
from programs.replay.replay_order import MOST_OUTPUT_BYTES
from worker.gpu.launcher.run_outputs import Output, Send, send_output

_MOST_SHARED = 256
"""Limit of timed runs' outputs in shared memory: a launcher has 1,024 file descriptors."""
OutputIndex = tuple[int, int]
"""An output: the number of its call, and its position there."""


class SentOutputs:
    """Sends all outputs; `most_bytes` is the size of both calls' outputs."""

    most_bytes: int | None = MOST_OUTPUT_BYTES

    def __init__(self, context: GpuProgramContext, send: Send) -> None:
        self._context, self._send = context, send
        self._held = 0
        """The number of timed runs' outputs, of which each may have a file descriptor."""

    def take(self, place: OutputIndex, tensor: torch.Tensor) -> None:
        """Send an output. Raises CudaError."""
        self._context.send_tensor(self._send, f"output:{named(place)}", tensor)

    def take_unwritten(self, place: OutputIndex, flags: Array) -> None:
        """Send a bit for each element."""
        send_output(self._send, "unwritten", named(place), np.packbits(flags).tobytes())

    def take_input(self, place: OutputIndex, data: bytes) -> None:
        """Send the contents of a changed input."""
        send_output(self._send, "output", f"input:{named(place)}", data)

    def hold_iteration(self, tensor: torch.Tensor) -> HeldOutput:
        """Return a copy of a timed run's output, to be sent later. Raises CudaError."""
        self._held += 1
        may_share = self._held <= _MOST_SHARED
        return _SentLater(self._context.read(tensor, may_share=may_share), self._send, self._drop)

    def _drop(self) -> None:
        self._held -= 1


class _SentLater:
    """An output that was read and waits to be sent."""

    def __init__(self, output: Output, send: Send, dropped: Callable[[], None]) -> None:
        self._output, self._send, self._dropped = output, send, dropped

    def send(self, stage: str) -> None:
        kind, _, name = stage.partition(":")
        send_output(self._send, kind, name, self._output)

    def drop(self) -> None:
        close_output(self._output)
        self._dropped()


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

    def hold_iteration(self, _: torch.Tensor) -> HeldOutput:
        """Hold nothing: timed runs are only counted as equal or differing."""
        return _NotSent()


class DroppedOutputs:
    """Drops everything: for a reference that is only timed."""

    most_bytes: int | None = None

    def take(self, place: OutputIndex, tensor: torch.Tensor) -> None:
        """Do nothing."""

    def take_unwritten(self, place: OutputIndex, flags: Array) -> None:
        """Do nothing."""

    def take_input(self, place: OutputIndex, data: bytes) -> None:
        """Do nothing."""

    def hold_iteration(self, _: torch.Tensor) -> HeldOutput:
        """Hold nothing."""
        return _NotSent()


class _NotSent:
    """An output that is not sent."""

    def send(self, stage: str) -> None:
        """Do nothing."""

    def drop(self) -> None:
        """Do nothing."""


def named(place: OutputIndex) -> str:
    """Return the name of an output in frames."""
    return f"{place[0]}:{place[1]}"

"""Where what calls return goes: to the worker, or nowhere, to be compared on the GPU.

Imported in program launchers only.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from launch.buffers.element_types import Array
from programs.gpu.iteration_outputs import HeldOutput, octets_of
from programs.gpu.program_context import GpuProgramContext, close_output
from programs.replay.replay_order import MOST_OUTPUT_BYTES
from worker.gpu.launcher.run_outputs import Output, Send, send_output

_MOST_SHARED = 256
"""Outputs of repeats that are held as memory to share: a launcher has 1,024 descriptors."""
Place = tuple[int, int]
"""An output: the number of its call, and its position there."""


class SentOutputs:
    """Sends all of it; `most_bytes` are those of the outputs of both calls."""

    most_bytes: int | None = MOST_OUTPUT_BYTES

    def __init__(self, context: GpuProgramContext, send: Send) -> None:
        self._context, self._send = context, send
        self._held = 0
        """Outputs of repeats, of which each may have a descriptor."""

    def take(self, place: Place, tensor: torch.Tensor) -> None:
        """Send an output. Raises CudaError."""
        self._context.send_tensor(self._send, f"output:{named(place)}", tensor)

    def take_unwritten(self, place: Place, flags: Array) -> None:
        """Send a bit for each element."""
        send_output(self._send, "unwritten", named(place), np.packbits(flags).tobytes())

    def take_input(self, place: Place, data: bytes) -> None:
        """Send what was left in an input."""
        send_output(self._send, "output", f"input:{named(place)}", data)

    def hold_iteration(self, tensor: torch.Tensor) -> HeldOutput:
        """Return an output of a repeat, ready to be sent. Raises CudaError."""
        self._held += 1
        may_share = self._held <= _MOST_SHARED
        return _SentLater(self._context.read(tensor, may_share=may_share), self._send, self._drop)

    def _drop(self) -> None:
        self._held -= 1


class _SentLater:
    """An output that was read."""

    def __init__(self, output: Output, send: Send, dropped: Callable[[], None]) -> None:
        self._output, self._send, self._dropped = output, send, dropped

    def send(self, stage: str) -> None:
        kind, _, name = stage.partition(":")
        send_output(self._send, kind, name, self._output)

    def drop(self) -> None:
        close_output(self._output)
        self._dropped()


class KeptOutputs:
    """Sends changed inputs alone; `copies` are the replay's own, made when all else is over."""

    most_bytes: int | None = None

    def __init__(self, send: Send, program: str = "") -> None:
        """`program` is put before the names of inputs."""
        self._send, self._program = send, program
        self.copies: dict[Place, torch.Tensor] = {}
        """The bytes of outputs, elements in C order."""
        self.unwritten: dict[Place, Array] = {}

    def keep(self, place: Place, tensor: torch.Tensor) -> None:
        """Keep a copy of an output."""
        self.copies[place] = octets_of(tensor).clone()

    def take(self, place: Place, tensor: torch.Tensor) -> None:
        """Do nothing."""

    def take_unwritten(self, place: Place, flags: Array) -> None:
        """Keep them."""
        self.unwritten[place] = flags

    def take_input(self, place: Place, data: bytes) -> None:
        """Send what was left in an input."""
        send_output(self._send, "output", f"{self._program}input:{named(place)}", data)

    def hold_iteration(self, _: torch.Tensor) -> HeldOutput:
        """Hold nothing: repeats are told apart by whether they differ."""
        return _NotSent()


class _NotSent:
    """An output that stays where it is."""

    def send(self, stage: str) -> None:
        """Do nothing."""

    def drop(self) -> None:
        """Do nothing."""


def named(place: Place) -> str:
    """Return the name of an output in frames."""
    return f"{place[0]}:{place[1]}"

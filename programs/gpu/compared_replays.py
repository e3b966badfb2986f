"""Replays a program and its reference on one GPU, and compares outputs that are too large to send.

The program goes first, so that its kernels cannot find the reference's results in memory. Only
program launchers import this.
"""

from dataclasses import replace
from typing import Any

import torch

from launch.buffers.element_types import Array
from programs.gpu.device_replay import DeviceReplay, out_of_memory
from programs.gpu.program_context import GpuProgramContext
from programs.gpu.program_order import COMPARE, ProgramOrder
from programs.gpu.replay_outputs import KeptOutputs, OutputIndex, SentOutputs, named
from programs.replay.checked_tapes import outputs_of
from programs.replay.device_comparison import DeviceUnwritten, compare_on_device
from programs.replay.operators import DTYPES
from programs.replay.program_run import tensors_in
from programs.replay.replay_order import CALLS
from programs.tape.schema import Tape, TensorMeta
from worker.gpu.launcher.launcher_order import BESIDE
from worker.gpu.launcher.run_outputs import Send

REFERENCE = "reference"


def perform(context: GpuProgramContext, order: ProgramOrder, send: Send) -> dict[str, Any]:
    """Run an order, with or without a reference; see `DeviceReplay.perform`."""
    if order.reference is not None:
        return ComparedReplays(context, order, send).perform()
    return DeviceReplay(context, order, send, SentOutputs(context, send)).perform()


class ComparedReplays:
    """One order with a reference. `send` takes frames."""

    def __init__(self, context: GpuProgramContext, order: ProgramOrder, send: Send) -> None:
        self._context, self._order, self._send = context, order, send

    def perform(self) -> dict[str, Any]:
        """Return the program's result, with `compared` if both finished.

        Raises the errors of `DeviceReplay.perform`.
        """
        order = self._order
        assert order.reference is not None
        kept, kept_reference = KeptOutputs(self._send), KeptOutputs(self._send, f"{REFERENCE}:")
        report, tape = self._replayed(replace(order, reference=None), kept)
        if not _is_sound(report):
            return report
        self._stage(BESIDE)
        other, of = self._replayed(order.reference, kept_reference)
        outputs = self._compared(tape, kept, of, kept_reference) if _is_sound(other) else {}
        return report | {"compared": {"outputs": outputs, REFERENCE: other}}

    def _replayed(self, order: ProgramOrder, kept: KeptOutputs) -> tuple[dict[str, Any], Tape]:
        replay = DeviceReplay(self._context, order, self._send, kept)
        return replay.perform(), replay.tape

    def _compared(
        self, tape: Tape, kept: KeptOutputs, of: Tape, kept_reference: KeptOutputs
    ) -> dict[str, Any]:
        """Return summary and comparison of each pair of outputs. Raises JobFailed."""
        self._stage(COMPARE)
        compared: dict[str, Any] = {}
        for place, (ours, theirs) in _pairs(tape, of).items():
            tolerance = self._order.tolerances.get(place[1])
            if tolerance is None or (ours.dtype, ours.shape) != (theirs.dtype, theirs.shape):
                continue
            actual = _elements(kept.copies.pop(place), ours)
            expected = _elements(kept_reference.copies.pop(place), theirs)
            flags = [
                self._flags(outputs.unwritten.get(place)) for outputs in (kept, kept_reference)
            ]
            missing = DeviceUnwritten(*flags)
            with out_of_memory():
                summary, comparison = compare_on_device(
                    actual, expected, ours.dtype, tolerance, missing
                )
                is_written = bool(expected.numel()) and missing.expected is None
                only_nan = is_written and bool(expected.isnan().all())
            compared[named(place)] = {
                "summary": summary,
                "comparison": comparison,
                "expects_only_nan": only_nan,
            }
        return compared

    def _stage(self, name: str) -> None:
        """Announce to the worker which program runs from now on."""
        self._send({"kind": "stage", "stage": name, "ms": 0.0}, b"")

    def _flags(self, unwritten: Array | None) -> torch.Tensor | None:
        if unwritten is None:
            return None
        return torch.from_numpy(unwritten).to(self._context.torch_device)


def _is_sound(report: dict[str, Any]) -> bool:
    return report["ending"] == "finished" and not report["findings"]


def _pairs(tape: Tape, of: Tape) -> dict[OutputIndex, tuple[TensorMeta, TensorMeta]]:
    """Return the metadata of outputs that both have, by place."""
    pairs = {}
    for call in range(len(CALLS)):
        sides = [tensors_in(outputs_of(side, call)) for side in (tape, of)]
        for position, ((_, ours), (_, theirs)) in enumerate(zip(*sides, strict=False)):
            pairs[call, position] = tape.tensors[ours], of.tensors[theirs]
    return pairs


def _elements(octets: torch.Tensor, meta: TensorMeta) -> torch.Tensor:
    return octets.view(DTYPES[meta.dtype]).reshape(meta.shape)

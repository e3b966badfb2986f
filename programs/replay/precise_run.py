"""Runs the calls of a tape in fp64, on what an ordinary run has before its first call."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import torch

from launch.buffers.element_types import Array
from launch.messages import Finding, Tolerance
from programs.replay.checked_tapes import check_memory
from programs.replay.live_tensors import LiveTensors, in_order
from programs.replay.operators import DTYPES
from programs.replay.program_run import ProgramRun, ReplayOptions, ReplayStopped
from programs.replay.replayed_launches import NoLaunches
from programs.replay.storage_lifetimes import lifetimes
from programs.tape.schema import InvalidTape, Phase, Tape
from programs.tape.varied_tape import NotWidened, used_in_calls, widened

NOT_PRECISE = "not_precise"
"""The finding that calls cannot run in fp64."""
_SHARE = 0.5
"""The share of a tolerance that rounding may use up where an element counts."""


class PreciseRun:
    """The calls of a tape in fp64."""

    def __init__(self, tape: Tape, run: ProgramRun, how: ReplayOptions, memory_bytes: int) -> None:
        """Copy what is alive in `run`, before its first call. Raises `ReplayStopped`."""
        with _as_stop():
            wide = widened(tape)
        needed = lifetimes(wide)
        check_memory(wide, needed, memory_bytes, "the CPU device")
        how = replace(how, checks=(), may_round=True)
        self._run = ProgramRun(wide, needed, NoLaunches(), how, {})
        self._run.begin_calls(_alive(tape, wide, run.tensors))

    def run(self, phase: Phase) -> None:
        """Run a call. Raises `ReplayStopped` if that fails in fp64."""
        usual = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)  # the type of floats that integers become
        try:
            with _as_stop():
                self._run.run(phase)
        finally:
            torch.set_default_dtype(usual)

    def output(self, id_: int) -> torch.Tensor:
        """Return an output of the last call."""
        return self._run.tensors.get(id_)

    def differing(self, id_: int, rounded: torch.Tensor, tolerance: Tolerance) -> Array:
        """Return flags, in C order, of elements of `rounded` that rounding has moved.

        Elements that are not finite are flagged, too.
        """
        ours, theirs = in_order(rounded), in_order(self._run.tensors.get(id_))
        if not theirs.is_floating_point():
            return _on_host(ours != theirs)
        ours = ours.double()
        allowed = theirs.abs() * tolerance.rtol + absolute(tolerance, theirs)
        agrees = (ours - theirs).abs() <= allowed * _SHARE
        return _on_host(~(agrees & ours.isfinite() & theirs.isfinite()))


def absolute(tolerance: Tolerance, expected: torch.Tensor) -> float:
    """Return the absolute part of a tolerance of these expected elements."""
    if tolerance.atol_scale == "absolute" or not expected.numel():
        return tolerance.atol
    finite = expected[expected.isfinite()].double()
    return tolerance.atol * float(finite.square().mean().sqrt()) if finite.numel() else 0.0


def _on_host(flags: torch.Tensor) -> Array:
    found: Array = flags.numpy()
    return found


@contextmanager
def _as_stop() -> Iterator[None]:
    """End the replay with a finding if something cannot run in fp64."""
    try:
        yield
    except (NotWidened, InvalidTape, ReplayStopped) as error:
        message = f"The calls cannot run in fp64: {error}"
        raise ReplayStopped(Finding(kind=NOT_PRECISE, message=message)) from error


def _alive(tape: Tape, wide: Tape, tensors: LiveTensors) -> dict[int, torch.Tensor]:
    """Return the bytes, in the wide tape's dtypes, of each storage that is alive."""
    found: dict[int, torch.Tensor] = {}
    for id_ in used_in_calls(tape):
        storage = tape.tensors[id_].storage
        if storage in found or not tensors.has(storage):
            continue
        octets = tensors.octets(storage)
        narrow, broad = (DTYPES[one.tensors[id_].dtype] for one in (tape, wide))
        if narrow is not broad:
            whole = octets[: octets.numel() // narrow.itemsize * narrow.itemsize]
            octets = whole.view(narrow).to(broad).view(torch.uint8)
        found[storage] = octets if narrow is not broad else octets.clone()
    return found

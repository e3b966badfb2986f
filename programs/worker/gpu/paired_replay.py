"""Replays a program and its reference in one turn, and compares them on the GPU.

This is for outputs that are too large to leave the GPU: only the comparison is sent.
"""

from dataclasses import replace

from jobs.deadline import Deadline
from launch.messages import Tolerance
from programs.replay.replay_order import MOST_OUTPUT_BYTES
from programs.tape.schema import Structure, Tape, TensorRef, by_path
from programs.worker.gpu.device_outcome import both_of
from programs.worker.gpu.gpu_replay import (
    DeviceProgram,
    ProgramGpu,
    ReplayTurn,
    order_of,
    placed_outcome,
    returned_bytes,
    too_large_order,
)
from programs.worker.output_tolerances import OutputTolerances
from programs.worker.program_comparison import compared_dtype
from programs.worker.replayed import Replayed
from worker.gpu.supervisor.launcher_protocol import LaunchEnding
from worker.pool.frame import FrameError


def is_too_large(tape: Tape) -> bool:
    """Return True if a program's outputs are too large to leave a GPU."""
    return returned_bytes(tape) > MOST_OUTPUT_BYTES


async def replay_pair(
    gpu: ProgramGpu,
    program: DeviceProgram,
    reference: DeviceProgram,
    how: ReplayTurn,
    allowed: OutputTolerances,
    deadline: Deadline,
) -> tuple[Replayed, Replayed]:
    """Return the replays of a program and its reference. Raises DeadlinePassed, DeviceCordoned."""
    of_reference = order_of(reference, how.of_reference, gpu.memory_bytes)
    order = replace(
        order_of(program, how, gpu.memory_bytes),
        beside=of_reference,
        tolerances=tolerances_of(program.tape, reference.tape, allowed),
    )
    try:
        async with deadline.bounding():  # the reference's time is not known when the turn begins
            outcome, step = await placed_outcome(gpu, order, how, deadline)
    except FrameError as error:
        return too_large_order(error, program.role), Replayed()
    if outcome.ending is LaunchEnding.DEADLINE:
        step.timed_out()
    return both_of(outcome, program.tape, reference.tape, how.timeout_s)


def tolerances_of(tape: Tape, reference: Tape, allowed: OutputTolerances) -> dict[int, Tolerance]:
    """Return the tolerances of outputs by position, of those that have a partner.

    A partner has the same position, path, shape and dtype in the reference, in both calls.
    """
    ours, theirs = ([_tensors(one, call) for call in (0, 1)] for one in (tape, reference))
    found: dict[int, Tolerance] = {}
    for position, first in enumerate(ours[0]):
        calls = zip(ours, theirs, strict=True)
        if all(_at(own, position) == _at(other, position) for own, other in calls):
            found[position] = allowed.of(first[0], compared_dtype(first[1]))
    return found


_Output = tuple[str, str, tuple[int, ...]]


def _tensors(tape: Tape, call: int) -> list[_Output]:
    """Return path, dtype and shape of each tensor that a call returns, in order."""
    returned: Structure = (tape.outputs, tape.outputs2)[call]
    return [
        (path, tape.tensors[value.id].dtype, tape.tensors[value.id].shape)
        for path, value in by_path(returned).items()
        if isinstance(value, TensorRef)
    ]


def _at(outputs: list[_Output], position: int) -> _Output | None:
    return outputs[position] if position < len(outputs) else None

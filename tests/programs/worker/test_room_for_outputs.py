"""A worker reserves memory for outputs from a GPU before a program and its reference run."""

import asyncio
from dataclasses import replace

import pytest

from jobs.deadline import Deadline
from programs.replay.replay_order import MAX_OUTPUT_BYTES
from programs.tape.read_tape import read_tape
from programs.worker.gpu.gpu_replay import ProgramGpu, returned_bytes
from tests.programs.unit.recorded import sent, vector_add
from worker.bytes_in_flight import BytesInFlight
from worker.gpu.supervisor.launchers import Launchers

pytestmark = pytest.mark.unit

TAPE = read_tape(sent(vector_add()))
ROOM_BYTES = 1 << 30


def returning(elements):
    """Return a tape whose calls return this many 4-byte numbers."""
    return replace(TAPE, tensors=[replace(one, shape=(elements,)) for one in TAPE.tensors])


SMALL = returning(1)
MUCH = returning(MAX_OUTPUT_BYTES // 8)
TOO_MUCH = returning(MAX_OUTPUT_BYTES)


async def has_room_beside(size_bytes, candidate, reference):
    """Return whether this much fits while a program is replayed with its reference."""
    gpu = ProgramGpu(Launchers([]), 0, BytesInFlight(ROOM_BYTES))
    async with gpu.room_for(candidate, reference, "ada", Deadline(60.0)):
        other = asyncio.create_task(gpu.in_flight.take(size_bytes, "bob"))
        await asyncio.sleep(0)
        had_room = other.done()
    await other
    return had_room


@pytest.mark.parametrize(
    ("candidate", "reference"), [(SMALL, MUCH), (MUCH, SMALL), (MUCH, MUCH), (MUCH, None)]
)
async def test_what_either_of_them_returns_takes_room(candidate, reference):
    assert returned_bytes(MUCH) == MAX_OUTPUT_BYTES

    assert not await has_room_beside(ROOM_BYTES - MAX_OUTPUT_BYTES + 1, candidate, reference)


@pytest.mark.parametrize(
    ("candidate", "reference"), [(TOO_MUCH, MUCH), (MUCH, TOO_MUCH), (TOO_MUCH, TOO_MUCH)]
)
async def test_what_is_compared_on_the_gpu_takes_none(candidate, reference):
    assert await has_room_beside(ROOM_BYTES, candidate, reference)


async def test_what_returns_little_leaves_room_for_others():
    assert await has_room_beside(ROOM_BYTES - MAX_OUTPUT_BYTES, SMALL, SMALL)

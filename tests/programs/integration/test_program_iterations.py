"""The comparing child checks timed iterations of a program against its reference."""

import struct
import sys
from pathlib import Path

import pytest

from programs.tape.schema import TensorMeta
from programs.worker.gpu.program_replays import compare_iterations
from programs.worker.output_tolerances import OutputTolerances
from programs.worker.replayed import Replayed, ReplayedTensor, TimedCall
from worker.launch.launch_children import ENVIRONMENT
from worker.pool.pool import Pool
from worker.pool.zygote_client import ZygoteToolchain

ROOT = Path(__file__).parents[3]
META = TensorMeta("fp32", "cuda", (64,), (1,), 0, 0)


@pytest.fixture
async def pool():
    toolchain = ZygoteToolchain(
        Path(sys.executable), ROOT, tasks_module="launch.launch_tasks", environment=ENVIRONMENT
    )
    pool = Pool(toolchain, spares={})
    await pool.start()
    yield pool
    await pool.close()


def call(value):
    return {"0": ReplayedTensor(META, struct.pack("<64f", *[value] * 64))}


REFERENCE = Replayed(calls=[call(1.0), call(2.0)])


async def test_repeats_that_match_are_reported(pool):
    sent = [TimedCall(3, 0, call(1.0)), TimedCall(9, 1, call(2.0))]
    found = await compare_iterations(pool, sent, REFERENCE, OutputTolerances())

    assert [(one.repeat, one.matches) for one in found.compared] == [(3, True), (9, True)]
    assert found.matches == [True, True]
    assert found.findings == []


async def test_a_repeat_that_kept_the_other_calls_answer_is_the_finding(pool):
    sent = [TimedCall(3, 0, call(1.0)), TimedCall(7, 1, call(1.0)), TimedCall(9, 0, call(2.0))]
    found = await compare_iterations(pool, sent, REFERENCE, OutputTolerances())

    assert [(one.repeat, one.matches) for one in found.compared] == [(3, True), (7, False)]
    (finding,) = found.findings
    assert (finding.kind, finding.argument) == ("mismatch", "0")
    assert "Timed run 7" in finding.message
    assert "second call" in finding.message


async def test_inputs_that_the_reference_changed_are_no_part_of_a_repeat(pool):
    changed = {"inputs[0]": ReplayedTensor(META, bytes(256))}
    reference = Replayed(calls=[call(1.0) | changed, call(2.0)])
    found = await compare_iterations(
        pool, [TimedCall(0, 0, call(1.0))], reference, OutputTolerances()
    )

    assert found.matches == [True]

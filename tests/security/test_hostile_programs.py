"""After any attack of a program on its recorder, the worker names it and records the next one."""

import json

import pytest
import pytest_asyncio

from jobs.deadline import Deadline, DeadlinePassed
from programs.recorder.record_order import RecordOrder
from programs.worker.program_recordings import NotRecorded, record_program
from tests.programs.unit.recorded import sent, vector_add
from worker.pool.child_outcome import Caps
from worker.pool.pool import Pool

pytestmark = pytest.mark.asyncio(loop_scope="session")

ORDER = RecordOrder(entries=[{"kind": "model", "class": "ModelNew"}])
TAPE = f'send({{"kind": "stage", "stage": "tape", "ms": 1.0}}, {sent(vector_add())!r})\n'


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def recorder(toolchain):
    """Return children that are hostile programs; a tape may have 1 MiB."""
    caps = Caps(result_bytes=1 << 20, output_bytes=1 << 16)
    pool = Pool(toolchain("tests.security.hostile_recorder"), spares={"record": 1}, caps=caps)
    await pool.start()
    yield pool
    await pool.close()


async def recorded(pool, source, timeout_s=20.0, deadline_s=60.0):
    body = json.dumps({"source": source, "files": {}}).encode()
    deadline = Deadline(deadline_s, what="program")
    return await record_program(pool, ORDER, body, "candidate", timeout_s, deadline)


@pytest_asyncio.fixture(loop_scope="session")
async def refused(recorder):
    """Return a function that gives a program's problem and checks that the next one is recorded."""

    async def refuse(source, **limits):
        with pytest.raises(NotRecorded) as raised:
            await recorded(recorder, source, **limits)
        after = await recorded(recorder, TAPE)
        assert len(after.tape.ops) == 4
        assert raised.value.problem.program == "candidate"
        return raised.value.problem

    return refuse


@pytest.mark.parametrize(
    ("source", "slug", "says"),
    [
        ("import os\nos._exit(0)", "sandbox_violation", "ended its own process"),
        ("import os, signal\nsignal.raise_signal(signal.SIGSEGV)", "recorder_crashed", "SIGSEGV"),
        ("import signal\nsignal.raise_signal(40)", "recorder_crashed", "signal 40"),
        ("x = bytearray(1 << 40)", "recorder_crashed", "memory"),
        ("print('x' * (1 << 20))", "sandbox_violation", "more output than is allowed"),
        (
            "send({'kind': 'stage', 'stage': 'tape', 'ms': 1.0}, b'[' * (2 << 20))",
            "sandbox_violation",
            "more output than is allowed",
        ),
        ("import os\nos.write(4, b'TRTD' + bytes(60))", "sandbox_violation", "an invalid report"),
        (TAPE + TAPE, "sandbox_violation", "an invalid report"),
        ("", "invalid_tape", "there is no tape"),
        ("answer = {}", "invalid_tape", "not_recordable"),
        ("answer['not_recordable'] = 7", "invalid_tape", "not_recordable"),
        (
            "answer['not_recordable'] = "
            "{'reason': 'because', 'detail': '', 'file': None, 'line': None}",
            "invalid_tape",
            "an unknown reason",
        ),
        (
            "answer['not_recordable'] = "
            "{'reason': 'clock', 'detail': '', 'file': 'x' * 999, 'line': None}",
            "invalid_tape",
            "file",
        ),
        ("raise SystemExit", "recorder_crashed", "SystemExit"),
    ],
)
async def test_what_a_program_does_to_its_recorder_has_a_name(refused, source, slug, says):
    problem = await refused(source)
    assert (problem.slug, problem.reason) == (slug, None), problem
    assert says in problem.detail


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"", "tape"),
        (b"{" * 100_000, "tape"),
        (b'{"tape": 1}', "tape"),
        (sent(vector_add() | {"storages": [1 << 60] * 6}), "/storages"),
        (sent(vector_add() | {"kernels": {}}), "kernel"),
        (sent(vector_add() | {"outputs": {"t": 99}}), "/outputs"),
    ],
)
async def test_a_forged_tape_is_refused_with_its_place(refused, text, says):
    problem = await refused(f'send({{"kind": "stage", "stage": "tape", "ms": 1.0}}, {text!r})')
    assert problem.slug == "invalid_tape"
    assert says in problem.detail


async def test_a_program_that_does_not_end_is_ended(refused):
    problem = await refused("while True:\n    pass", timeout_s=1.0)
    assert problem.slug == "record_timeout"
    assert "timeout_s = 1 s" in problem.detail


async def test_the_deadline_of_a_program_counts_for_its_recording(recorder):
    with pytest.raises(DeadlinePassed, match="The program was not over within deadline_s = 1 s"):
        await recorded(recorder, "while True:\n    pass", deadline_s=1.0)


@pytest.mark.parametrize(
    "attempt",
    [
        "open('/etc/passwd')",
        "__import__('os').listdir('/')",
        "__import__('os').stat('/dev/nvidiactl')",
        "__import__('os').open('/dev/nvidia0', 2)",
        "__import__('os').fork()",
        "__import__('socket').socket()",
        "__import__('os').execv('/bin/true', ['true'])",
    ],
)
async def test_nothing_outside_of_the_recorder_is_reached(recorder, attempt):
    source = f"try:\n    {attempt}\nexcept (OSError, ImportError):\n    pass\nelse:\n    1 / 0\n"
    assert (await recorded(recorder, source + TAPE)).tape.kernels


async def test_a_program_that_cannot_be_recorded_says_why_and_where(refused):
    reported = "{'reason': 'value_dependent', 'detail': 'item()', 'file': 'user.py', 'line': 7}"
    problem = await refused(f"answer['not_recordable'] = {reported}")
    assert (problem.slug, problem.reason) == ("not_recordable", "value_dependent")
    assert (problem.file, problem.line) == ("user.py", 7)
    assert problem.detail.endswith("item()")

"""A child may report each result of its job once, in plausible numbers."""

import pytest

from tests.security.test_forged_frames import TOOLS
from worker.pool.child_outcome import Ending

pytestmark = pytest.mark.asyncio(loop_scope="session")

KNOWN = ("source", "ttir")

STAGE = "STAGE = {'kind': 'stage', 'stage': 'ttir', 'ms': 1}\n"
FLOODS = {
    "unknown stages": "for n in range(10**6): send({**STAGE, 'stage': str(n)}, b'')",
    "one stage for ever": "while True: send(STAGE, b'')",
    "a stage twice": "for _ in '12': send(STAGE, b'')",
    "a name of 4 MB": "send({**STAGE, 'stage': 'x' * 4000000}, b'')",
    "more beside a stage": "send({**STAGE, 'x': 'y' * 10**6}, b'')",
}
TIMES = {
    "400 digits": "'1' + '0' * 400",
    "infinite": "'1e400'",
    "not a number": "'NaN'",
    "negative": "'-1'",
    "a year": "'31536000000'",
    "a truth": "'true'",
}
SEND_TIME = """
text = b'{"kind": "stage", "stage": "ttir", "ms": ' + (TIME).encode() + b'}'
os.write(4, struct.pack("<4sB16sII", b"TRTD", 1, job_nonce(), len(text), 0) + text)
"""


@pytest.mark.parametrize("source", FLOODS.values(), ids=FLOODS)
async def test_a_flood_of_stages_is_ended_before_it_is_announced(pool, source):
    heard = []
    outcome = await pool.run(
        "front",
        {"task": "execute"},
        (TOOLS + STAGE + source).encode(),
        deadline_s=60,
        stages=KNOWN,
        on_stage=heard.append,
    )
    assert outcome.ending is Ending.GARBAGE, outcome.detail
    assert [stage.name for stage in heard] in ([], ["ttir"])
    assert len(outcome.stages) <= 1
    assert len(outcome.detail) < 300


@pytest.mark.parametrize("time", TIMES.values(), ids=TIMES)
async def test_a_time_that_is_none_is_garbage(attack, time):
    outcome = await attack(TOOLS + SEND_TIME.replace("TIME", time), stages=KNOWN)
    assert outcome.ending is Ending.GARBAGE, outcome.detail
    assert outcome.stages == ()


@pytest.mark.parametrize("number", ["1e400", "-1e400", "1" + "0" * 5000])
async def test_a_report_holds_no_number_that_json_cannot_say(attack, number):
    source = f"""
text = b'{{"kind": "result", "x": {number}}}'
os.write(4, struct.pack("<4sB16sII", b"TRTD", 1, job_nonce(), len(text), 0) + text)
"""
    outcome = await attack(TOOLS + source)
    assert outcome.ending is Ending.GARBAGE, outcome.detail


async def test_what_was_printed_beyond_the_bound_is_said_to_be_missing(attack):
    outcome = await attack("print('spam ' * 100000)")
    assert outcome.ending is Ending.OK
    assert outcome.stdout.startswith(b"spam ")
    assert len(outcome.stdout) < 70_000
    assert b"more bytes were not kept" in outcome.stdout

"""Anything but one whole answer of the child's own job is refused."""

import pytest

from worker.pool import frame
from worker.pool.child_outcome import Ending

pytestmark = pytest.mark.asyncio(loop_scope="session")

TOOLS = """
import json, os, signal, struct, sys

def job_nonce():
    frame = sys._getframe()
    while "job" not in frame.f_locals or not hasattr(frame.f_locals["job"], "nonce"):
        frame = frame.f_back
    return frame.f_locals["job"].nonce

def forge(header, nonce, body=b""):
    text = json.dumps(header).encode()
    return struct.pack("<4sB16sII", b"TRTD", 1, nonce, len(text), len(body)) + text + body

RESULT = {"kind": "result", "forged": True}
"""

GARBAGE = {
    "wrong nonce": "os.write(4, forge(RESULT, bytes(range(16))))",
    "no nonce": "os.write(4, forge(RESULT, bytes(16)))",
    "ready again": "os.write(4, forge({'kind': 'ready'}, bytes(16)))",
    "walls fell": "os.write(4, forge({'kind': 'sandbox', 'message': ''}, bytes(16)))",
    "noise": "os.write(4, os.urandom(100))",
    "text": "os.write(4, b'Traceback (most recent call last)')",
    "two results": "os.write(4, forge(RESULT, job_nonce()))",
    "trailing bytes": "os.write(4, forge(RESULT, job_nonce()) + b'x'); os._exit(0)",
    "cut short": "os.write(4, forge(RESULT, job_nonce())[:-3]); os._exit(0)",
    "unknown kind": "os.write(4, forge({'kind': 'surprise'}, job_nonce()))",
    "stage without a name": "send({'kind': 'stage', 'ms': 1}, b'')",
    "failure without words": "os.write(4, forge({'kind': 'failure'}, job_nonce())); os._exit(0)",
    "header is a list": "os.write(4, forge([1], job_nonce()))",
    "not a number": "os.write(4, forge({'kind': 'result', 'x': float('nan')}, job_nonce()))",
    "deep JSON": "h = b'[' * 100000; os.write(4, struct.pack('<4sB16sII', b'TRTD', 1, job_nonce(),"
    " len(h), 0) + h)",
    "announces 4 GB": "os.write(4, struct.pack('<4sB16sII', b'TRTD', 1, job_nonce(), 9,"
    " 2**32 - 1))",
    "version 2": "os.write(4, struct.pack('<4sB16sII', b'TRTD', 2, job_nonce(), 0, 0))",
}


@pytest.mark.parametrize("source", GARBAGE.values(), ids=GARBAGE)
async def test_bytes_that_are_no_frame_of_this_job_are_garbage(attack, source):
    outcome = await attack(TOOLS + source)
    assert outcome.ending is Ending.GARBAGE, outcome
    assert outcome.result is None
    assert outcome.failure is None


ENDS = {
    "os._exit(0)": Ending.SILENT,
    "os._exit(3)": Ending.SILENT,
    "os.close(4); os._exit(0)": Ending.SILENT,
    "send({'kind': 'stage', 'stage': 'ttir', 'ms': 1}, b'x'); os._exit(0)": Ending.SILENT,
    "os.abort()": Ending.SIGNAL,
    "import ctypes; ctypes.string_at(0)": Ending.SIGNAL,
    "import signal; signal.raise_signal(signal.SIGSEGV)": Ending.SIGNAL,
    "sys.exit(0)": Ending.FAILURE,
    "raise KeyboardInterrupt": Ending.FAILURE,
    "(" * 200_000: Ending.FAILURE,
}


@pytest.mark.parametrize(("source", "ending"), ENDS.items(), ids=[name[:40] for name in ENDS])
async def test_every_way_to_leave_without_a_result_has_a_name(attack, source, ending):
    outcome = await attack(TOOLS + source, stages=("ttir",))
    assert outcome.ending is ending, outcome


async def test_the_stages_before_a_crash_are_kept(attack):
    source = "send({'kind': 'stage', 'stage': 'ttir', 'ms': 1.5}, b'module'); os.abort()"
    outcome = await attack(TOOLS + source, stages=("ttir",))
    assert outcome.signal == 6
    assert [(stage.name, stage.ms, stage.body) for stage in outcome.stages] == [
        ("ttir", 1.5, b"module")
    ]


async def test_a_broken_interpreter_is_a_named_ending(attack):
    source = (
        "import json, builtins, sys\njson.dumps = len = None\nsys.stdout = None\ndel sys.stderr"
    )
    outcome = await attack(source)
    assert outcome.ending in (Ending.FAILURE, Ending.SILENT, Ending.OK)


async def test_a_forged_answer_answers_only_its_own_job(attack, pool):
    """Code in the child can answer for it, so only the exact request may share the answer."""
    forged = await attack(TOOLS + "os.write(4, forge(RESULT, job_nonce())); os._exit(0)")
    assert forged.ending is Ending.OK
    assert forged.result["forged"] is True
    honest = await pool.run("front", {"task": "execute"}, b"answer = 1", deadline_s=60)
    assert honest.result["answer"] == 1
    assert "forged" not in honest.result


async def test_nothing_of_a_child_goes_on_after_its_answer(attack):
    source = "os.write(4, forge(RESULT, job_nonce())); os.close(4)\nwhile True: pass"
    outcome = await attack(TOOLS + source, deadline_s=30)
    assert (
        outcome.ending is Ending.OK
    )  # `attack` then runs the next job; lifetimes have their own tests


async def test_a_task_runs_in_its_own_profile_only(pool):
    """A back child may start programs, so user code must not run there, for any header."""
    outcome = await pool.run("back", {"task": "front"}, b"", deadline_s=60)
    assert outcome.ending is Ending.SILENT
    assert b"no task 'front' in a 'back' child" in outcome.stderr


async def test_a_job_that_is_too_big_is_refused_before_it_is_sent(pool):
    with pytest.raises(frame.FrameError, match="body has"):
        await pool.run("front", {"task": "empty"}, bytes(frame.MAX_BODY_BYTES + 1), deadline_s=60)

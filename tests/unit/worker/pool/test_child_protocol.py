"""A child's messages are accepted in one order only, and each way to end has one name."""

import pytest

from worker.pool.child_outcome import Ending, Usage
from worker.pool.child_protocol import ChildProtocol
from worker.pool.frame import NO_JOB, FrameError, encode

NONCE = bytes(range(16))
READY = encode(NO_JOB, {"kind": "ready"})
PREWARMED = encode(NO_JOB, {"kind": "prewarmed", "ms": 1, "error": None})
STAGE = encode(NONCE, {"kind": "stage", "stage": "ttir", "ms": 2}, b"module")
RESULT = encode(NONCE, {"kind": "result", "answer": 42})
FAILURE = {"kind": "failure", "slug": "s", "stage": None, "message": "m", "diagnostics": []}
EXITED, CRASHED, KILLED = 0, 1 << 8, 9


@pytest.fixture
def child():
    protocol = ChildProtocol(on_prewarmed=lambda: None, on_stage=lambda _: None)
    protocol.begin(NONCE, ["ttir"])
    return protocol


def test_a_result_is_ok(child):
    child.feed(READY + PREWARMED + STAGE + RESULT)
    assert child.verdict(EXITED) == (Ending.OK, "")
    assert child.last == {"kind": "result", "answer": 42}
    assert [stage.body for stage in child.stages] == [b"module"]


def test_a_failure_is_a_failure_with_the_stages_before_it(child):
    child.feed(READY + STAGE + encode(NONCE, FAILURE))
    assert child.verdict(EXITED)[0] is Ending.FAILURE
    assert len(child.stages) == 1


def test_stages_are_announced_as_they_arrive():
    announced = []
    child = ChildProtocol(on_prewarmed=lambda: None, on_stage=announced.append)
    child.begin(NONCE, ["ttir"])
    child.feed(READY + STAGE)
    assert [stage.name for stage in announced] == ["ttir"]


def test_usage_is_taken_out_of_the_answer(child):
    usage = {"cpu_s": 0.5, "max_rss_bytes": 1024}
    child.feed(READY + encode(NONCE, {"kind": "result", "usage": usage}))
    assert child.usage == Usage(0.5, 1024)
    assert child.last == {"kind": "result"}


@pytest.mark.parametrize(
    "said",
    [
        RESULT,
        READY + READY,
        READY + PREWARMED + PREWARMED,
        READY + RESULT + RESULT,
        READY + RESULT + b"x",
        READY + STAGE + PREWARMED,
        READY + encode(NO_JOB, {"kind": "result"}),
        READY + encode(NO_JOB, {"kind": "sandbox", "message": "it fell"}),
        READY + encode(bytes(15) + b"x", {"kind": "result"}),
        READY + encode(NONCE, {"kind": "stage", "stage": 1, "ms": 1}),
        READY + encode(NONCE, {**FAILURE, "diagnostics": ["text"]}),
        READY + encode(NONCE, {**FAILURE, "slug": None}),
    ],
    ids=range(12),
)
def test_what_breaks_the_order_is_refused(child, said):
    with pytest.raises(FrameError):
        child.feed(said)


@pytest.mark.parametrize(
    ("said", "status", "ending"),
    [
        (b"", EXITED, Ending.SANDBOX),
        (encode(NO_JOB, {"kind": "sandbox", "message": "m"}), CRASHED, Ending.SANDBOX),
        (READY, EXITED, Ending.SILENT),
        (READY + STAGE, EXITED, Ending.SILENT),
        (READY + RESULT, CRASHED, Ending.SILENT),
        (READY + RESULT[:-1], EXITED, Ending.GARBAGE),
        (READY + STAGE, KILLED, Ending.SIGNAL),
        (READY + RESULT, KILLED, Ending.SIGNAL),
        (READY, None, Ending.SIGNAL),
    ],
)
def test_every_other_end_has_its_name(child, said, status, ending):
    child.feed(said)
    assert child.verdict(status)[0] is ending

"""A launcher's messages about one job, and the outcome that they give."""

import pytest

from worker.gpu.launcher.launcher_order import BESIDE
from worker.gpu.launcher.output_memory import is_shared
from worker.gpu.supervisor.launcher_protocol import (
    MAX_NAMES_CHARS,
    MIN_SHARED_BYTES,
    LaunchEnding,
    LauncherProtocol,
)
from worker.gpu.supervisor.result_channel import Received
from worker.pool.frame import Frame, FrameError
from worker.pool.shared_bytes import SharedBytes

NONCE = b"n" * 16
LARGE = bytes(MIN_SHARED_BYTES)


def stage(name, body=b"", **more):
    return Frame(NONCE, {"kind": "stage", "stage": name, "ms": 0.0, **more}, body)


def last(**header):
    return Frame(NONCE, {"kind": "result", "fault": None, "clean": True, **header}, b"")


def brings(received, shared=None):
    """Return a frame as a channel delivers it, with its body or shared memory."""
    return Received(received, received.body if shared is None else SharedBytes([shared]))


def said(*frames):
    heard = LauncherProtocol(NONCE)
    for one in frames:
        heard.take(one if isinstance(one, Received) else brings(one))
    return heard


def test_pieces_of_an_output_are_put_together():
    heard = said(
        stage("run"),
        stage("output:x", b"abc", offset=0),
        stage("output:x", b"de", offset=3),
        stage("unwritten:x", b"\x80", offset=0),
        last(),
    )

    outcome = heard.outcome()

    assert outcome.ending is LaunchEnding.OK
    assert outcome.outputs == {"x": b"abcde"}
    assert outcome.unwritten == {"x": b"\x80"}
    assert outcome.stages == ("run",)
    assert outcome.clean


def test_a_fault_is_a_separate_ending():
    fault = {"kind": "illegal_access", "error": "CUDA_ERROR_ILLEGAL_ADDRESS", "message": "m"}

    outcome = said(last(fault=fault, clean=False)).outcome()

    assert outcome.ending is LaunchEnding.FAULT
    assert outcome.fault == fault
    assert outcome.result is None
    assert not outcome.clean


def test_a_failure_reports_its_slug():
    failed = Frame(NONCE, {"kind": "failure", "slug": "malformed_job", "message": "no x",
                           "clean": True}, b"")  # fmt: skip

    outcome = said(failed).outcome()

    assert (outcome.ending, outcome.detail) == (LaunchEnding.FAILURE, "no x")
    assert outcome.failure is not None
    assert outcome.failure["slug"] == "malformed_job"
    assert outcome.clean


def test_a_launcher_that_was_killed_is_never_clean():
    outcome = said(stage("run")).outcome(LaunchEnding.DEADLINE, "still running")

    assert outcome.ending is LaunchEnding.DEADLINE
    assert not outcome.clean
    assert outcome.stages == ("run",)


@pytest.mark.parametrize(
    "frames",
    [
        [Frame(b"o" * 16, {"kind": "stage", "stage": "run"}, b"")],
        [last(), last()],
        [stage("output:x", b"abc", offset=1)],
        [stage("other:x")],
        [Frame(NONCE, {"kind": "result"}, b"")],
        [Frame(NONCE, {"kind": "stage", "stage": 7}, b"")],
        [stage(BESIDE), stage("run"), stage(BESIDE)],
        [last(fault=["illegal_access"])],
        [last(fault="illegal_access")],
        [stage("x" * 2049)],
    ],
    ids=["foreign nonce", "two last frames", "missing piece", "unknown kind", "clean is missing",
         "stage without a name", "a third program", "a list of faults", "a word for a fault",
         "a long name"],
)  # fmt: skip
def test_what_breaks_the_protocol_is_refused(frames):
    with pytest.raises(FrameError):
        said(*frames)


def test_names_without_end_are_refused():
    names = [stage("x" * 2048)] * (MAX_NAMES_CHARS // 2048)
    said(*names)

    with pytest.raises(FrameError, match="more names"):
        said(*names, stage("x"))


def test_a_program_beside_the_first_is_known_from_its_stage_on():
    assert not said(stage("run")).is_beside
    assert said(stage("run"), stage(BESIDE), stage("run")).is_beside


def test_more_result_than_is_taken_is_refused():
    heard = LauncherProtocol(NONCE, max_result_bytes=4)

    with pytest.raises(FrameError, match="more bytes"):
        heard.take(brings(stage("output:x", b"abcde", offset=0)))


def test_an_output_in_shared_memory_is_handed_on_as_it_came():
    outcome = said(brings(stage("output:x", offset=0), LARGE), last()).outcome()

    assert isinstance(outcome.outputs["x"], SharedBytes)
    assert bytes(outcome.outputs["x"]) == LARGE


def test_launchers_share_no_less_than_is_taken():
    assert is_shared(MIN_SHARED_BYTES)
    assert not is_shared(MIN_SHARED_BYTES - 1)


@pytest.mark.parametrize("size", [0, 3, MIN_SHARED_BYTES - 1])
def test_a_flood_of_descriptors_of_little_memory_is_refused(size):
    with pytest.raises(FrameError, match="is shared, and of"):
        said(brings(stage("output:x", offset=0), bytes(size)))


@pytest.mark.parametrize("second", [stage("output:x", b"d", offset=len(LARGE)), None])
def test_an_output_in_shared_memory_has_no_other_pieces(second):
    heard = said(brings(stage("output:x", offset=0), LARGE))
    more = brings(second) if second else brings(stage("output:x", offset=len(LARGE)), LARGE)

    with pytest.raises(FrameError, match="more than one piece"):
        heard.take(more)


def test_shared_memory_counts_as_bytes_of_result():
    heard = LauncherProtocol(NONCE, max_result_bytes=len(LARGE) - 1)

    with pytest.raises(FrameError, match="more bytes"):
        heard.take(brings(stage("output:x", offset=0), LARGE))


def test_outputs_of_timed_runs_come_by_their_numbers():
    outcome = said(
        stage("repeat-0:x", b"abc", offset=0),
        stage("repeat-2:x", b"d", offset=0),
        stage("repeat_unwritten-2:x", b"\x80", offset=0),
        last(),
    ).outcome()

    assert outcome.repeats == {0: {"x": b"abc"}, 2: {"x": b"d"}}
    assert outcome.iterations_unwritten == {2: {"x": b"\x80"}}


@pytest.mark.parametrize("kind", ["repeat-16", "repeat--1", "repeat-", "repeat-01", "repeat"])
def test_a_timed_run_of_no_such_number_is_refused(kind):
    with pytest.raises(FrameError, match="unknown kind"):
        said(stage(f"{kind}:x", b"abc", offset=0))

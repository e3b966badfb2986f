"""The tapes of programs over HTTP.

A script stores them here; nothing is recorded.
"""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from compiler.problem import failure_problem
from programs.program_record import ProgramKernel
from programs.program_request import EXAMPLE
from programs.service.program_examples import TAPE, TAPE_TEXT
from programs.service.program_routes import MAX_TAPE_BYTES
from tests.programs.service.conftest import PROGRAMS, ScriptedRecorder

OF_REFERENCE = TAPE | {"torch": "2.13.0+reference"}


@pytest.fixture
def program(alice: httpx.Client) -> dict[str, Any]:
    posted: dict[str, Any] = alice.post(PROGRAMS, json=EXAMPLE).json()
    return posted


def test_a_tape_is_answered_as_it_was_recorded(
    alice: httpx.Client, recorder: ScriptedRecorder, program: dict[str, Any]
) -> None:
    tapes = {"candidate": TAPE, "reference": OF_REFERENCE}
    digests = recorder.keep_tapes(program["id"], tapes)
    url = f"{program['url']}/tape"

    own, reference = alice.get(url), alice.get(url, params={"program": "reference"})

    assert (own.json(), reference.json()) == (TAPE, OF_REFERENCE)
    assert own.headers["content-type"] == "application/json"
    assert own.headers["cache-control"] == "private, no-cache"
    assert digests["candidate"] in own.headers["etag"]
    again = alice.get(url, headers={"If-None-Match": own.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_a_tape_is_reported_as_text_to_who_wants_that(
    alice: httpx.Client, recorder: ScriptedRecorder, program: dict[str, Any]
) -> None:
    recorder.keep_tapes(program["id"], {"candidate": TAPE})

    answer = alice.get(f"{program['url']}/tape", headers={"Accept": "text/plain"})

    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["vary"] == "Accept, Accept-Encoding"
    assert answer.text == TAPE_TEXT
    assert "user.py:21         launch add_kernel[4, 1, 1](x_ptr=%0" in answer.text


def test_the_text_of_a_program_that_is_over_says_which_launches_are_dead(
    alice: httpx.Client, recorder: ScriptedRecorder, program: dict[str, Any]
) -> None:
    url, text = f"{program['url']}/tape", {"Accept": "text/plain"}
    recorder.keep_tapes(program["id"], {"candidate": TAPE})
    before = alice.get(url, headers=text)
    kernel = ProgramKernel(
        name="add_kernel", file="user.py", line=7, launches=1, reads=["x_ptr", "y_ptr"], writes=[]
    )
    recorder.do(kernels=[kernel])

    answer = alice.get(url, headers=text)

    assert "each launch is assumed to write all its arguments" in before.text
    assert "each launch is assumed to write all its arguments" not in answer.text
    launches = [line for line in answer.text.splitlines() if " launch " in line]
    assert [line.endswith("DEAD") for line in launches] == [True, True]
    assert answer.headers["etag"] != before.headers["etag"]


@pytest.mark.parametrize("unknown", [{}, {"problem": failure_problem("worker_lost", "lost")}])
def test_of_a_kernel_that_nothing_is_known_of_no_launch_is_dead(
    alice: httpx.Client,
    recorder: ScriptedRecorder,
    program: dict[str, Any],
    unknown: dict[str, Any],
) -> None:
    recorder.keep_tapes(program["id"], {"candidate": TAPE})
    known = ProgramKernel(name="add_kernel", file="user.py", line=7, launches=1)
    recorder.do(kernels=[known.model_copy(update=unknown)])

    answer = alice.get(f"{program['url']}/tape", headers={"Accept": "text/plain"})

    assert "DEAD" not in answer.text


def test_a_tape_that_this_version_cannot_read_is_still_there_as_json(
    alice: httpx.Client, recorder: ScriptedRecorder, program: dict[str, Any]
) -> None:
    newer = {"tape": 99}
    recorder.keep_tapes(program["id"], {"candidate": newer})
    url = f"{program['url']}/tape"

    answer = alice.get(url, headers={"Accept": "text/plain"})

    assert alice.get(url).json() == newer
    assert answer.status_code == 404
    assert "Request it as application/json" in answer.json()["detail"]


def test_a_long_tape_is_there_as_json_alone(
    alice: httpx.Client, recorder: ScriptedRecorder, program: dict[str, Any]
) -> None:
    recorder.keep_tapes(program["id"], {"candidate": TAPE | {"torch": "2" * MAX_TAPE_BYTES}})
    url = f"{program['url']}/tape"

    answer = alice.get(url, headers={"Accept": "text/plain"})

    assert answer.status_code == 404
    assert f"more than {MAX_TAPE_BYTES}" in answer.json()["detail"]
    assert alice.get(url).status_code == 200


def test_a_tape_that_is_still_to_come_is_not_finished(
    alice: httpx.Client, program: dict[str, Any]
) -> None:
    answer = alice.get(f"{program['url']}/tape")

    assert (answer.status_code, answer.json()["slug"]) == (409, "not_finished")
    assert answer.headers["retry-after"] == "1"


def test_a_program_that_was_not_recorded_has_no_tape(
    alice: httpx.Client, recorder: ScriptedRecorder, program: dict[str, Any]
) -> None:
    recorder.do(state="failed")

    answer = alice.get(f"{program['url']}/tape")

    assert (answer.status_code, answer.json()["slug"]) == (404, "not_found")
    assert "see its `problem`" in answer.json()["detail"]


def test_a_program_without_a_reference_has_no_tape_of_one(
    alice: httpx.Client, recorder: ScriptedRecorder, program: dict[str, Any]
) -> None:
    recorder.keep_tapes(program["id"], {"candidate": TAPE})
    recorder.do()

    answer = alice.get(f"{program['url']}/tape", params={"program": "reference"})

    assert answer.status_code == 404
    assert "no tape of a reference" in answer.json()["detail"]


def test_a_tape_that_the_cache_lost_is_evicted(
    alice: httpx.Client, recorder: ScriptedRecorder, program: dict[str, Any]
) -> None:
    lost = TAPE | {"torch": "2.13.0+lost"}
    recorder.evict(recorder.keep_tapes(program["id"], {"candidate": lost})["candidate"])

    answer = alice.get(f"{program['url']}/tape")

    assert (answer.status_code, answer.json()["slug"]) == (410, "evicted")
    assert "post the program again" in answer.json()["detail"]


def test_there_are_two_tapes_to_ask_for(alice: httpx.Client, program: dict[str, Any]) -> None:
    answer = alice.get(f"{program['url']}/tape", params={"program": "spam"})

    assert (answer.status_code, answer.json()["parameter"]) == (422, "program")
    assert "'candidate' or 'reference'" in answer.json()["detail"]

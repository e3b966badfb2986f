"""Answers, joined from a record and the fields of one request."""

import base64
import time

import orjson
import pytest

from service.compilations.answer import Answer, answer_response, server_timing

KEY = "ab" * 32
RECORD = orjson.dumps({"key": KEY, "state": "succeeded", "stdout": ""})


def test_the_body_is_the_record_with_the_requests_own_part():
    answer = Answer(KEY, "succeeded", RECORD, "hit", included={"ptx": b"// PTX \xc3\xa9"})

    assert orjson.loads(answer.body) == {
        "cache": "hit",
        "queue_position": None,
        "included": {"ptx": "// PTX é"},
        "key": KEY,
        "state": "succeeded",
        "stdout": "",
    }


def test_own_fields_are_there_without_a_value_too():
    body = orjson.loads(Answer(KEY, "queued", RECORD).body)

    assert (body["cache"], body["queue_position"], body["included"]) == (None, None, {})


@pytest.mark.parametrize("stage", ["cubin", "hsaco"])
def test_binaries_are_included_as_base64(stage: str):
    answer = Answer(KEY, "succeeded", RECORD, included={stage: b"\x7fELF\xff"})

    included = orjson.loads(answer.body)["included"][stage]
    assert base64.b64decode(included) == b"\x7fELF\xff"


def test_a_text_that_is_no_utf8_does_not_break_the_answer():
    answer = Answer(KEY, "succeeded", RECORD, included={"ttir": b"module \xff"})

    assert orjson.loads(answer.body)["included"]["ttir"] == "module \N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize("state", ["succeeded", "failed", "cancelled"])
def test_what_is_finished_is_answered_with_200(state: str):
    response = answer_response(Answer(KEY, state, RECORD, "hit").rendered, time.perf_counter(), {})

    assert response.status_code == 200
    assert "retry-after" not in response.headers
    assert response.headers["location"] == f"/v1/compilations/{KEY}"
    assert response.headers["content-type"] == "application/json"


@pytest.mark.parametrize("state", ["queued", "running"])
def test_what_is_under_way_is_answered_with_202(state: str):
    response = answer_response(Answer(KEY, state, RECORD, "miss").rendered, time.perf_counter(), {})

    assert response.status_code == 202
    assert response.headers["retry-after"] == "1"


@pytest.mark.parametrize(
    ("cache", "status"),
    [("hit", "tritond; hit"), ("miss", "tritond; fwd=miss"), ("join", "tritond; collapsed")],
)
def test_the_cache_says_what_it_did(cache: str, status: str):
    response = answer_response(
        Answer(KEY, "failed", RECORD, cache).rendered, time.perf_counter(), {}
    )

    assert response.headers["cache-status"] == status


def test_further_headers_are_added():
    headers = {"Preference-Applied": "wait=10"}
    response = answer_response(
        Answer(KEY, "failed", RECORD, "hit").rendered, time.perf_counter(), headers
    )

    assert response.headers["preference-applied"] == "wait=10"


def test_server_timing_is_in_milliseconds(monkeypatch):
    monkeypatch.setattr(time, "perf_counter", lambda: 12.5)

    assert server_timing(10.0) == "total;dur=2500.00"

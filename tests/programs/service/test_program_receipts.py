"""Receipts of programs over HTTP: signed, for their callers alone. A script stores their parts."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from tritonc import Client

from launch.request.verdict import Verdict
from programs.program_request import EXAMPLE
from programs.receipt import signed_bytes
from programs.service.program_examples import TAPE
from tests.programs.service.conftest import PROGRAMS, ScriptedRecorder

WORK = {"triton": "3.9.0", "job": {"seed": 7}, "kernels": {}, "values": []}


@pytest.fixture
def judged(alice: httpx.Client, recorder: ScriptedRecorder) -> str:
    """Return the URL of the receipt of a program that was judged."""
    posted = alice.post(PROGRAMS, json=EXAMPLE).json()
    recorder.keep_tapes(posted["id"], {"candidate": TAPE})
    recorder.keep_receipt(posted["id"], WORK)
    recorder.do(verdict=Verdict.PASSED)
    return f"{posted['url']}/receipt"


def payload_of(receipt: dict[str, Any]) -> bytes:
    return base64.b64decode(receipt["payload"])


def test_a_receipt_is_signed_with_the_key_of_the_deployment(
    alice: httpx.Client, asking: Callable[[str], httpx.Client], judged: str
) -> None:
    answer = alice.get(judged)
    receipt = answer.json()
    known = asking("compiler").get("/v1/system").json()["receipt_key"]

    assert answer.status_code == 200
    [signature] = receipt["signatures"]
    assert signature["keyid"] == known["id"]
    public = Ed25519PublicKey.from_public_bytes(base64.b64decode(known["public"]))
    signed = base64.b64decode(signature["sig"])
    public.verify(signed, signed_bytes(payload_of(receipt)))
    with pytest.raises(InvalidSignature):
        public.verify(signed, signed_bytes(payload_of(receipt) + b" "))


def test_a_receipt_has_the_record_what_was_asked_and_the_tape(
    alice: httpx.Client, judged: str
) -> None:
    members = json.loads(payload_of(alice.get(judged).json()))

    assert members["program"]["verdict"] == "passed"
    assert members["job"] == {"seed": 7}
    assert json.loads(members["tapes"]["candidate"]["text"]) == TAPE


def test_a_receipt_is_its_callers_alone(bob: httpx.Client, judged: str) -> None:
    assert bob.get(judged).status_code == 404


def test_there_is_no_receipt_before_the_end(alice: httpx.Client) -> None:
    posted = alice.post(PROGRAMS, json=EXAMPLE).json()

    answer = alice.get(f"{posted['url']}/receipt")

    assert (answer.status_code, answer.json()["slug"]) == (409, "not_finished")


def test_a_program_that_was_not_judged_has_no_receipt(
    alice: httpx.Client, recorder: ScriptedRecorder
) -> None:
    posted = alice.post(PROGRAMS, json=EXAMPLE).json()
    recorder.do(state="failed")

    answer = alice.get(f"{posted['url']}/receipt")

    assert answer.status_code == 404
    assert "not judged" in answer.json()["detail"]


def test_a_receipt_that_left_the_cache_is_gone(
    alice: httpx.Client, recorder: ScriptedRecorder, judged: str
) -> None:
    program_id = judged.split("/")[-2]
    recorder.evict(recorder.keep_receipt(program_id, WORK | {"triton": "evicted"}))

    answer = alice.get(judged)

    assert (answer.status_code, answer.json()["slug"]) == (410, "evicted")


def test_the_client_fetches_the_receipt(client: Client, alice: httpx.Client, judged: str) -> None:
    assert client.programs.receipt(judged.split("/")[-2]) == alice.get(judged).content

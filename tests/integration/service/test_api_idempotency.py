"""`Idempotency-Key` outside of launches: batches and compilations that are posted twice."""

from __future__ import annotations

import httpx
import pytest

from tests.integration.service import bodies
from tests.integration.service.launches import bodies as launch_bodies

QUICK = {"stop_after": "ttir"}


def batch(comment: str) -> dict[str, object]:
    requests = [bodies.vector_add(comment, **QUICK), {"source": "pass"}]
    return {"kind": "compilations", "requests": requests}


@pytest.mark.parametrize("wait", [0, 60])
def test_a_batch_that_is_posted_again_is_the_first_one(http: httpx.Client, wait: int) -> None:
    named = {"headers": {"Idempotency-Key": f"batch {wait}".replace(" ", "-")}}
    body = batch(f"posted again {wait}")

    first = http.post("/v1/batches", params={"wait": wait}, json=body, **named).json()
    again = http.post("/v1/batches", params={"wait": 60}, json=body, **named).json()

    assert again["id"] == first["id"]
    assert again["counts"]["succeeded"] + again["counts"]["refused"] == 2
    other = http.post("/v1/batches", json=batch("another"), **named)
    assert (other.status_code, other.json()["parameter"]) == (422, "Idempotency-Key")


def test_launches_of_a_batch_posted_twice_run_once(http: httpx.Client) -> None:
    body = {"kind": "launches", "requests": [launch_bodies.vector_add()] * 2}
    named = {"headers": {"Idempotency-Key": "launches-of-a-batch"}}

    first, again = [
        http.post("/v1/batches", params={"wait": 60}, json=body, **named).json() for _ in range(2)
    ]

    assert [item["url"] for item in again["items"]] == [item["url"] for item in first["items"]]
    assert len({item["url"] for item in first["items"]}) == 2


def test_a_key_of_a_compilation_refuses_another_body(http: httpx.Client) -> None:
    named = {"headers": {"Idempotency-Key": "compiled-once"}, "params": {"wait": 60}}
    body = bodies.vector_add("under a key", **QUICK)

    first, again = [http.post("/v1/compilations", json=body, **named) for _ in range(2)]
    other = http.post("/v1/compilations", json=bodies.vector_add("other", **QUICK), **named)

    assert (again.json()["key"], again.json()["cache"]) == (first.json()["key"], "hit")
    assert (other.status_code, other.json()["parameter"]) == (422, "Idempotency-Key")


def test_a_refused_compilation_leaves_its_key_for_a_corrected_one(http: httpx.Client) -> None:
    named = {"headers": {"Idempotency-Key": "compiled-later"}}

    refused = http.post("/v1/compilations", json={"source": "pass"}, **named)
    mended = http.post("/v1/compilations", json=bodies.good("vector_add"), **named)

    assert refused.status_code == 422
    assert mended.status_code in {200, 202}

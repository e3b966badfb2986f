"""Sweeps through the Python API: requests and results."""

import numpy as np
import pytest
import tritonc
from tritonc import Client

from tests.unit.client.fake_tritond import FakeTritond
from tests.unit.client.sweeps.answered_sweeps import sweep


def test_a_sweep_is_posted_once_and_its_rows_are_typed(client: Client, tritond: FakeTritond):
    tritond.will_answer(sweep("running", rows=[]), status=202)
    tritond.will_answer(sweep(rows=[]))
    tritond.will_answer(sweep())

    base = tritonc.compile_request("source", signature="*fp32", include=["ptx"])
    made = client.sweep(base, {"constexprs.BLOCK": [64]}, where=["BLOCK > 2"], budget_s=3)

    assert tritond.posted == {
        "base": {"source": "source", "signature": "*fp32"},
        "space": {"constexprs.BLOCK": [64]},
        "where": ["BLOCK > 2"],
        "budget_s": 3,
    }
    assert tritond.requests[1].url.params["limit"] == "0"  # polling asks for no rows
    assert (made.finished, made.over, made.axes["target"]) == (True, 1, ("cuda:90",))
    assert (made.rows[0].registers, made.rows[0].good, made.rows[0].median_us) == (32, True, None)


def test_arrays_of_base_and_space_are_uploaded(client: Client, tritond: FakeTritond):
    x = np.zeros(4, np.float32)
    for _ in range(2):
        tritond.will_answer({"digest": "sha256:"}, status=201)
    tritond.will_answer(sweep())
    base = tritonc.launch_request("source", arguments={"x": x}, grid=[1])

    client.sweep(base, {"arguments": {"large": {"x": np.ones(8, np.float32)}}})

    body = tritond.sent(-1)
    assert body["base"]["arguments"]["x"]["shape"] == [4]
    assert body["space"]["arguments"]["large"]["x"]["shape"] == [8]


def test_a_sweep_that_is_not_over_in_time_is_found_by_its_id(client: Client, tritond: FakeTritond):
    tritond.will_answer(sweep("running"), status=202)

    with pytest.raises(tritonc.WaitExpired, match=r"1 of 1 rows are done .* ask again for 5eep"):
        client.sweep({"source": ""}, {"target": ["cuda:90"]}, wait_s=0)


def test_the_sort_order_is_sent_with_the_post(client: Client, tritond: FakeTritond):
    tritond.will_answer(sweep("running", rows=[]), status=202)
    tritond.will_answer(sweep(rows=[]))
    tritond.will_answer(sweep())

    client.sweep({"source": ""}, {"target": ["cuda:90"]}, sort="-registers")

    asked = [request.url.params.get("sort") for request in tritond.requests]
    assert asked == ["-registers", None, "-registers"]


def test_rows_that_did_not_fit_into_an_answer_are_asked_for(client: Client, tritond: FakeTritond):
    tritond.will_answer(sweep(matched=3, next_offset=1))
    tritond.will_answer(sweep(matched=3, next_offset=2))
    tritond.will_answer(sweep(matched=3, next_offset=None))

    found = client.sweeps.get("5eep", sort="-registers", limit=3)

    assert (len(found.rows), found.next_offset) == (3, None)
    asked = [dict(request.url.params) for request in tritond.requests[1:]]
    assert asked == [
        {"sort": "-registers", "limit": "2", "offset": "1"},
        {"sort": "-registers", "limit": "1", "offset": "2"},
    ]


def test_winners_are_waited_for(client: Client, tritond: FakeTritond):
    tritond.will_answer({"state": "queued"}, status=202)
    tritond.will_send(b"[triton.Config({})]")

    assert client.sweeps.winners("5eep", "triton-config") == b"[triton.Config({})]"
    assert tritond.requests[1].url.path == "/v1/sweeps/5eep/winners/triton-config"


def test_winners_that_are_not_made_in_time_say_so(client: Client, tritond: FakeTritond):
    tritond.will_answer({"state": "queued"}, status=202)

    with pytest.raises(tritonc.WaitExpired, match="bundle of the winners is not ready"):
        client.sweeps.winners("5eep", "bundle", of="all", wait_s=0)

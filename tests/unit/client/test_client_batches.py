"""Batches: requests, waiting, and the result of each item."""

from typing import Any

import numpy as np
import pytest
from tritonc import (
    AsyncClient,
    Client,
    Compilation,
    Launch,
    WaitExpired,
    compile_request,
    launch_request,
    program_request,
)

from tests.unit.client.fake_tritond import FakeTritond, compilation, failure, launch

SOURCE = "import triton\n"


def batch(*items: dict[str, Any], **members: Any) -> dict[str, Any]:
    usual = {"id": "b1", "url": "/v1/batches/b1", "counts": {"succeeded": len(items)}}
    return usual | {"items": list(items)} | members


def item(index: int, result: dict[str, Any] | None, status: int = 200, **members: Any) -> Any:
    usual = {"index": index, "status": status, "state": "succeeded", "url": None, "problem": None}
    return usual | {"result": result} | members


def test_compile_requests_are_posted_together(client: Client, tritond: FakeTritond):
    tritond.will_answer(batch(item(0, None), item(1, None)))
    tritond.will_answer(batch(item(0, compilation()), item(1, failure(), state="failed")))
    requests = [compile_request(SOURCE, target="cuda:90", constexprs={"B": b}) for b in (1, 2)]

    made = client.batches.compile(requests)

    assert tritond.posted == {"kind": "compilations", "requests": requests}
    assert [item.good for item in made.items] == [True, False]
    assert isinstance(made.items[0].result, Compilation)


def test_a_submitted_batch_has_a_state(client: Client, tritond: FakeTritond):
    for _ in range(2):
        tritond.will_answer(batch(item(0, None, 202, state="queued"), state="running"), 202)

    submitted = client.batches.submit([compile_request(SOURCE, target="cuda:90")])

    assert (submitted.state, submitted.finished) == ("running", False)


@pytest.mark.parametrize(
    ("request_", "kind"),
    [
        (compile_request(SOURCE, target="cuda:90"), "compilations"),
        (launch_request(SOURCE, arguments={}, grid=[1]), "launches"),
        (program_request(SOURCE), "programs"),
    ],
)
def test_submit_posts_requests_of_a_kind_and_returns_at_once(
    client: Client, tritond: FakeTritond, request_: Any, kind: str
):
    for _ in range(2):
        tritond.will_answer(batch(item(0, None, 202)), status=202)

    submitted = client.batches.submit([request_])

    assert not submitted.finished
    assert tritond.posted["kind"] == kind
    assert [request.url.params.get("wait") for request in tritond.requests] == [None, None]


def test_submit_refuses_requests_of_two_kinds(client: Client, tritond: FakeTritond):
    requests = [compile_request(SOURCE, target="cuda:90"), program_request(SOURCE)]

    with pytest.raises(TypeError, match="of one kind"):
        client.batches.submit(requests)

    assert not tritond.requests


@pytest.mark.parametrize(
    "requests", [SOURCE, [SOURCE], {"source": SOURCE}, program_request(SOURCE)]
)
@pytest.mark.parametrize("kind", ["compile", "launch", "program", "submit"])
def test_a_batch_refuses_a_text_and_one_request_without_a_list(
    client: Client, tritond: FakeTritond, kind: str, requests: Any
):
    with pytest.raises(TypeError, match=r"a list of requests: \[\w+_request\(text, ...\), ...\]"):
        getattr(client.batches, kind)(requests)

    assert not tritond.requests


def test_waiting_asks_for_the_states_and_then_once_for_the_results(
    client: Client, tritond: FakeTritond
):
    tritond.will_answer(batch(item(0, None, 202)), status=202)
    tritond.will_answer(batch(item(0, None, 202)))
    tritond.will_answer(batch(item(0, None)))
    tritond.will_answer(batch(item(0, compilation())))

    made = client.batches.compile([compile_request(SOURCE, target="cuda:90")])

    asked = [(r.method, r.url.params.get("results")) for r in tritond.requests]
    assert asked == [("POST", "none"), ("GET", "none"), ("GET", "none"), ("GET", None)]
    assert made.items[0].result is not None


def test_an_item_that_is_wrong_has_its_problem(client: Client, tritond: FakeTritond):
    problem = {"slug": "invalid_request", "detail": "/target: there is no cuda:99"}
    refused = item(0, None, 422, state="refused", problem=problem)
    tritond.will_answer(batch(refused))
    tritond.will_answer(batch(refused))

    (reported,) = client.batches.compile([compile_request(SOURCE, target="cuda:99")]).items

    assert reported.finished
    assert not reported.good
    assert reported.problem is not None
    assert reported.problem.slug == "invalid_request"


def test_launches_bring_their_arrays_and_their_texts(client: Client, tritond: FakeTritond):
    tritond.will_refuse(404, "not_found")
    tritond.will_send(b"", status=201)
    tritond.will_answer(batch(item(0, None), item(1, None)))
    tritond.will_answer(batch(item(0, launch()), item(1, launch(verdict="crashed"))))
    request = launch_request(SOURCE, arguments={"x": np.zeros(2)}, grid=[1], device="cpu")

    done = client.batches.launch([request, request])

    assert [r.method for r in tritond.requests] == ["HEAD", "PUT", "POST", "GET"]
    assert [item.good for item in done.items] == [True, False]
    result = done.items[1].result
    assert isinstance(result, Launch)
    assert result.sources == {"user.py": SOURCE}


def test_a_batch_not_finished_in_time_raises_with_its_id(client: Client, tritond: FakeTritond):
    unfinished = batch(item(0, None, 202), item(1, compilation()))
    tritond.will_answer(unfinished, status=202)
    tritond.will_answer(unfinished)

    with pytest.raises(WaitExpired, match="1 of 2 items are finished after waiting 0 s") as expired:
        client.batches.compile([compile_request(SOURCE, target="cuda:90")], wait_s=0)

    assert expired.value.key == "b1"


async def test_the_async_client_has_batches_too(tritond: FakeTritond):
    tritond.will_answer(batch(item(0, None, 202)), status=202)
    tritond.will_answer(batch(item(0, None, 202)))
    tritond.will_answer(batch(item(0, None), counts={"cancelled": 1}), status=202)

    async with AsyncClient(transport=tritond) as client:
        requests = [compile_request(SOURCE, target="cuda:90")]
        submitted = await client.batches.compile(requests, wait_s=0, check=False)
        cancelled = await client.batches.cancel(submitted.id)

    assert not submitted.finished
    assert cancelled.counts == {"cancelled": 1}

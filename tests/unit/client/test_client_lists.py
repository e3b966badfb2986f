"""Submitting without waiting, repeating what got no answer, and listing one's own."""

import json

import pytest
import tritonc
from tritonc import Client

from tests.unit.client.fake_tritond import KEY, FakeTritond, compilation, launch, run
from tests.unit.client.sweeps.answered_sweeps import sweep
from tests.unit.client.test_client_batches import batch

ITEM = {
    "id": KEY,
    "url": f"/v1/compilations/{KEY}",
    "state": "succeeded",
    "created_at": "2026-11-27T01:02:03.004Z",
    "kind": None,
    "kernel": "add_kernel",
    "target": "cuda:90",
    "verdict": None,
    "counts": None,
}
FORBIDDEN = {"type": "about:blank", "title": "Forbidden", "status": 403, "slug": "forbidden"}


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (tritonc.compile_request("x", target="cuda:90"), compilation("queued")),
        (tritonc.launch_request("x", arguments={}, grid=[1]), launch("queued")),
        (tritonc.sweep_request({"source": "x"}, {"target": ["cuda:90"]}), sweep("queued", rows=[])),
    ],
)
def test_submit_returns_at_once(
    client: Client, tritond: FakeTritond, request_: object, answer: object
):
    tritond.will_answer(answer, status=202)

    submitted = client.submit(request_)

    assert (submitted.state, submitted.finished) == ("queued", False)
    assert [str(request.url.query) for request in tritond.requests] == ["b''"]


def test_a_batch_without_an_answer_is_repeated_under_its_key(client: Client, tritond: FakeTritond):
    client._connection._was_answered = True  # so that this machine's refusal is a restart
    tritond.will_be_down()
    tritond.will_answer(batch())
    tritond.will_answer(batch())

    client.batches.compile([{"source": "x"}])

    first, second, _ = tritond.requests
    assert first.content == second.content
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]


def test_a_page_of_a_list_is_typed(client: Client, tritond: FakeTritond):
    tritond.will_answer({"items": [ITEM], "next": "MTox"})

    page = client.list("compilations", state=["failed", "running"], limit=1, after="MTow")

    assert [(item.id, item.kernel, item.counts) for item in page] == [(KEY, "add_kernel", None)]
    assert page.next == "MTox"
    query = tritond.requests[0].url.params
    assert query.get_list("state") == ["failed", "running"]
    assert (query["limit"], query["after"]) == ("1", "MTow")


def test_the_command_lists_all_kinds_that_the_key_may_see(
    tritond: FakeTritond, capsys: pytest.CaptureFixture[str]
):
    older = ITEM | {"id": "5" * 32, "created_at": "2026-11-26T00:00:00.000Z", "verdict": "passed"}
    tritond.will_answer({"items": [ITEM], "next": None})
    tritond.will_answer({"items": [older], "next": None})
    for _ in range(4):
        tritond.will_answer(FORBIDDEN, status=403)

    assert run(tritond, "list") == 0

    head, newest, last = capsys.readouterr().out.splitlines()
    columns = ["created (UTC)", "kind", "state", "verdict or error", "kernel", "target", "id"]
    assert head.split() == " ".join(columns).split()
    assert newest.split()[:4] == ["2026-11-27", "01:02:03", "compilations", "succeeded"]
    assert last.split()[3:6] == ["succeeded", "passed", "add_kernel"]


def test_the_command_lists_what_a_failure_is_called(
    tritond: FakeTritond, capsys: pytest.CaptureFixture[str]
):
    failed = ITEM | {"state": "failed", "kernel": None, "slug": "syntax_error"}
    tritond.will_answer({"items": [failed], "next": None})

    assert run(tritond, "list", "compilations", "--state", "failed") == 0

    row = capsys.readouterr().out.splitlines()[1].split()
    assert row[3:6] == ["failed", "syntax_error", "cuda:90"]


def test_the_command_lists_why_a_job_failed(
    tritond: FakeTritond, capsys: pytest.CaptureFixture[str]
):
    detail = "user.py:6: module 'triton.language' has no attribute 'arnge'"
    long = detail + ", nor has it any other of that name"
    failed = ITEM | {"state": "failed", "slug": "compile_error", "detail": long}
    tritond.will_answer({"items": [failed], "next": None})

    assert run(tritond, "list", "launches", "--state", "failed") == 0

    assert f"  compile_error: {detail}, nor has it any...  " in capsys.readouterr().out


def test_the_command_reads_as_many_pages_as_it_shows(
    tritond: FakeTritond, capsys: pytest.CaptureFixture[str]
):
    tritond.will_answer({"items": [ITEM] * 100, "next": "MTox"})
    tritond.will_answer({"items": [ITEM] * 20, "next": "MToy"})

    assert run(tritond, "list", "compilations", "--limit", "120", "--json") == 0

    items = json.loads(capsys.readouterr().out)["items"]
    assert (len(items), items[0]["collection"]) == (120, "compilations")
    assert [request.url.params["limit"] for request in tritond.requests] == ["100", "20"]

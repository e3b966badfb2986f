"""One trace from the request to the answer, and nothing of the collector in children."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from tests.integration.service import bodies
from tests.integration.service.running import Deployment
from tests.otel.conftest import SECRET, Receiver, Span
from tests.waiting import wait_until

TRACE, CLIENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
HEADERS = {"traceparent": f"00-{TRACE}-{CLIENT}-01"}


def trace_of(receiver: Receiver, deployment: Deployment) -> dict[str, Span]:
    with deployment.client() as http:
        answer = http.post(
            "/v1/compilations?wait=60", json=bodies.vector_add("traced"), headers=HEADERS
        )
        assert answer.json()["state"] == "succeeded"

    def spans() -> dict[str, Span]:
        return {span.name: span for span in receiver.spans if span.trace == TRACE}

    wait_until(lambda: {"POST /v1/compilations", "attempt"} <= spans().keys(), "it was exported")
    return spans()


def test_one_trace_goes_from_the_request_to_the_answer(
    traced: Deployment, receiver: Receiver
) -> None:
    spans = trace_of(receiver, traced)
    request, attempt = spans["POST /v1/compilations"], spans["attempt"]

    assert request.parent == CLIENT
    assert (request.of, attempt.of) == ("tritond-service", "tritond-worker")
    assert spans["queue"].parent == attempt.parent == request.id
    for name in ("read", "front", "back", "finish"):
        assert spans[name].parent == attempt.id
        assert attempt.began_ns <= spans[name].began_ns <= spans[name].ended_ns <= attempt.ended_ns
    for name in ("ttgir", "llir", "ptx", "cubin"):
        assert spans[name].parent == spans["back"].id
        assert spans[name].began_ns < spans[name].ended_ns <= spans["back"].ended_ns
    assert set(receiver.headers) == {SECRET}


def test_children_do_not_know_the_collector(traced: Deployment, receiver: Receiver) -> None:
    [worker] = traced.workers
    children = descendants(worker.pid)
    told = []
    for pid in children:
        with suppress(ProcessLookupError, FileNotFoundError):  # it ended since it was listed
            told.append(Path(f"/proc/{pid}/environ").read_bytes())

    assert told
    assert SECRET.encode() in Path(f"/proc/{worker.pid}/environ").read_bytes()
    assert not any(SECRET.encode() in text or receiver.url.encode() in text for text in told)


def descendants(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    own = [int(child) for task in tasks for child in task.read_text().split()]
    return own + [each for child in own for each in descendants(child)]

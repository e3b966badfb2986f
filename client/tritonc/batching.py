"""The conversations on batches."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import quote

from tritonc.answer import read
from tritonc.batch import Batch
from tritonc.conversation import Conversation, Question, insist, until
from tritonc.launch import Launch
from tritonc.launch_request import LaunchRequest
from tritonc.launching import upload_all
from tritonc.service_errors import WaitExpired

BATCHES = "/v1/batches"
COMPILATIONS = "compilations"
LAUNCHES = "launches"
STATES_ONLY = {"results": "none"}  # enough to wait with; the results come once, at the end

_reader = partial(read, Batch.from_json)


def compile_all(
    requests: Sequence[Mapping[str, Any]], wait_s: float, check: bool
) -> Conversation[Batch]:
    """Post compile requests, and wait for them."""
    return (yield from _post(COMPILATIONS, list(requests), wait_s, check))


def launch_all(
    requests: Sequence[LaunchRequest | Mapping[str, Any]], wait_s: float, check: bool
) -> Conversation[Batch]:
    """Upload the arrays of launches, post them, and wait for them."""
    written = [r for r in requests if isinstance(r, LaunchRequest)]
    uploads = {name: upload for request in written for name, upload in request.uploads.items()}
    yield from upload_all(uploads.values())
    bodies = [r.body if isinstance(r, LaunchRequest) else r for r in requests]
    batch = yield from _post(LAUNCHES, bodies, wait_s, check)
    sources = [r.sources if isinstance(r, LaunchRequest) else {} for r in requests]
    return _with_sources(batch, sources)


def get(batch_id: str, wait_s: float) -> Conversation[Batch]:
    """Ask for a batch, until it is finished or `wait_s` is over."""
    question = Question("GET", path_of(batch_id))
    if wait_s > 0:
        states = replace(question, query=STATES_ONLY)

        def again(batch: Batch) -> Question | None:
            return None if batch.finished else states

        yield from until(states, wait_s, _reader, again, insist)
    return _reader((yield from insist(question)))


def cancel(batch_id: str) -> Conversation[Batch]:
    """Cancel what is left of a batch."""
    return _reader((yield Question("DELETE", path_of(batch_id))))


def path_of(batch_id: str) -> str:
    """Return the path of a batch."""
    return f"{BATCHES}/{quote(batch_id, safe='')}"


def _post(kind: str, requests: list[Any], wait_s: float, check: bool) -> Conversation[Batch]:
    """Post once: what got no answer is not posted again, as it may have been taken."""
    body = {"kind": kind, "requests": requests}
    posted = _reader((yield Question("POST", BATCHES, body, query=STATES_ONLY)))
    batch = yield from get(posted.id, 0 if posted.finished else wait_s)
    if check and not batch.finished:
        finished = sum(item.finished for item in batch.items)
        said = f"{finished} of {len(batch.items)} items are finished"
        raise WaitExpired(batch.id, said, wait_s)
    return batch


def _with_sources(batch: Batch, sources: Sequence[Mapping[str, str]]) -> Batch:
    """Return the batch with the posted texts beside its launches, for excerpts."""
    items = [
        replace(item, result=replace(item.result, sources=sources[item.index]))
        if isinstance(item.result, Launch)
        else item
        for item in batch.items
    ]
    return replace(batch, items=tuple(items))

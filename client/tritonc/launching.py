"""The conversations on launches, and on the tensors they read."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import quote

import httpx

from tritonc.answer import read
from tritonc.conversation import Conversation, Question, insist, until
from tritonc.launch import Launch, LaunchFailed
from tritonc.launch_request import LaunchRequest
from tritonc.service_errors import ProblemError, WaitExpired
from tritonc.upload import Upload

LAUNCHES = "/v1/launches"
NPY = {"Content-Type": "application/x-npy"}

_reader = partial(read, Launch.from_json)


def launch_and_wait(
    request: LaunchRequest, wait_s: float, check: bool, idempotency_key: str | None
) -> Conversation[Launch]:
    """Upload what is missing, post the launch, ask for it until it is over or `wait_s` is.

    What gets no answer is asked again, under one idempotency key, so it never launches twice.
    Raises WaitExpired or LaunchFailed when there is no verdict, if `check`.
    """
    yield from upload_all(request.uploads.values())
    headers = {"Idempotency-Key": idempotency_key or uuid.uuid4().hex}
    posted = Question("POST", LAUNCHES, request.body, headers=headers)
    launch = replace((yield from _until_over(posted, wait_s)), sources=request.sources)
    if check and not launch.finished:
        raise WaitExpired(launch.id, f"it is {launch.state}", wait_s)
    if check and launch.state != "completed":
        raise LaunchFailed(launch)
    return launch


def get(launch_id: str, wait_s: float) -> Conversation[Launch]:
    """Ask for one launch."""
    return (yield from _until_over(Question("GET", path_of(launch_id)), wait_s))


def query(ids: Sequence[str], wait_s: float) -> Conversation[list[Launch]]:
    """Ask for several at once, until all are over or `wait_s` is."""
    question = Question("POST", f"{LAUNCHES}/query", {"ids": list(ids)}, waits_in_body=True)

    def reader(answer: httpx.Response) -> list[Launch]:
        return read(lambda body: [Launch.from_json(one) for one in body["launches"]], answer)

    def again(launches: list[Launch]) -> Question | None:
        return None if all(launch.finished for launch in launches) else question

    return (yield from until(question, wait_s, reader, again, insist))


def cancel(launch_id: str) -> Conversation[Launch]:
    """End a launch that is not over."""
    return _reader((yield Question("DELETE", path_of(launch_id))))


def output(launch_id: str, argument: str, case: int) -> Conversation[bytes]:
    """Ask for the .npy file of an output."""
    path = f"{path_of(launch_id)}/outputs/{quote(argument, safe='')}"
    return (yield from insist(Question("GET", path, query=_case(case)))).content


def trace(launch_id: str, case: int) -> Conversation[dict[str, Any]]:
    """Ask for the recorded memory accesses."""
    asked = Question("GET", f"{path_of(launch_id)}/trace", query=_case(case))
    return read(dict[str, Any], (yield from insist(asked)))


def upload_all(uploads: Iterable[Upload]) -> Conversation[None]:
    """Upload the tensors that the service does not have yet."""
    for upload in uploads:
        if not (yield from has(upload.digest)):
            yield from put(upload)


def put(upload: Upload) -> Conversation[str]:
    """Upload a tensor; return its digest."""
    path = tensor_path(upload.digest)
    yield from insist(Question("PUT", path, content=upload.content, headers=NPY))
    return upload.digest


def has(digest: str) -> Conversation[bool]:
    """Ask whether a tensor is there."""
    try:
        yield from insist(Question("HEAD", tensor_path(digest)))
    except ProblemError as error:
        if error.status == httpx.codes.NOT_FOUND:
            return False
        raise
    return True


def tensor(digest: str) -> Conversation[bytes]:
    """Ask for the .npy file of a tensor."""
    return (yield from insist(Question("GET", tensor_path(digest)))).content


def delete(digest: str) -> Conversation[None]:
    """Delete a tensor."""
    yield Question("DELETE", tensor_path(digest))


def path_of(launch_id: str) -> str:
    """Return the path of a launch."""
    return f"{LAUNCHES}/{quote(launch_id, safe='')}"


def tensor_path(digest: str) -> str:
    """Return the path of a tensor."""
    return f"/v1/tensors/{quote(digest, safe=':')}"


def _until_over(question: Question, wait_s: float) -> Conversation[Launch]:
    def again(launch: Launch) -> Question | None:
        return None if launch.finished else Question("GET", path_of(launch.id))

    return (yield from until(question, wait_s, _reader, again, insist))


def _case(case: int) -> Mapping[str, str]:
    return {"case": str(case)} if case else {}

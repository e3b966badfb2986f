"""The conversations on compilations and what is derived from them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import quote

import httpx

from tritonc.answer import read
from tritonc.compilation import Compilation
from tritonc.conversation import Conversation, Question, ask, insist, until
from tritonc.request import words
from tritonc.service_errors import ProblemError, WaitExpired

COMPILATIONS = "/v1/compilations"

_reader = partial(read, Compilation.from_json)


def compile_and_wait(
    body: Mapping[str, Any], wait_s: float, check: bool
) -> Conversation[Compilation]:
    """Post `body`; then ask for the compilation until it is finished or `wait_s` is over.

    Raises CompileFailed or WaitExpired unless it succeeded, if `check`.
    """
    posted = Question("POST", COMPILATIONS, body)
    # a refresh that is posted twice compiles twice, everything else is the same compilation
    asking = ask if body.get("refresh") else partial(_insist_or_post, posted)
    include = tuple(body.get("include") or ())
    compilation = yield from _until_finished(posted, include, wait_s, asking)
    if check and not compilation.finished:
        raise WaitExpired(compilation.key, f"it is {compilation.state}", wait_s)
    return compilation.raise_unless_succeeded() if check else compilation


def get(key: str, include: Iterable[str], wait_s: float) -> Conversation[Compilation]:
    """Ask for one compilation by its key."""
    stages = tuple(words(include))
    return (yield from _until_finished(_fetched(key, stages), stages, wait_s))


def artifact(key: str, stage: str, wait_s: float) -> Conversation[bytes]:
    """Ask for the bytes of one stage; one made on demand is asked for until it is there."""
    return (yield from _made(key, f"artifacts/{quote(stage, safe='')}", wait_s)).content


def export(key: str, kind: str, wait_s: float) -> Conversation[bytes]:
    """Ask for the kernel as a file to take away."""
    return (yield from _made(key, f"exports/{quote(kind, safe='')}", wait_s)).content


def sass(key: str, wait_s: float) -> Conversation[str]:
    """Ask for the disassembled machine code."""
    return (yield from _made(key, "artifacts/sass", wait_s)).text


def document(key: str, what: str, wait_s: float) -> Conversation[dict[str, Any]]:
    """Ask for `lines`, `passes` or the `request`."""
    return read(dict[str, Any], (yield from _made(key, what, wait_s)))


def inspect(
    source: str, files: Mapping[str, str] | None, wait_s: float
) -> Conversation[dict[str, Any]]:
    """Post a source; post it again until its kernels are known.

    Raises WaitExpired when they are not within `wait_s`.
    """
    body = {"source": source} | ({"files": dict(files)} if files else {})
    answer = yield from _accepted_until(Question("POST", "/v1/inspect", body), wait_s)
    inspection = read(dict[str, Any], answer)
    if answer.status_code == httpx.codes.ACCEPTED:
        raise WaitExpired(None, f"the inspection is {inspection.get('state')}", wait_s)
    return inspection


def cancel(key: str) -> Conversation[Compilation]:
    """Withdraw the caller's interest."""
    return _reader((yield from insist(Question("DELETE", path_of(key)))))


def path_of(key: str) -> str:
    """Return the path of a compilation."""
    return f"{COMPILATIONS}/{quote(key, safe='')}"


def _made(key: str, what: str, wait_s: float) -> Conversation[httpx.Response]:
    """Ask for `what` below a compilation. Raises WaitExpired when it is not made in time."""
    answer = yield from _accepted_until(Question("GET", f"{path_of(key)}/{what}"), wait_s)
    if answer.status_code == httpx.codes.ACCEPTED:
        raise WaitExpired(key, f"{what.rpartition('/')[2]} is not made yet", wait_s)
    return answer


def _accepted_until(question: Question, wait_s: float) -> Conversation[httpx.Response]:
    """Ask the same again for as long as the answer is 202."""

    def again(answer: httpx.Response) -> Question | None:
        return question if answer.status_code == httpx.codes.ACCEPTED else None

    return (yield from until(question, wait_s, lambda answer: answer, again, insist))


def _insist_or_post(posted: Question, question: Question) -> Conversation[httpx.Response]:
    """Ask for a compilation; one that the service has lost since is posted again."""
    try:
        return (yield from insist(question))
    except ProblemError as error:
        if question.method != "GET" or error.slug != "not_found":
            raise
    return (yield from insist(replace(posted, wait_s=question.wait_s)))


def _until_finished(
    question: Question,
    include: tuple[str, ...],
    wait_s: float,
    asking: Callable[[Question], Conversation[httpx.Response]] = insist,
) -> Conversation[Compilation]:
    seen: list[Compilation] = []

    def again(compilation: Compilation) -> Question | None:
        seen.append(compilation)
        return None if compilation.finished else _fetched(compilation.key, include)

    last = yield from until(question, wait_s, _reader, again, asking)
    # said of the first answer only: asking again is not another request for it
    return replace(last, cache=seen[0].cache)


def _fetched(key: str, include: tuple[str, ...]) -> Question:
    return Question("GET", path_of(key), query={"include": ",".join(include)} if include else {})

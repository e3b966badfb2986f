"""What is asked of the service and in which order, without any input or output.

A conversation is a generator: it yields questions and is sent the answers. `Client` and
`AsyncClient` both hold the same conversations, one blocking and one not; the pattern is that of
httpx's authentication flows. Nothing here may block, sleep or open a connection.
"""

import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from urllib.parse import quote

import httpx

from tritonc.answer import read
from tritonc.compilation import Compilation
from tritonc.errors import WaitExpired
from tritonc.request import words

LONGEST_WAIT_S = 30.0  # of one question; proxies cut connections that are silent for long
ASK_AGAIN_S = 0.25  # questions are at least so far apart, should the service not hold them
COMPILATIONS = "/v1/compilations"

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Question:
    """One HTTP request to be: asked after `pause_s`, and held open by the service for `wait_s`."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    include: tuple[str, ...] = ()
    wait_s: float = 0
    pause_s: float = 0

    @property
    def params(self) -> dict[str, str]:
        """The query of the URL."""
        include = {"include": ",".join(self.include)} if self.include else {}
        return include | ({"wait": f"{self.wait_s:.3f}"} if self.wait_s > 0 else {})


Conversation = Generator[Question, httpx.Response, Result]


def compile_and_wait(
    body: Mapping[str, Any], wait_s: float, check: bool
) -> Conversation[Compilation]:
    """Post `body`; then ask for the compilation until it is finished or `wait_s` is over.

    Raises CompileFailed or WaitExpired unless it succeeded, if `check`.
    """
    posted = Question("POST", COMPILATIONS, body)
    compilation = yield from _until_finished(posted, tuple(body["include"]), wait_s)
    if check and not compilation.finished:
        raise WaitExpired(compilation.key, f"it is {compilation.state}", wait_s)
    return compilation.raise_unless_succeeded() if check else compilation


def get(key: str, include: Iterable[str], wait_s: float) -> Conversation[Compilation]:
    """Ask for one compilation by its key."""
    stages = tuple(words(include))
    question = Question("GET", _path(key), include=stages)
    return (yield from _until_finished(question, stages, wait_s))


def artifact(key: str, stage: str, wait_s: float) -> Conversation[bytes]:
    """Ask for the bytes of one stage; one made on demand is asked for until it is there."""
    question = Question("GET", f"{_path(key)}/artifacts/{quote(stage, safe='')}")
    for asked_wait_s, pause_s in _turns(wait_s):
        answer = yield replace(question, wait_s=asked_wait_s, pause_s=pause_s)
        if answer.status_code != httpx.codes.ACCEPTED:
            return answer.content
    raise WaitExpired(key, f"{stage} is not made yet", wait_s)


def cancel(key: str) -> Conversation[Compilation]:
    """Withdraw the caller's interest."""
    return read(Compilation.from_json, (yield Question("DELETE", _path(key))))


def look(path: str) -> Conversation[dict[str, Any]]:
    """Ask for one of the documents that describe the deployment."""
    return read(dict[str, Any], (yield Question("GET", path)))


def _until_finished(
    question: Question, include: tuple[str, ...], wait_s: float
) -> Conversation[Compilation]:
    cache = None  # said of the first answer only: asking again is not another request for it
    for asked_wait_s, pause_s in _turns(wait_s):
        answer = yield replace(question, wait_s=asked_wait_s, pause_s=pause_s)
        compilation = read(Compilation.from_json, answer)
        cache = cache or compilation.cache
        if compilation.finished:
            break
        question = Question("GET", _path(compilation.key), include=include)
    return replace(compilation, cache=cache)


def _turns(wait_s: float) -> Iterator[tuple[float, float]]:
    """Yield, for each question, how long to have it held and how long to pause before it."""
    asked_at = time.monotonic()
    deadline = asked_at + wait_s
    yield min(wait_s, LONGEST_WAIT_S), 0
    while (left_s := deadline - time.monotonic()) > 0:
        pause_s = min(left_s, max(0, asked_at + ASK_AGAIN_S - time.monotonic()))
        asked_at = time.monotonic() + pause_s
        yield min(left_s - pause_s, LONGEST_WAIT_S), pause_s


def _path(key: str) -> str:
    return f"{COMPILATIONS}/{quote(key, safe='')}"

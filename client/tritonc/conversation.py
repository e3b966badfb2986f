"""How the service is asked, without any input or output: questions, waiting, asking again.

A conversation is a generator: it yields questions and is sent the answers, or thrown the error when
there is none. `Client` and `AsyncClient` both hold the same conversations, one blocking and one
not; the pattern is that of httpx's authentication flows. Nothing here may block, sleep or open a
connection.
"""

import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import httpx

from tritonc.answer import read, retry_after_s
from tritonc.service_errors import ServerUnavailable

LONGEST_WAIT_S = 30.0  # of one question; proxies cut connections that are silent for long
ASK_AGAIN_S = 0.25  # questions are at least so far apart, should the service not hold them
PAUSES_S = (0.25, 0.5, 1.0, 2.0, 4.0)  # before repeating what got no answer; bridges a restart
LONGEST_PAUSE_S = 10.0  # a service that wants more patience than this is reported instead

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Question:
    """One HTTP request to be: asked after `pause_s`, and held open by the service for `wait_s`.

    `body` is sent as JSON, `content` as it is; there is one of them at most. How long to hold it is
    part of the URL or, if `waits_in_body`, of the body.
    """

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    content: bytes | None = None
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    wait_s: float = 0
    pause_s: float = 0
    waits_in_body: bool = False

    @property
    def params(self) -> dict[str, str]:
        """The query of the URL."""
        is_said = self.wait_s > 0 and not self.waits_in_body
        return dict(self.query) | ({"wait": f"{self.wait_s:.3f}"} if is_said else {})

    @property
    def json(self) -> Mapping[str, Any] | None:
        """The JSON to send."""
        if self.body is None or not self.waits_in_body:
            return self.body
        return {**self.body, "wait_s": round(self.wait_s, 3)}


Conversation = Generator[Question, httpx.Response, Result]
Reader = Callable[[httpx.Response], Result]


def ask(question: Question) -> Conversation[httpx.Response]:
    """Ask once."""
    return (yield question)


def insist(question: Question) -> Conversation[httpx.Response]:
    """Ask, and repeat what got no answer: only for what does nothing more when it is repeated.

    Raises ServerUnavailable when the last repetition had no answer either.
    """
    for pause_s in PAUSES_S:
        try:
            return (yield question)
        except ServerUnavailable as error:
            wanted_s = error.retry_after_s or 0
            if wanted_s > LONGEST_PAUSE_S:
                raise
            question = replace(question, pause_s=max(pause_s, wanted_s))
    return (yield question)


def until(
    question: Question,
    wait_s: float,
    reader: Reader[Result],
    again: Callable[[Result], Question | None],
    asking: Callable[[Question], Conversation[httpx.Response]] = ask,
) -> Conversation[Result]:
    """Ask, then what `again` makes of each result, until that is None or `wait_s` is over.

    Returns the last result, whatever it is. `Retry-After` is obeyed.
    """
    deadline = time.monotonic() + wait_s
    question = replace(question, wait_s=min(wait_s, LONGEST_WAIT_S))
    while True:
        asked_at = time.monotonic() + question.pause_s
        answer = yield from asking(question)
        result = reader(answer)
        following = again(result)
        left_s = deadline - time.monotonic()
        if following is None or left_s <= 0:
            return result
        gap_s = retry_after_s(answer) or ASK_AGAIN_S
        pause_s = min(left_s, max(0, asked_at + gap_s - time.monotonic()))
        held_s = min(left_s - pause_s, LONGEST_WAIT_S)
        question = replace(following, wait_s=held_s, pause_s=pause_s)


def look(path: str) -> Conversation[dict[str, Any]]:
    """Ask for one of the documents that describe the deployment."""
    return read(dict[str, Any], (yield Question("GET", path)))

"""A blocking connection pool to one service: holds conversations and follows events."""

import time
from collections.abc import Iterator
from typing import Any, TypeVar

import httpx

from tritonc.answer import accepted, not_reached
from tritonc.conversation import Conversation, Question
from tritonc.event import Event, Following
from tritonc.service_errors import ServerUnavailable, TritoncError
from tritonc.version import __version__

DEFAULT_URL = "http://127.0.0.1:8000"
SILENCE_S = 60.0  # of an event stream, before it is taken for lost and asked for again

Result = TypeVar("Result")


class Connection:
    """`timeout_s` bounds connecting and silence; `transport` is httpx's."""

    def __init__(
        self, url: str, api_key: str | None, timeout_s: float, transport: httpx.BaseTransport | None
    ) -> None:
        self._timeout_s = timeout_s
        self._http = httpx.Client(**settings(url, api_key, timeout_s), transport=transport)

    def hold(self, talk: Conversation[Result]) -> Result:
        """Ask what `talk` asks, one after the other, and return its result."""
        try:
            question = next(talk)
            while True:
                time.sleep(question.pause_s)
                try:
                    answer = self._ask(question)
                except TritoncError as error:
                    question = talk.throw(error)
                else:
                    question = talk.send(answer)
        except StopIteration as end:
            result: Result = end.value
            return result

    def follow(self, path: str, after: str | None = None) -> Iterator[Event]:
        """Yield events as they come, through lost connections, until the last one."""
        following = Following(after)
        while not following.over:
            time.sleep(following.pause_s)
            try:
                with self._http.stream(**streaming(path, following, self._timeout_s)) as answer:
                    if not answer.is_success:
                        answer.read()
                    for line in accepted(answer).iter_lines():
                        if event := following.hear(line):
                            yield event
                following.ended()
            except httpx.RequestError as error:
                following.lost(not_reached(error, self._http.base_url))
            except ServerUnavailable as error:
                following.lost(error)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _ask(self, question: Question) -> httpx.Response:
        try:
            answer = self._http.request(**arguments(question, self._timeout_s))
        except httpx.RequestError as error:
            raise not_reached(error, self._http.base_url) from error
        return accepted(answer)


def settings(url: str, api_key: str | None, timeout_s: float) -> dict[str, Any]:
    """Return the arguments of `httpx.Client` and `httpx.AsyncClient`."""
    headers = {"User-Agent": f"tritonc/{__version__}"}
    if api_key:
        headers["Authorization"] = f"Bearer {api_key}"
    return {"base_url": url, "headers": headers, "timeout": timeout_s}


def arguments(question: Question, timeout_s: float) -> dict[str, Any]:
    """Return the arguments of `.request()`; reading may take the time that the service waits."""
    return {
        "method": question.method,
        "url": question.path,
        "params": question.params,
        "headers": dict(question.headers),
        "timeout": httpx.Timeout(timeout_s, read=timeout_s + question.wait_s),
        **({"json": question.json} if question.content is None else {"content": question.content}),
    }


def streaming(path: str, following: Following, timeout_s: float) -> dict[str, Any]:
    """Return the arguments of `.stream()`."""
    return {
        "method": "GET",
        "url": path,
        "headers": following.begin(),
        "timeout": httpx.Timeout(timeout_s, read=max(timeout_s, SILENCE_S)),
    }

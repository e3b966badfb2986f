"""HTTP requests, for asyncio: retries, polling, and event streams that resume.

Other modules decide what to send and what an answer means.
"""

from asyncio import sleep
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from time import monotonic
from typing import TypeVar

import httpx

from tritonc.answer_body import AnswerBody
from tritonc.event import Event, EventStream
from tritonc.exchange import (
    POLL_INTERVAL_S,
    STORAGE_HEADERS,
    Request,
    check,
    is_connection_refused,
    is_redirected,
    matches_redirect,
    plain,
    pool_arguments,
    refused_pause_s,
    retry_after_s,
    retry_pause_s,
    stream_arguments,
    unreachable_error,
)
from tritonc.packages.sent_texts import UNKNOWN, SentTexts
from tritonc.service_errors import ProblemError, ServerUnavailable, UnexpectedAnswer
from tritonc.storage_redirect import is_followed

Result = TypeVar("Result")


class AsyncConnection:
    """A pool of connections; `timeout_s` bounds connecting and silence, `transport` is httpx's."""

    def __init__(
        self,
        url: str | None,
        api_key: str | None,
        timeout_s: float,
        transport: httpx.AsyncBaseTransport | None,
        on_loss: Callable[[ServerUnavailable], object] | None = None,
    ) -> None:
        self._on_loss = on_loss
        self._timeout_s = timeout_s
        pool = pool_arguments(url, api_key, timeout_s)
        self._http = httpx.AsyncClient(**pool, transport=transport)
        self._was_answered = False
        self._transport = transport
        self._texts = SentTexts()
        self._storage: httpx.AsyncClient | None = None
        # what is stored is in zstd, which httpx reads where the package zstandard is installed
        self._may_redirect = "zstd" in self._http.headers["Accept-Encoding"]

    async def send(self, request: Request, ends_at: float | None = None) -> httpx.Response:
        """Send a request and return its answer if its status is a success.

        The service may take until `ends_at` to answer, by `monotonic()`; None: it answers at once.
        A request that it refuses with 429 is repeated when `Retry-After` is over, unless that would
        be more than the timeout after `ends_at`. A repeatable request is also repeated while the
        service is lost, for some seconds and until `ends_at`.

        Raises ProblemError, UnexpectedAnswer or ServerUnavailable.
        """
        ends_at = monotonic() if ends_at is None else ends_at
        try:
            return await self._send_texts(request, ends_at)
        except ProblemError as error:
            if request.if_not_found is None or error.slug != "not_found":
                raise
        return await self._send_texts(request.if_not_found, ends_at)

    async def poll(
        self,
        request: Request,
        wait_s: float,
        read: Callable[[httpx.Response], Result],
        following: Callable[[Result], Request | None],
    ) -> Result:
        """Send `request`, then until `wait_s` is over what `following` returns for each result.

        Returns the last result: the one for which `following` returned None, or the latest when
        `wait_s` is over. `Retry-After` is obeyed.
        """
        deadline = monotonic() + wait_s
        while True:
            sent_at = monotonic()
            answer = await self.send(request, deadline)
            result = read(answer)
            after = following(result)
            left_s = deadline - monotonic()
            if after is None or left_s <= 0:
                return result
            interval_s = retry_after_s(answer) or POLL_INTERVAL_S
            pause_s = min(left_s, max(0, sent_at + interval_s - monotonic()))
            await sleep(pause_s)
            request = after

    async def events(self, path: str, after: str | None) -> AsyncIterator[Event]:
        """Yield events until the last one, reconnecting after lost connections."""
        stream = EventStream(after)
        while not stream.over:
            await sleep(stream.pause_s)
            arguments = stream_arguments(path, stream.headers(), self._timeout_s)
            try:
                async with self._http.stream(**arguments) as answer:
                    if not answer.is_success:
                        check(await _whole(answer, Request("GET", path)))
                    async for text in plain(answer).aiter_text():
                        for event in stream.feed(text):
                            yield event
                stream.ended()
            except httpx.RequestError as error:
                stream.lost(unreachable_error(error, self._http.base_url))
            except (ServerUnavailable, ProblemError) as error:
                stream.lost(error)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()
        if self._storage is not None:
            await self._storage.aclose()

    async def _send_texts(self, request: Request, ends_at: float) -> httpx.Response:
        """Send a request with digests of the texts that the service has, else with the texts."""
        try:
            answer = await self._retry(self._texts.shortened(request), ends_at)
        except ProblemError as error:
            if error.slug != UNKNOWN:
                raise
            self._texts.forget()
            answer = await self._retry(request, ends_at)
        self._texts.note(request)
        return answer

    async def _retry(self, request: Request, ends_at: float) -> httpx.Response:
        losses = 0
        while True:
            try:
                return await self._send_once(request.waiting(max(0, ends_at - monotonic())))
            except ProblemError as error:
                left_s = ends_at + self._timeout_s - monotonic()
                pause_s = refused_pause_s(error, left_s)
            except ServerUnavailable as error:
                if not self._was_answered and is_connection_refused(error, self._http.base_url):
                    raise  # retry only if the service answered before, since it may be restarting
                if not request.repeatable:
                    raise
                pause_s = retry_pause_s(losses, error, ends_at - monotonic())
                losses += 1
                if losses == 1 and self._on_loss is not None:
                    self._on_loss(error)
            await sleep(pause_s)

    async def _send_once(self, request: Request) -> httpx.Response:
        request = replace(request, may_redirect=request.may_redirect and self._may_redirect)
        try:
            async with self._http.stream(**request.arguments(self._timeout_s)) as started:
                answer = await _whole(started, request)
        except httpx.RequestError as error:
            raise unreachable_error(error, self._http.base_url) from error
        self._was_answered = True
        if is_redirected(request, answer):
            return await self._follow(request, answer)
        return check(answer)

    async def _follow(self, request: Request, redirect: httpx.Response) -> httpx.Response:
        """Return what the object storage has; without it, what the service itself answers.

        The storage is not asked again then: it may be out of this machine's reach.
        """
        if self._storage is None:  # another client, since the API key is not for the storage
            self._storage = httpx.AsyncClient(
                headers=STORAGE_HEADERS, timeout=self._timeout_s, transport=self._transport
            )
        try:
            location = redirect.headers["Location"]
            if is_followed(location, self._http.base_url):
                async with self._storage.stream("GET", location) as started:
                    fetched = await _whole(started, request)
                if matches_redirect(fetched, redirect):
                    return fetched
        except (httpx.RequestError, httpx.InvalidURL, KeyError, UnexpectedAnswer):
            pass
        self._may_redirect = False
        return await self._send_once(replace(request, may_redirect=False))


async def _whole(started: httpx.Response, request: Request) -> httpx.Response:
    """Return an answer with its body. Raises UnexpectedAnswer for one beyond its limits."""
    body = AnswerBody(started, request.most_bytes, monotonic() + request.most_s)
    if not body.is_read:
        async for piece in started.aiter_raw():
            body.add(piece, monotonic())
    return body.whole()

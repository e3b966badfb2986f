"""The connection pool for asyncio: what `Connection` does, awaited."""

import asyncio
from collections.abc import AsyncIterator
from typing import TypeVar

import httpx

from tritonc.answer import accepted, not_reached
from tritonc.connection import arguments, settings, streaming
from tritonc.conversation import Conversation, Question
from tritonc.event import Event, Following
from tritonc.service_errors import ServerUnavailable, TritoncError

Result = TypeVar("Result")


class AsyncConnection:
    """`Connection` for asyncio."""

    def __init__(
        self,
        url: str,
        api_key: str | None,
        timeout_s: float,
        transport: httpx.AsyncBaseTransport | None,
    ) -> None:
        self._timeout_s = timeout_s
        self._http = httpx.AsyncClient(**settings(url, api_key, timeout_s), transport=transport)

    async def hold(self, talk: Conversation[Result]) -> Result:
        """Ask what `talk` asks, one after the other, and return its result."""
        try:
            question = next(talk)
            while True:
                await asyncio.sleep(question.pause_s)
                try:
                    answer = await self._ask(question)
                except TritoncError as error:
                    question = talk.throw(error)
                else:
                    question = talk.send(answer)
        except StopIteration as end:
            result: Result = end.value
            return result

    async def follow(self, path: str, after: str | None = None) -> AsyncIterator[Event]:
        """Yield events as they come, through lost connections, until the last one."""
        following = Following(after)
        while not following.over:
            await asyncio.sleep(following.pause_s)
            try:
                how = streaming(path, following, self._timeout_s)
                async with self._http.stream(**how) as answer:
                    if not answer.is_success:
                        await answer.aread()
                    async for line in accepted(answer).aiter_lines():
                        if event := following.hear(line):
                            yield event
                following.ended()
            except httpx.RequestError as error:
                following.lost(not_reached(error, self._http.base_url))
            except ServerUnavailable as error:
                following.lost(error)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _ask(self, question: Question) -> httpx.Response:
        try:
            answer = await self._http.request(**arguments(question, self._timeout_s))
        except httpx.RequestError as error:
            raise not_reached(error, self._http.base_url) from error
        return accepted(answer)

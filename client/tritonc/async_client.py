"""The client for asyncio: the methods of `Client`, awaited. See there for what they do."""

import asyncio
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

import httpx

from tritonc import connection, conversation
from tritonc.answer import accepted, not_reached
from tritonc.compilation import Compilation
from tritonc.request import FurtherMembers, compile_body

Result = TypeVar("Result")


class AsyncClient:
    """`Client` for asyncio; use it with `async with`, or `aclose()` it."""

    def __init__(
        self,
        url: str = connection.DEFAULT_URL,
        *,
        api_key: str | None = None,
        timeout_s: float = 10,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._timeout_s = timeout_s
        settings = connection.settings(url, api_key, timeout_s)
        self._http = httpx.AsyncClient(**settings, transport=transport)

    async def compile(
        self,
        source: str,
        *,
        target: str,
        signature: Mapping[str, Any] | str | None = None,
        constexprs: Mapping[str, Any] | None = None,
        hints: Mapping[str, Iterable[str]] | None = None,
        kernel: str | None = None,
        options: Mapping[str, Any] | None = None,
        include: Iterable[str] = (),
        stop_after: str | None = None,
        wait_s: float = 60,
        check: bool = True,
        **further: Unpack[FurtherMembers],
    ) -> Compilation:
        """Compile a kernel, as `Client.compile` does."""
        body = compile_body(
            source,
            target=target,
            signature=signature,
            constexprs=constexprs,
            hints=hints,
            kernel=kernel,
            options=options,
            include=include,
            stop_after=stop_after,
            **further,
        )
        return await self._hold(conversation.compile_and_wait(body, wait_s, check))

    async def get(self, key: str, *, include: Iterable[str] = (), wait_s: float = 0) -> Compilation:
        """Return a compilation, as `Client.get` does."""
        return await self._hold(conversation.get(key, include, wait_s))

    async def artifact(self, key: str, stage: str, *, wait_s: float = 60) -> bytes:
        """Return the bytes of one stage, as `Client.artifact` does."""
        return await self._hold(conversation.artifact(key, stage, wait_s))

    async def cancel(self, key: str) -> Compilation:
        """Withdraw this caller's interest, as `Client.cancel` does."""
        return await self._hold(conversation.cancel(key))

    async def targets(self) -> dict[str, Any]:
        """Return what can be compiled for, as `Client.targets` does."""
        return await self._hold(conversation.look("/v1/targets"))

    async def system(self) -> dict[str, Any]:
        """Return the state of the deployment, as `Client.system` does."""
        return await self._hold(conversation.look("/v1/system"))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def _hold(self, talk: conversation.Conversation[Result]) -> Result:
        try:
            question = next(talk)
            while True:
                await asyncio.sleep(question.pause_s)
                question = talk.send(await self._ask(question))
        except StopIteration as end:
            result: Result = end.value
            return result

    async def _ask(self, question: conversation.Question) -> httpx.Response:
        try:
            answer = await self._http.request(**connection.arguments(question, self._timeout_s))
        except httpx.RequestError as error:
            raise not_reached(error, self._http.base_url) from error
        return accepted(answer)

"""The client for asyncio: the methods of `Client`, awaited. See there for what they do."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, Unpack

import httpx

from tritonc import compiling, launching
from tritonc.async_connection import AsyncConnection
from tritonc.batches import AsyncBatches
from tritonc.compilation import Compilation
from tritonc.connection import DEFAULT_URL
from tritonc.conversation import look
from tritonc.event import Event
from tritonc.launch import Launch
from tritonc.launch_request import LaunchMembers, Source, launch_request
from tritonc.launches import AsyncLaunches
from tritonc.request import FurtherMembers, compile_request, ir_request
from tritonc.tensors import AsyncTensors


class AsyncClient:
    """`Client` for asyncio; use it with `async with`, or `aclose()` it."""

    def __init__(
        self,
        url: str = DEFAULT_URL,
        *,
        api_key: str | None = None,
        timeout_s: float = 10,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._connection = AsyncConnection(url, api_key, timeout_s, transport)
        self.launches = AsyncLaunches(self._connection)
        self.batches = AsyncBatches(self._connection)
        self.tensors = AsyncTensors(self._connection)

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
        body = compile_request(
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
        return await self._connection.hold(compiling.compile_and_wait(body, wait_s, check))

    async def compile_ir(
        self,
        text: str,
        *,
        target: str,
        language: str = "ttir",
        canonicalize: bool = False,
        options: Mapping[str, Any] | None = None,
        include: Iterable[str] = (),
        stop_after: str | None = None,
        wait_s: float = 60,
        check: bool = True,
    ) -> Compilation:
        """Compile IR text, as `Client.compile_ir` does."""
        body = ir_request(
            text,
            language=language,
            canonicalize=canonicalize,
            target=target,
            options=options,
            include=include,
            stop_after=stop_after,
        )
        return await self._connection.hold(compiling.compile_and_wait(body, wait_s, check))

    async def launch(
        self,
        source: Source,
        *,
        arguments: Mapping[str, Any] | Sequence[Any],
        grid: Sequence[int | str],
        wait_s: float = 60,
        check: bool = True,
        idempotency_key: str | None = None,
        **members: Unpack[LaunchMembers],
    ) -> Launch:
        """Run a kernel, as `Client.launch` does."""
        request = launch_request(source, arguments=arguments, grid=grid, **members)
        talk = launching.launch_and_wait(request, wait_s, check, idempotency_key)
        return await self._connection.hold(talk)

    async def get(self, key: str, *, include: Iterable[str] = (), wait_s: float = 0) -> Compilation:
        """Return a compilation, as `Client.get` does."""
        return await self._connection.hold(compiling.get(key, include, wait_s))

    async def artifact(self, key: str, stage: str, *, wait_s: float = 60) -> bytes:
        """Return the bytes of one stage, as `Client.artifact` does."""
        return await self._connection.hold(compiling.artifact(key, stage, wait_s))

    async def sass(self, key: str, *, wait_s: float = 60) -> str:
        """Return the machine code, as `Client.sass` does."""
        return await self._connection.hold(compiling.sass(key, wait_s))

    async def lines(self, key: str, *, wait_s: float = 60) -> dict[str, Any]:
        """Return the line map, as `Client.lines` does."""
        return await self._connection.hold(compiling.document(key, "lines", wait_s))

    async def passes(self, key: str, *, wait_s: float = 60) -> dict[str, Any]:
        """Return the passes, as `Client.passes` does."""
        return await self._connection.hold(compiling.document(key, "passes", wait_s))

    async def export(self, key: str, kind: str, *, wait_s: float = 60) -> bytes:
        """Return the kernel to take away, as `Client.export` does."""
        return await self._connection.hold(compiling.export(key, kind, wait_s))

    async def request(self, key: str) -> dict[str, Any]:
        """Return what was posted, as `Client.request` does."""
        return await self._connection.hold(compiling.document(key, "request", 0))

    def events(self, key: str, *, after: str | None = None) -> AsyncIterator[Event]:
        """Yield what happens to a compilation, as `Client.events` does."""
        return self._connection.follow(compiling.path_of(key) + "/events", after)

    async def cancel(self, key: str) -> Compilation:
        """Withdraw this caller's interest, as `Client.cancel` does."""
        return await self._connection.hold(compiling.cancel(key))

    async def inspect(
        self, source: str, *, files: Mapping[str, str] | None = None, wait_s: float = 60
    ) -> dict[str, Any]:
        """Return the kernels of a source, as `Client.inspect` does."""
        return await self._connection.hold(compiling.inspect(source, files, wait_s))

    async def targets(self) -> dict[str, Any]:
        """Return what can be compiled for, as `Client.targets` does."""
        return await self._connection.hold(look("/v1/targets"))

    async def devices(self) -> dict[str, Any]:
        """Return the GPUs, as `Client.devices` does."""
        return await self._connection.hold(look("/v1/devices"))

    async def system(self) -> dict[str, Any]:
        """Return the state of the deployment, as `Client.system` does."""
        return await self._connection.hold(look("/v1/system"))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._connection.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

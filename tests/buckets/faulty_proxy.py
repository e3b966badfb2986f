"""A proxy in front of an HTTP server that corrupts answers, like networks, servers and disks."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Literal, Self

Fault = Literal["none", "refused", "silent", "503", "cut off", "damaged", "trickling"]
_BUSY = b"<?xml version='1.0'?><Error><Code>SlowDown</Code><Message>later</Message></Error>"


class FaultyProxy:
    """Forwards requests to `url`; `heads` are the heads of all requests. Set its `fault`."""

    def __init__(self, port: int) -> None:
        self.fault: Fault = "none"
        self.heads: list[str] = []
        self._port = port
        self._server: asyncio.Server | None = None
        self._served: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._served:
            task.cancel()
        await asyncio.gather(*self._served, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._served.add(task)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                await self._serve(reader, writer)
        finally:
            self._served.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward one request after the other, each on a new connection."""
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            self.heads.append(head.decode())
            fault = self.fault
            if fault == "refused":
                return
            if fault == "silent":
                await reader.read()  # until the client closes
                return
            body = await reader.readexactly(_length(head))
            if fault == "503":
                length = f"Content-Length: {len(_BUSY)}\r\n\r\n"
                writer.write(b"HTTP/1.1 503 Slow Down\r\n" + length.encode() + _BUSY)
                continue
            answered, content = await self._ask(head, body)
            writer.write(answered)
            if fault == "cut off":
                writer.write(content[: len(content) // 2])
                await writer.drain()
                return
            if fault == "damaged":
                middle = len(content) // 2
                content = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
            if fault == "trickling":
                for octet in content:
                    writer.write(bytes([octet]))
                    await writer.drain()
                    await asyncio.sleep(0.05)
            else:
                writer.write(content)
            await writer.drain()

    async def _ask(self, head: bytes, body: bytes) -> tuple[bytes, bytes]:
        """Return the head and the body of the server's answer."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            writer.write(head + body)
            answered = await reader.readuntil(b"\r\n\r\n")
            return answered, await reader.readexactly(_length(answered))
        finally:
            writer.close()


def _length(head: bytes) -> int:
    """Return the length of the body that follows."""
    for line in head.decode().lower().split("\r\n"):
        name, _, value = line.partition(":")
        if name == "content-length":
            return int(value)
    return 0

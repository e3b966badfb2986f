"""`python -m tests.soak.strangers URL SEED`: greedy clients, until SIGTERM.

Each must be refused or cut off, and cost others nothing. At its end it prints, as one line of JSON,
the outcomes of each kind, and the errors.
"""

from __future__ import annotations

import asyncio
import json
import random
import signal
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

CHUNKED = (
    b"POST /v1/compilations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"
)
MAX_BYTES = 48 << 20
STALLED = 40
STALLED_BYTES = 14 << 20
MAX_S = 60.0


class ServiceAddress:
    """The address of the service."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host, self._port = str(parts.hostname), int(parts.port or 80)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(self._host, self._port)

    async def post(self, path: str, body: bytes) -> str:
        """Return the status of the answer, or that there was none."""
        head = (
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Accept: application/json, text/event-stream\r\nConnection: close\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        return await self.send(head.encode() + body)

    async def send(self, sent: bytes) -> str:
        """Send bytes; return the status of the answer, or that there was none."""
        reader, writer = await self.connect()
        try:
            writer.write(sent)
            return status_of(await reader.read(13))
        finally:
            writer.close()


def status_of(answer: bytes) -> str:
    return answer[9:12].decode() if answer.startswith(b"HTTP/1.1 ") else "closed"


async def endless_trailers(door: ServiceAddress) -> str:
    _, writer = await door.connect()
    try:
        writer.write(CHUNKED)
        for _ in range(MAX_BYTES // 500_000):
            writer.write(b"a:b\r\n" * 100_000)
            await writer.drain()
    except ConnectionError:
        return "closed"
    finally:
        writer.close()
    return "taken"


async def slow_trailers(door: ServiceAddress) -> str:
    reader, writer = await door.connect()
    try:
        writer.write(CHUNKED)
        for _ in range(200):
            writer.write(b"a:b\r\n")
            await writer.drain()
            await asyncio.sleep(0.1)
        return status_of(await reader.read(13))
    finally:
        writer.close()


async def large_head(door: ServiceAddress) -> str:
    return await door.send(
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 70_000 + b"\r\n\r\n"
    )


async def many_in_a_row(door: ServiceAddress) -> str:
    reader, writer = await door.connect()
    try:
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20_000)
        return status_of(await reader.read(13))
    finally:
        writer.close()


async def stalled_batches(door: ServiceAddress) -> str:
    head = (
        b"POST /v1/batches HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n" % (STALLED_BYTES + 1)
    )
    held = []
    try:
        for _ in range(STALLED):
            _, writer = await door.connect()
            held.append(writer)
            writer.write(head)
            for _ in range(STALLED_BYTES >> 20):
                writer.write(b" " * (1 << 20))
                await writer.drain()
        await asyncio.sleep(2)
    finally:
        for writer in held:
            writer.close()
    return "closed"


async def objects_as_a_grid(door: ServiceAddress) -> str:
    grid = b"{}," * ((1950 << 10) // 3)
    arguments = b'{"source":"","arguments":{},"grid":[' + grid + b"{}]}"
    call = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"launch","arguments":'
    return await door.post("/mcp", call + arguments + b"}}")


async def unknown_members(door: ServiceAddress) -> str:
    members = b",".join(b'"%x":0' % number for number in range(800_000))
    return await door.post("/v1/programs", b'{"reference":{' + members + b"}}")


async def a_long_axis(door: ServiceAddress) -> str:
    axis = b",".join(b"%d" % number for number in range(500_000))
    return await door.post("/v1/sweeps", _sweep(b'{"product":{"constexprs.N":[' + axis + b"]}}"))


async def a_space_of_numbers(door: ServiceAddress) -> str:
    return await door.post("/v1/sweeps", _sweep(b"[" + b"1," * 2_000_000 + b"1]"))


async def a_large_product(door: ServiceAddress) -> str:
    axis = b"[" + b",".join(b"%d" % number for number in range(316)) + b"]"
    space = b'{"product":{"constexprs.N":' + axis + b',"constexprs.M":' + axis + b"}}"
    where = b',"where":["' + b" and ".join([b"N * M + N > M * M + 99999999"] * 8) + b'"]'
    return await door.post("/v1/sweeps", _sweep(space, where))


def _sweep(space: bytes, further: bytes = b"") -> bytes:
    base = b'{"source":"","signature":{},"target":"cuda:90"}'
    return b'{"base":' + base + b',"space":' + space + further + b"}"


KINDS: tuple[Callable[[ServiceAddress], Awaitable[str]], ...] = (
    endless_trailers,
    slow_trailers,
    large_head,
    many_in_a_row,
    stalled_batches,
    objects_as_a_grid,
    unknown_members,
    a_long_axis,
    a_space_of_numbers,
    a_large_product,
)
MAY_BE_TAKEN = {"many_in_a_row": "200", "objects_as_a_grid": "200"}
"""Only some of the first are answered; errors of the second are within an answer."""


class Strangers:
    """Sends all kinds repeatedly, in an order that `seed` decides."""

    def __init__(self, url: str, seed: int) -> None:
        self._door, self._random = ServiceAddress(url), random.Random(f"strangers {seed}")
        self.outcomes: dict[str, Counter[str]] = {kind.__name__: Counter() for kind in KINDS}

    async def run(self) -> None:
        while True:
            for kind in self._random.sample(KINDS, len(KINDS)):
                self.outcomes[kind.__name__][await self._outcome(kind)] += 1
                await asyncio.sleep(self._random.uniform(0.2, 2))

    async def _outcome(self, kind: Callable[[ServiceAddress], Awaitable[str]]) -> str:
        try:
            async with asyncio.timeout(MAX_S):
                return await kind(self._door)
        except OSError:  # cut off, or the service is restarting
            return "closed"
        except TimeoutError:
            return "stuck"

    def wrong(self) -> list[str]:
        """Return outcomes that should not occur."""
        return [
            f"{name}: {outcome}, {count} times"
            for name, outcomes in self.outcomes.items()
            for outcome, count in outcomes.items()
            if outcome != MAY_BE_TAKEN.get(name)
            and (outcome in {"taken", "stuck"} or outcome[0] == "2" or outcome == "500")
        ]


async def main(url: str, seed: int) -> None:
    strangers = Strangers(url, seed)
    running = asyncio.create_task(strangers.run())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)
    await asyncio.wait([running])
    found = {"outcomes": strangers.outcomes, "wrong": strangers.wrong()}
    if not running.cancelled():
        found["wrong"] = [f"the strangers ended: {running.exception()!r}"]
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))

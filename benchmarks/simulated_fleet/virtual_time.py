"""Virtual time: an event loop whose clock jumps to the next timer, and a store in that time.

The store's code, its scripts and Valkey are real. As a server does, `VirtualServer` takes all
commands that have arrived, runs them, and takes the next ones when it is done with these. It sends
them to Valkey over one blocking connection, while the virtual clock stands still. Each command then
takes as much virtual time as its kind takes of Valkey's processor.

Stand-ins: `TIME` within a script is the virtual clock (keys still expire by Valkey's own); one
connection waits in `BLPOP` for all workers with equal lanes; and the network is a constant.
"""

import asyncio
import itertools
import selectors
import statistics
import time
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from redis.asyncio.client import Pipeline
from redis.commands.core import AsyncScript
from redis.exceptions import NoScriptError

from simulated_fleet.valkey_connection import Connection, processor_s
from store import scripts
from store.connection import StoreClient

NETWORK_S: Final = 0.0005
"""One round trip between a process and the store."""
EPOCH_S: Final = 1_700_000_000
CALIBRATED_AFTER_S: Final = 0.25
"""Seconds of calls after which their cost is compared with Valkey's processor time again."""
REMEMBERED_CALLS: Final = 51
"""Of each kind, sent alone. Their median counts, as other processes interrupt some."""
UNKNOWN_S: Final = 0.0001
"""The time of a kind that was never sent alone."""
_TIME: Final = 'redis.call("TIME")'


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop without any input but timers."""

    def __init__(self) -> None:
        self._now_s = 0.0
        super().__init__(_Jump(self))

    def time(self) -> float:
        """Return the virtual seconds since the start."""
        return self._now_s

    def jump(self, seconds: float) -> None:
        """Move the clock."""
        self._now_s += seconds


class _Jump(selectors.SelectSelector):
    def __init__(self, loop: VirtualTimeLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise RuntimeError("every task waits for another, for ever")
        if timeout > 0:
            self._loop.jump(timeout)
        return []


@dataclass(frozen=True)
class _Call:
    kind: str
    commands: Sequence[Sequence[Any]]
    answers: "asyncio.Future[list[Any]]"


class VirtualServer:
    """A real Valkey, whose processor works in virtual time."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection = Connection(url)
        self._others = selectors.DefaultSelector()
        self._subscribers: dict[bytes, list[asyncio.Queue[Any]]] = defaultdict(list)
        self._waiting: dict[tuple[str, ...], deque[asyncio.Future[None]]] = {}
        self._poppers: dict[tuple[str, ...], Connection] = {}
        self._arrived: list[_Call] = []
        self._has_arrived = asyncio.Event()
        self._done_at_s = 0.0
        self._took_s: dict[str, deque[float]] = defaultdict(lambda: deque(maxlen=REMEMBERED_CALLS))
        self._usual_s: dict[str, float] = {}
        self._calls_s = 0.0
        self._cpu_per_call_s = 1.0
        self._cpu_before_s = self.cpu_s()
        self.busy_s = 0.0

    def cpu_s(self) -> float:
        """Return the processor seconds of Valkey's main thread so far."""
        return processor_s(self._connection)

    def usual_us(self) -> dict[str, float]:
        """Return what each kind of call costs Valkey now, in microseconds of its processor."""
        return {kind: 1e6 * s * self._cpu_per_call_s for kind, s in self._usual_s.items()}

    def subscribe(self, channel: str, processes: int) -> None:
        """Have Valkey publish `channel` to that many processes; the first one's are delivered."""
        for number in range(processes):
            connection = Connection(self._url)
            connection.ask([("SUBSCRIBE", channel)])
            on_ready = self._deliver if number == 0 else _ignore
            self._others.register(connection.socket, selectors.EVENT_READ, (on_ready, connection))

    def messages(self, channel: str) -> "asyncio.Queue[Any]":
        """Return a queue that gets all further messages of `channel`."""
        queue: asyncio.Queue[Any] = asyncio.Queue()
        self._subscribers[channel.encode()].append(queue)
        return queue

    async def call(self, kind: str, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """Return the answers to `commands`, when they are here."""
        loop = asyncio.get_running_loop()
        call = _Call(kind, commands, loop.create_future())
        loop.call_later(NETWORK_S / 2, self._arrive, call)
        return await call.answers

    def _arrive(self, call: "_Call") -> None:
        self._arrived.append(call)
        self._has_arrived.set()

    async def serve(self) -> None:
        """Run what arrives until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            await self._has_arrived.wait()
            self._has_arrived.clear()
            calls, self._arrived = self._arrived, []
            clock = _clock(loop.time())
            done_at_s = loop.time()
            for call, answers in zip(calls, self._run(calls, clock), strict=True):
                done_at_s += self._cost_s(call)
                loop.call_at(done_at_s + NETWORK_S / 2, _answer, call, answers)
            self._done_at_s = done_at_s
            self._poll()
            await asyncio.sleep(done_at_s - loop.time())

    def _run(self, calls: Sequence["_Call"], clock: tuple[int, int]) -> list[list[Any]]:
        commands = [_with_clock(command, clock) for call in calls for command in call.commands]
        sent_s = time.perf_counter()
        answers = iter(self._connection.ask(commands))
        took_s = (time.perf_counter() - sent_s) / len(commands)
        for call in calls[:1]:
            taken_s = self._took_s[call.kind]
            if len(calls) == 1 or not taken_s:
                taken_s.append(took_s)
                self._usual_s[call.kind] = statistics.median(taken_s)
        return [list(itertools.islice(answers, len(call.commands))) for call in calls]

    def _cost_s(self, call: "_Call") -> float:
        """Return the processor time that a call costs."""
        usual_s = len(call.commands) * self._usual_s.get(call.kind, UNKNOWN_S)
        cost_s = usual_s * self._cpu_per_call_s
        self._calibrate(usual_s)
        self.busy_s += cost_s
        return cost_s

    async def pop(self, tokens: Sequence[str], timeout_s: float) -> None:
        """Return when one of the lists `tokens` had an element for us, or in `timeout_s`."""
        loop, names = asyncio.get_running_loop(), tuple(tokens)
        waiter = loop.create_future()
        self._waiting.setdefault(names, deque()).append(waiter)
        if names not in self._poppers:
            self._poppers[names] = connection = Connection(self._url)
            self._others.register(
                connection.socket, selectors.EVENT_READ, (self._popped, (names, connection))
            )
            connection.send([("BLPOP", *names, 0)])
        self._poll()
        await asyncio.wait([waiter], timeout=timeout_s)
        if not waiter.done():
            waiter.cancel()

    def _popped(self, popper: "tuple[tuple[str, ...], Connection]") -> None:
        names, connection = popper
        [(token, _)] = connection.read(1)
        waiting = self._waiting[names]
        while waiting:
            waiter = waiting.popleft()
            if not waiter.done():
                asyncio.get_running_loop().call_at(self._done_at_s + NETWORK_S / 2, _wake, waiter)
                break
        else:
            self._connection.ask([("RPUSH", token, "1")])
        if any(not waiter.done() for waiter in waiting):
            connection.send([("BLPOP", *names, 0)])
        else:
            self._others.unregister(connection.socket)
            connection.socket.close()
            del self._poppers[names]

    def _deliver(self, connection: "Connection") -> None:
        loop = asyncio.get_running_loop()
        for _, channel, data in connection.read_all():
            message = {"type": "message", "data": data}
            for queue in self._subscribers[channel]:
                loop.call_at(self._done_at_s + NETWORK_S / 2, queue.put_nowait, message)

    def _poll(self) -> None:
        for ready, _ in self._others.select(0):
            on_ready, about = ready.data
            on_ready(about)

    def _calibrate(self, took_s: float) -> None:
        """Note a call. Their times are scaled so that together they are Valkey's processor time."""
        self._calls_s += took_s
        if self._calls_s > CALIBRATED_AFTER_S:
            cpu_s = self.cpu_s()
            self._cpu_per_call_s = (cpu_s - self._cpu_before_s) / self._calls_s
            self._cpu_before_s, self._calls_s = cpu_s, 0.0


class VirtualClient(StoreClient):
    """A client of a `VirtualServer`; code that uses it does not notice."""

    def __init__(self, server: VirtualServer) -> None:
        super().__init__()
        self._server = server
        self._names: dict[str, str] = {}

    def register_script(self, script: Any) -> AsyncScript:
        """Return a script whose clock is the virtual one."""
        return _Script(self, script)

    async def execute_command(self, *args: Any, **_: Any) -> Any:
        """Run one command."""
        kind = self._names.get(_text(args[1]), "script") if args[0] == "EVALSHA" else args[0]
        (answer,) = await self._server.call(kind, [args])
        if isinstance(answer, NoScriptError):
            raise answer
        return answer

    async def blpop(self, keys: Any, timeout: float | None = 0) -> Any:
        """Wait for a token."""
        await self._server.pop(keys, timeout or 0)

    def pubsub(self, **_: Any) -> Any:
        """Return a subscription."""
        return _Subscriber(self._server)

    def pipeline(self, transaction: bool = True, _: str | None = None) -> Pipeline:
        """Return a pipeline."""
        return _VirtualPipeline(self._server, self, transaction)

    def note_script(self, sha: str, script: str) -> None:
        """Note what the calls of a script are counted as."""
        self._names[sha] = _names().get(script, "another script")


@cache
def _names() -> dict[str, str]:
    return {
        scripts.text(name, shared=shared): name
        for name in scripts.NAMES
        for shared in (None, scripts.SHARED)
    }


class _Script(AsyncScript):
    def __init__(self, client: VirtualClient, script: str) -> None:
        super().__init__(client, script.replace(_TIME, "KEYS"))
        client.note_script(self.sha, script)


class _VirtualPipeline(Pipeline):
    def __init__(self, server: VirtualServer, client: VirtualClient, transaction: bool) -> None:
        super().__init__(client.connection_pool, client.response_callbacks, transaction, None)
        self._server = server

    async def execute(self, _: bool = True) -> list[Any]:
        commands = [words for words, _ in self.command_stack]
        self.command_stack = []
        return await self._server.call("pipelined command", commands)


class _Subscriber:
    def __init__(self, server: VirtualServer) -> None:
        self._server = server
        self._messages: asyncio.Queue[Any] = asyncio.Queue()

    async def subscribe(self, channel: str) -> None:
        self._messages = self._server.messages(channel)
        self._messages.put_nowait({"type": "subscribe"})

    async def get_message(self, timeout: float) -> Any:
        try:
            async with asyncio.timeout(timeout):
                return await self._messages.get()
        except TimeoutError:
            return None

    async def ping(self) -> None:
        self._messages.put_nowait({"type": "pong"})

    async def aclose(self) -> None:
        pass


def _text(word: str | bytes) -> str:
    return word.decode() if isinstance(word, bytes) else word


def _ignore(connection: Connection) -> None:
    connection.read_all()


def _answer(call: _Call, answers: list[Any]) -> None:
    if not call.answers.done():
        call.answers.set_result(answers)


def _wake(waiter: "asyncio.Future[None]") -> None:
    if not waiter.done():
        waiter.set_result(None)


def _clock(virtual_s: float) -> tuple[int, int]:
    now_us = int(1e6 * (EPOCH_S + virtual_s))
    return divmod(now_us, 1_000_000)


def _with_clock(command: Sequence[Any], clock: tuple[int, int]) -> Sequence[Any]:
    if command[0] != "EVALSHA":
        return command
    name, sha, _, *args = command
    return (name, sha, 2, *clock, *args)

"""What this process remembers of requests by their digest, so that a hit needs no work twice.

Answers need no store at all. Only finished successes are kept; they are dropped when their key is
invalidated, and all of them when word of invalidations can no longer be heard. Meanings only spare
reading a request again; they are never wrong, as a request and an offer of toolchains always give
one key.

Equal requests that are under way here at the same time: one asks the store, all get its answer.

The store joins equal jobs anyway. This spares a thousand callers of one kernel a thousand round
trips and verified blobs. Nothing is kept: a flight is over when its answer is there.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, replace
from hashlib import sha256

from service.compilations.answer import Answer, RenderedAnswer


class SingleFlight:
    """The requests of this process that others may join."""

    def __init__(self) -> None:
        self._flying: dict[Hashable, asyncio.Future[Answer | None]] = {}

    async def share(
        self, request: Hashable, wait_s: float, ask: Callable[[float], Awaitable[Answer]]
    ) -> Answer:
        """Return the answer to `request`: of the flight that is under way, else of `ask(wait_s)`.

        A flight that fails or does not finish in time helps nobody: then everyone asks, with the
        seconds that are left. Raises what `ask` raises.
        """
        flying = self._flying.get(request)
        if flying is None:
            return await self._lead(request, ask(wait_s))
        deadline = time.monotonic() + wait_s
        await asyncio.wait([flying], timeout=wait_s)
        answer = flying.result() if flying.done() else None
        if answer is None or not answer.is_finished:
            return await ask(max(0.0, deadline - time.monotonic()))
        return answer

    async def _lead(self, request: Hashable, asking: Awaitable[Answer]) -> Answer:
        flying = asyncio.get_running_loop().create_future()
        self._flying[request] = flying
        answer = None
        try:
            answer = await asking
        finally:
            del self._flying[request]
            flying.set_result(answer and _for_others(answer))
        return answer


def _for_others(answer: Answer) -> Answer:
    return replace(answer, cache="join") if answer.cache == "miss" else answer


def request_digest(namespace: str, offer: str, body: bytes) -> bytes:
    """Return what names a request here: by its body, and by all else that its key depends on."""
    return sha256(f"{namespace}\0{offer}\0".encode() + body).digest()


class AnswerMemory:
    """Least recently used answers by the digest of (namespace, offer of toolchains, body)."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._size_bytes = 0
        self._answers: OrderedDict[bytes, RenderedAnswer] = OrderedDict()
        self._digests_of_key: dict[str, set[bytes]] = {}

    def get(self, digest: bytes) -> RenderedAnswer | None:
        """Return the answer kept under `digest`, now the most recently used."""
        answer = self._answers.get(digest)
        if answer is not None:
            self._answers.move_to_end(digest)
        return answer

    def put(self, digest: bytes, answer: RenderedAnswer) -> None:
        """Keep `answer`, and let go of the least recently used beyond the limit."""
        self._drop(digest)
        if len(answer.body) > self._limit_bytes:
            return  # it would push out all others and then itself
        self._answers[digest] = answer
        self._digests_of_key.setdefault(answer.key, set()).add(digest)
        self._size_bytes += len(answer.body)
        while self._size_bytes > self._limit_bytes:
            self._drop(next(iter(self._answers)))

    def forget(self, key: str) -> None:
        """Drop every answer about the compilation `key`."""
        for digest in list(self._digests_of_key.get(key, ())):
            self._drop(digest)

    def clear(self) -> None:
        """Drop everything."""
        self._answers.clear()
        self._digests_of_key.clear()
        self._size_bytes = 0

    def _drop(self, digest: bytes) -> None:
        answer = self._answers.pop(digest, None)
        if answer is None:
            return
        self._size_bytes -= len(answer.body)
        digests = self._digests_of_key[answer.key]
        digests.discard(digest)
        if not digests:
            del self._digests_of_key[answer.key]


@dataclass(frozen=True, slots=True)
class RequestAlias:
    """What a request that was a hit asked for."""

    key: str
    include: tuple[str, ...]


class RequestAliases:
    """Least recently used meanings by the digest that answers have too."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._meanings: OrderedDict[bytes, RequestAlias] = OrderedDict()

    def get(self, digest: bytes) -> RequestAlias | None:
        """Return what the request of `digest` asked for, now the most recently used."""
        meaning = self._meanings.get(digest)
        if meaning is not None:
            self._meanings.move_to_end(digest)
        return meaning

    def put(self, digest: bytes, meaning: RequestAlias) -> None:
        """Keep `meaning`, and let go of the least recently used beyond the limit."""
        self._meanings[digest] = meaning
        if len(self._meanings) > self._limit:
            self._meanings.popitem(last=False)

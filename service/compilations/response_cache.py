"""A cache of answers in one process, by digest of the request, and joining of equal requests.

A cached answer needs no store at all. Only successful hits are cached. An invalidation of a key
drops its answers. If this process may have missed an invalidation, it drops all answers.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import replace
from hashlib import sha256

from cachetools import LRUCache

from jobs.deadline import Deadline
from service.compilations.answer import Answer, RenderedAnswer


def request_digest(namespace: str, toolchains: str, body: bytes) -> bytes:
    """Return a digest of a request: of its body, and of everything else that its key depends on."""
    return sha256(f"{namespace}\0{toolchains}\0".encode() + body).digest()


class ResponseCache(LRUCache[bytes, RenderedAnswer]):
    """Answers by the digest of their requests; their bodies take at most `maxsize` bytes.

    An index leads from each compilation to the digests of its answers.
    """

    def __init__(self, maxsize: float) -> None:
        super().__init__(maxsize, lambda answer: len(answer.body))
        self._digests_of_key: dict[str, set[bytes]] = {}

    def put(self, digest: bytes, answer: RenderedAnswer) -> None:
        """Add `answer`, and evict the least recently used beyond the limit."""
        self.pop(digest, None)
        if len(answer.body) <= self.maxsize:  # else it would push out all others
            self[digest] = answer

    def forget(self, key: str) -> None:
        """Drop every answer about the compilation `key`."""
        for digest in list(self._digests_of_key.get(key, ())):
            del self[digest]

    def clear(self) -> None:
        """Drop everything."""
        super().clear()
        self._digests_of_key.clear()

    def __setitem__(self, digest: bytes, answer: RenderedAnswer) -> None:
        super().__setitem__(digest, answer)
        self._digests_of_key.setdefault(answer.key, set()).add(digest)

    def __delitem__(self, digest: bytes) -> None:
        key = self[digest].key
        super().__delitem__(digest)
        self._digests_of_key[key].discard(digest)
        if not self._digests_of_key[key]:
            del self._digests_of_key[key]


class SingleFlight:
    """Joins equal concurrent requests: one asks the store, and all get its answer.

    The store joins equal jobs anyway. This saves a thousand callers of one kernel a thousand round
    trips and verified blobs. Nothing is kept after the answer.
    """

    def __init__(self) -> None:
        self._under_way: dict[Hashable, asyncio.Future[Answer | None]] = {}

    async def share(
        self, request: Hashable, deadline: Deadline, ask: Callable[[], Awaitable[Answer]]
    ) -> Answer:
        """Return the answer to `request`: that of an equal one that is running, else that of `ask`.

        If the first request fails or misses the deadline, each of the others asks. Raises the
        errors of `ask`.
        """
        answered = self._under_way.get(request)
        if answered is None:
            return await self._lead(request, ask())
        await asyncio.wait([answered], timeout=deadline.left_s)
        answer = answered.result() if answered.done() else None
        if answer is None or not answer.is_finished:
            return await ask()
        return answer

    async def _lead(self, request: Hashable, asking: Awaitable[Answer]) -> Answer:
        answered = asyncio.get_running_loop().create_future()
        self._under_way[request] = answered
        answer = None
        try:
            answer = await asking
        finally:
            del self._under_way[request]
            answered.set_result(
                answer and (replace(answer, cache="join") if answer.cache == "miss" else answer)
            )
        return answer

"""Answers kept in this process, bounded by bytes: the fastest hit needs no store.

Only finished successes are kept. They are dropped when their key is invalidated, and all of them
when word of invalidations can no longer be heard.
"""

from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256


@dataclass(frozen=True, slots=True)
class Remembered:
    """A hit as it is sent: the body, and the headers that do not change."""

    key: str
    body: bytes
    location: str


class AnswerMemory:
    """Least recently used answers by the digest of (caller's namespace, toolchain, body)."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._size_bytes = 0
        self._answers: OrderedDict[bytes, Remembered] = OrderedDict()
        self._digests_of_key: dict[str, set[bytes]] = {}

    @staticmethod
    def digest(namespace: str, toolchain_id: str, body: bytes) -> bytes:
        """Return the digest under which an answer to `body` is kept."""
        return sha256(f"{namespace}\0{toolchain_id}\0".encode() + body).digest()

    def get(self, digest: bytes) -> Remembered | None:
        """Return the answer kept under `digest`, now the most recently used."""
        answer = self._answers.get(digest)
        if answer is not None:
            self._answers.move_to_end(digest)
        return answer

    def put(self, digest: bytes, answer: Remembered) -> None:
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

"""What this process remembers of requests by their digest, so that a hit needs no work twice.

Answers need no store at all. Only finished successes are kept; they are dropped when their key is
invalidated, and all of them when word of invalidations can no longer be heard. Meanings only spare
reading a request again; they are never wrong, as a request and an offer of toolchains always give
one key.
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
    """Least recently used answers by the digest of (namespace, offer of toolchains, body)."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._size_bytes = 0
        self._answers: OrderedDict[bytes, Remembered] = OrderedDict()
        self._digests_of_key: dict[str, set[bytes]] = {}

    @staticmethod
    def digest(namespace: str, offer: str, body: bytes) -> bytes:
        """Return the digest under which an answer to `body` is kept."""
        return sha256(f"{namespace}\0{offer}\0".encode() + body).digest()

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


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a request that was a hit asked for."""

    key: str
    include: tuple[str, ...]


class Meanings:
    """Least recently used meanings by the digest that answers have too."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._meanings: OrderedDict[bytes, Meaning] = OrderedDict()

    def get(self, digest: bytes) -> Meaning | None:
        """Return what the request of `digest` asked for, now the most recently used."""
        meaning = self._meanings.get(digest)
        if meaning is not None:
            self._meanings.move_to_end(digest)
        return meaning

    def put(self, digest: bytes, meaning: Meaning) -> None:
        """Keep `meaning`, and let go of the least recently used beyond the limit."""
        self._meanings[digest] = meaning
        if len(self._meanings) > self._limit:
            self._meanings.popitem(last=False)

"""Tries kernels in children, each for itself: one that ends its child is lost alone.

z3 ends its process where it finds no memory, and keeps what it has had. So a child has a limit of
memory and is replaced after some kernels, or as soon as one was given up; a child that does not
answer is killed.
"""

import gc
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any, Literal

MAX_OF_CHILD = 40
"""Kernels, after which a child is replaced."""
_MAX_MIB = 6 << 10
"""Address space of a child, of which Triton's and z3's libraries take 2 GiB."""
_LOADED_FIRST = ["tests.proofs.random_language", "tests.proofs.rechecked_proof"]
_RAISED = 1
"""The exit code of a child that an exception ended, whose traceback is on stderr."""
_WAIT_S = 1.0

Lost = Literal["ended its child", "took too long"]


@dataclass
class _Child:
    process: Any
    connection: Connection
    left: int = MAX_OF_CHILD
    place: int = -1
    """The place of the item that it tries."""
    since: float = field(default_factory=time.monotonic)


def _work(connection: Connection, each: Callable[[Any], Any]) -> None:
    most = _MAX_MIB << 20
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    gc.freeze()  # modules need no look when terms are collected
    while True:
        item = connection.recv()
        if item is None:
            return
        connection.send(each(item[0]))


class Children:
    """Children that try items with `each`; at most `jobs` at once, each item for `most_s`.

    A result for which `is_spoilt` holds is the last one of its child.
    """

    def __init__(
        self,
        each: Callable[[Any], Any],
        jobs: int,
        most_s: float,
        is_spoilt: Callable[[Any], bool],
    ) -> None:
        self._each, self._jobs, self._most_s, self._is_spoilt = each, jobs, most_s, is_spoilt
        self._context = get_context("forkserver")
        self._context.set_forkserver_preload(_LOADED_FIRST)
        self._children: list[_Child] = []

    def results(self, items: Sequence[Any], until: float) -> Iterator[tuple[int, Any, Lost | None]]:
        """Yield the place of each item with its result, or with why it has none.

        The results come as they are made. No item is begun after `until`. Raises RuntimeError if
        `each` raises an exception.
        """
        following = iter(range(len(items)))
        idle: list[_Child] = []
        try:
            while True:
                while len(self._children) - len(idle) < self._jobs and time.monotonic() < until:
                    place = next(following, None)
                    if place is None:
                        break
                    child = idle.pop() if idle else self._start()
                    child.place, child.since = place, time.monotonic()
                    child.connection.send((items[place],))
                busy = [one for one in self._children if one not in idle]
                if not busy:
                    return
                for child, result, lost in self._answers(busy):
                    yield child.place, result, lost
                    child.left -= 1
                    if lost is None and child.left and not self._is_spoilt(result):
                        idle.append(child)
                    else:
                        self._end(child)
        finally:
            for child in list(self._children):
                self._end(child)

    def _start(self) -> _Child:
        mine, others = self._context.Pipe()
        process = self._context.Process(target=_work, args=(others, self._each), daemon=True)
        process.start()
        others.close()
        child = _Child(process, mine)
        self._children.append(child)
        return child

    def _answers(self, busy: Sequence[_Child]) -> Iterator[tuple[_Child, Any, Lost | None]]:
        ready = wait([one.connection for one in busy], _WAIT_S)
        for child in busy:
            if child.connection in ready:
                try:
                    result = child.connection.recv()
                except (EOFError, ConnectionResetError):
                    child.process.join()
                    if child.process.exitcode == _RAISED:
                        message = "a child raised an exception"
                        raise RuntimeError(message) from None
                    yield child, None, "ended its child"
                else:
                    yield child, result, None
            elif time.monotonic() - child.since > self._most_s:
                yield child, None, "took too long"

    def _end(self, child: _Child) -> None:
        self._children.remove(child)
        child.connection.close()
        child.process.kill()
        child.process.join()

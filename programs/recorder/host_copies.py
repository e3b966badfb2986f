"""Pinned memory of the host, and copies with `non_blocking=True` that may not have finished.

A replay makes each copy at once, so a program that could see an unfinished copy is refused.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from programs.recorder.record_order import NotRecordable
from programs.recorder.refusals import UserLine
from programs.tape.allowed_overloads import ALLOWED
from programs.tape.schema import COPIES

_UNUSED = frozenset({"view", "metadata", "uninitialized"})
"""Kinds of ops that use no values of their arguments."""
_ADVICE = "call torch.cuda.synchronize() before, or copy without non_blocking=True"


@dataclass(frozen=True, slots=True)
class _Copy:
    """A copy that the host has not waited for."""

    number: int
    writes_host: bool
    """False if it reads the host's memory, which may then be read, but not written."""
    place: UserLine | None

    def __str__(self) -> str:
        at = f" at {self.place[0]}:{self.place[1]}" if self.place else ""
        return f"a copy{at} with non_blocking=True"


class HostCopies:
    """The copies of one recording; storages are numbered as on the tape."""

    def __init__(self) -> None:
        self.started = 0
        self._pinned: set[int] = set()
        self._unfinished: dict[int, _Copy] = {}
        """By the storage on the host."""

    def is_pinned(self, storage: int) -> bool:
        """Return True for a storage on the CPU that a GPU can access."""
        return storage in self._pinned

    def wait(self, started: int | None = None) -> None:
        """Make the host wait for the copies that started first; None: for all."""
        if started is None:
            self._unfinished.clear()
        else:
            left = self._unfinished.items()
            self._unfinished = {at: copy for at, copy in left if copy.number >= started}

    def take(self, op: Mapping[str, Any], tensors: list[list[Any]], place: UserLine | None) -> None:
        """Add the next op of the tape; `tensors` are those of the tape.

        Raises `NotRecordable` if it runs on the host and uses the memory of an unfinished copy.
        """
        if op["op"] in {"seed", "launch"}:
            return
        used = [*_tensors_in([*op["a"], *op.get("k", {}).values()])]
        made = [id_ for id_ in op["o"] if id_ is not None]
        devices = {tensors[id_][1] for id_ in (*used, *made)}
        if "cuda" not in devices:
            if op.get("k", {}).get("pin_memory") is True:
                self._pinned.update(tensors[id_][-1] for id_ in made)
            if self._unfinished and ALLOWED[op["op"]].kind not in _UNUSED:
                self._check(op, [*used, *made], tensors)
        elif op["op"] in COPIES and "cpu" in devices:
            self._copy(op, tensors, place)

    def end_call(self) -> None:
        """Raise `NotRecordable` if the caller may read the memory of an unfinished copy."""
        for copy in self._unfinished.values():
            if copy.writes_host:
                detail = f"it returns before {copy} must have finished: {_ADVICE}"
                raise NotRecordable("stream", detail, copy.place)

    def _check(self, op: Mapping[str, Any], used: list[int], tensors: list[list[Any]]) -> None:
        in_place = op["a"][:1] if op["op"].split(".")[1].endswith("_") else []
        written = {
            tensors[id_][-1] for id_ in (*op["o"], *_tensors_in(in_place)) if id_ is not None
        }
        for storage in (tensors[id_][-1] for id_ in used):
            copy = self._unfinished.get(storage)
            if copy is not None and (copy.writes_host or storage in written):
                detail = f"it uses the memory of {copy}, which may not have finished: {_ADVICE}"
                raise NotRecordable("stream", detail)

    def _copy(
        self, op: Mapping[str, Any], tensors: list[list[Any]], place: UserLine | None
    ) -> None:
        """Note a copy between host and device; one that blocks makes the host wait for all."""
        named = op.get("k", {}).get("non_blocking")
        if not (named if named is not None else op["a"][2:3] == [True]):
            self.wait()
            return
        ids = [*_tensors_in(op["a"][:2]), *op["o"]]
        on_host = {tensors[id_][-1] for id_ in ids if tensors[id_][1] == "cpu"}
        writes_host = tensors[op["o"][0]][1] == "cpu"
        if writes_host and op["op"] != "aten.copy_.default":
            self._pinned |= on_host  # torch allocates pinned memory for the result
        if self._pinned.isdisjoint(on_host):
            if writes_host:
                self.wait()  # a copy into pageable memory blocks the host
            return
        for storage in on_host:  # a copy from memory that is still being written, too
            known = self._unfinished.get(storage)
            is_written = writes_host or (known is not None and known.writes_host)
            self._unfinished[storage] = _Copy(self.started, is_written, place)
        self.started += 1


def _tensors_in(values: list[Any]) -> Iterator[int]:
    """Yield the tensors in arguments of a tape."""
    for value in values:
        if isinstance(value, dict):
            if "t" in value:
                yield value["t"]
            yield from _tensors_in(value.get("list", []))

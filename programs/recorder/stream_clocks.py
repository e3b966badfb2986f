"""Vector clocks of a recording: the ops that each CUDA stream, and the host, have waited for.

A clock maps each stream to its last op that has finished. The default stream has no special
meaning, as torch makes its streams `cudaStreamNonBlocking`. Vector clocks: Mattern, "Virtual Time
and Global States of Distributed Systems" (1988).
"""

from collections.abc import Mapping
from typing import Any

from programs.recorder.not_recordable import NotRecordable
from programs.tape.schema import COPIES
from programs.tape.tape_bounds import MAX_STREAMS

Clock = dict[int, int]


class StreamClock:
    """The clock of one stream. The stream gets its number at its first op."""

    def __init__(self) -> None:
        self.number: int | None = None
        self.known: Clock = {}
        self.reported: Clock = {}
        """The part of `known` that the tape already states."""


class StreamClocks:
    """The clocks of one recording's streams; ops run in `current`."""

    def __init__(self) -> None:
        self.default = self.current = StreamClock()
        self._numbered: list[StreamClock] = []
        self._host = StreamClock()
        self._turns: list[tuple[int, list[int]]] = []
        self._ends: dict[str, list[int]] = {}
        self._pinned: set[int] = set()
        """CPU storages that a copy may use while the host continues."""
        self._is_plain = True
        """True while the order of the ops implies all of these clocks."""
        self._number(self.default)

    @property
    def runs_in_several(self) -> bool:
        """True if ops ran, or the next op would run, in more than one stream."""
        return len(self._numbered) > 1 or self.current is not self.default

    def is_pinned(self, storage: int) -> bool:
        """Return True for the number of a storage on the CPU that a GPU can access."""
        return storage in self._pinned

    def event(self, stream: StreamClock) -> Clock:
        """Return the clock at which all ops in `stream` so far have finished."""
        return _merged(stream.known, self._host.known)

    def wait(self, stream: StreamClock | None, event: Mapping[int, int]) -> None:
        """Make a stream wait for an event; None: the host."""
        waiting = self._host if stream is None else stream
        waiting.known = _merged(waiting.known, event)

    def wait_for_current(self) -> None:
        """Make the host wait for the current stream, as reading a tensor's value does."""
        self.wait(None, self.event(self.current))

    def wait_for_all(self) -> None:
        """Make the host wait for the device."""
        for stream in self._numbered:
            self.wait(None, self.event(stream))

    def take(self, op: Mapping[str, Any], tensors: list[list[Any]]) -> None:
        """Add the next op of the tape; `tensors` are those of the tape."""
        index = len(self._turns)
        if op["op"] == "seed":
            self._turns.append((0, []))
            return
        devices = _devices(op, tensors)
        if "cuda" not in devices:
            self._turns.append((0, _news(self._host, self._host.known, None)))
            if op.get("k", {}).get("pin_memory") is True:
                self._pinned.update(tensors[id_][-1] for id_ in op["o"])
            return
        stream = self.current
        number = self._number(stream)
        stream.known = self.event(stream)
        self._turns.append((number, _news(stream, stream.known, number)))
        stream.known[number] = index
        if op["op"] in COPIES and "cpu" in devices:
            self._copy(op, tensors)

    def end_call(self, phase: str) -> None:
        """Add the return of a call, whose caller continues in the current stream."""
        self._ends[phase] = sorted(self.event(self.current).values())

    def put(self, ops: list[dict[str, Any]]) -> dict[str, Any]:
        """Add `stream` and `after` to the ops of a tape; return the tape's member `ends`."""
        if self._is_plain:
            return {}
        for op, (number, after) in zip(ops, self._turns, strict=True):
            if number:
                op["stream"] = number
            if after:
                op["after"] = after
        return {"ends": self._ends}

    def _copy(self, op: Mapping[str, Any], tensors: list[list[Any]]) -> None:
        """Make the host wait for a copy between host and device, unless it does not block."""
        named = op.get("k", {}).get("non_blocking")
        if not (named if named is not None else op["a"][2:3] == [True]):
            self.wait_for_current()
            return
        ids = [value["t"] for value in op["a"][:2] if isinstance(value, dict) and "t" in value]
        on_cpu = {tensors[id_][-1] for id_ in (*ids, *op["o"]) if tensors[id_][1] == "cpu"}
        if tensors[op["o"][0]][1] == "cpu":
            if op["op"] != "aten.copy_.default":
                self._pinned |= on_cpu  # torch allocates pinned memory for the result
            elif self._pinned.isdisjoint(on_cpu):
                self.wait_for_current()  # a copy into pageable memory blocks the host
                return
        self._is_plain &= self._pinned.isdisjoint(on_cpu)

    def _number(self, stream: StreamClock) -> int:
        if stream.number is None:
            if len(self._numbered) >= MAX_STREAMS:
                detail = f"it runs ops in more than {MAX_STREAMS} streams"
                raise NotRecordable("stream", detail)
            stream.number = len(self._numbered)
            self._numbered.append(stream)
            self._is_plain = len(self._numbered) == 1
        return stream.number


def _merged(one: Mapping[int, int], other: Mapping[int, int]) -> Clock:
    found = dict(one)
    for stream, op in other.items():
        found[stream] = max(op, found.get(stream, -1))
    return found


def _news(stream: StreamClock, clock: Clock, own: int | None) -> list[int]:
    """Return the last ops of other streams in `clock` that the tape does not state yet.

    Marks them as stated.
    """
    news = sorted(
        op for number, op in clock.items() if number != own and op > stream.reported.get(number, -1)
    )
    if news:
        stream.reported = dict(clock)
    return news


def _devices(op: Mapping[str, Any], tensors: list[list[Any]]) -> set[str]:
    """Return the devices of the tensors that an op takes or makes. Launches are on CUDA."""
    if op["op"] == "launch":
        return {"cuda"}
    found = {tensors[id_][1] for id_ in op["o"] if id_ is not None}
    values = [*op["a"], *op.get("k", {}).values()]
    while values:
        value = values.pop()
        if isinstance(value, dict):
            if "t" in value:
                found.add(tensors[value["t"]][1])
            values += value.get("list", ())
    return found

"""CUDA's streams and events in a recording: nothing runs in them, but their order is written down.

What a tape cannot say of them is refused: streams of others, handles of other processes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn, Self

import torch

from programs.recorder.recording import current, refused
from programs.recorder.stream_clocks import StreamClock, StreamClocks
from programs.recorder.torch_patches.opaque_scalar import UnreadValue
from programs.recorder.torch_patches.unread_times import unread_time

_REASON = "stream"


class Stream:
    """A stream of torch's pool; its priority decides no order."""

    priority = 0

    def __init__(self, device: Any = None, priority: int = 0, **others: Any) -> None:
        _check_device(device)
        if others:
            refused(_REASON, f"it takes a stream of others ({', '.join(map(str, others))})")
        self.priority = int(priority)
        self.device = torch.device("cuda", 0)
        self.clock = StreamClock()
        self._before: list[StreamClock] = []

    @classmethod
    def priority_range(cls) -> tuple[int, int]:
        """Return an H100's."""
        return 0, -5

    @property
    def cuda_stream(self) -> int:
        """A handle: 0 for the default stream."""
        return 0 if self.clock is _clocks().default else id(self.clock)

    stream_id = property(lambda self: self.cuda_stream)

    def wait_stream(self, stream: Stream) -> None:
        """Let what comes wait for all that the other stream was given."""
        self.wait_event(stream.record_event())

    def wait_event(self, event: FakeEvent) -> None:
        """Let what comes wait for an event."""
        event.wait(self)

    def synchronize(self) -> None:
        """Let the host wait."""
        self.record_event().synchronize()

    def query(self) -> Happened:
        """Return whether all is done, which is waited for where it is looked at."""
        return self.record_event().query()

    def record_event(self, event: FakeEvent | None = None) -> FakeEvent:
        """Return the event of all that it was given."""
        found = FakeEvent() if event is None else event
        found.record(self)
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.clock is self.clock

    def __hash__(self) -> int:
        return id(self.clock)

    def __enter__(self) -> Self:
        self._before.append(_clocks().current)
        _clocks().current = self.clock
        return self

    def __exit__(self, *_: object) -> None:
        _clocks().current = self._before.pop()


class StreamContext:
    """What `torch.cuda.stream` is; None: the stream that is current."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self.stream.__enter__()

    def __exit__(self, *_: object) -> None:
        if self.stream is not None:
            self.stream.__exit__()


class Happened:
    """Whether something has happened: it has for whoever looks, as the host then knows it."""

    def __init__(self, clock: Mapping[int, int]) -> None:
        self._clock = clock

    def __bool__(self) -> bool:
        _clocks().wait(None, self._clock)
        return True


class FakeEvent:
    """An event, which has no time; one that was not recorded has happened."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self._clock: Mapping[int, int] = {}

    def record(self, stream: Stream | None = None) -> None:
        """Be the event of all that a stream was given so far."""
        self._clock = _clocks().event(_clocks().current if stream is None else stream.clock)

    def wait(self, stream: Stream | None = None) -> None:
        """Let what comes in a stream wait for it."""
        _clocks().wait(_clocks().current if stream is None else stream.clock, self._clock)

    def synchronize(self) -> None:
        """Let the host wait for it."""
        _clocks().wait(None, self._clock)

    def query(self) -> Happened:
        """Return whether it has happened, which is waited for where it is looked at."""
        return Happened(self._clock)

    def elapsed_time(self, _: Any) -> UnreadValue:
        """Return a time that nobody may look at."""
        return unread_time("events")

    @classmethod
    def from_ipc_handle(cls, *_: Any) -> NoReturn:
        """Refuse: another process's."""
        refused(_REASON, "it takes an event of another process")

    def ipc_handle(self) -> NoReturn:
        """Refuse."""
        refused(_REASON, "it asks for an event's handle, for another process")


def answers() -> dict[str, Any]:
    """Return what stands in the place of functions and classes of `torch.cuda`."""
    return {
        "Stream": Stream,
        "Event": FakeEvent,
        "ExternalStream": _external,
        "get_stream_from_external": _external,
        "_set_stream_by_id": _external,
        "StreamContext": StreamContext,
        "stream": StreamContext,
        "current_stream": _current_stream,
        "default_stream": _default_stream,
        "set_stream": _set_stream,
        "synchronize": _synchronize,
    }


def install() -> None:
    """Let tensors, torch's names for any accelerator and autograd know of these streams."""
    module: Any = torch
    module.Stream, module.Event = Stream, FakeEvent
    tensor: Any = torch.Tensor
    tensor.record_stream = _record_stream
    accelerator: Any = torch.accelerator
    accelerator.current_stream = _current_stream
    accelerator.set_stream = _set_stream
    accelerator.synchronize = _synchronize
    autograd: Any = torch.autograd
    autograd._engine_run_backward = _in_one_stream(autograd._engine_run_backward)


def _clocks() -> StreamClocks:
    recording = current()
    return StreamClocks() if recording is None else recording.tape.streams


def _of(clock: StreamClock) -> Stream:
    stream = Stream()
    stream.clock = clock
    return stream


def _current_stream(device: Any = None) -> Stream:
    _check_device(device)
    return _of(_clocks().current)


def _default_stream(device: Any = None) -> Stream:
    _check_device(device)
    return _of(_clocks().default)


def _set_stream(stream: Stream | None) -> None:
    if stream is not None:
        _clocks().current = stream.clock


def _synchronize(device: Any = None) -> None:
    _check_device(device)
    _clocks().wait_for_all()


def _record_stream(_: Any, stream: Stream) -> None:
    """Do nothing: no memory of a tape is given to another tensor."""
    if not isinstance(stream, Stream):
        raise TypeError("record_stream(): argument 's' must be Stream")


def _external(*_: Any, **__: Any) -> NoReturn:
    refused(_REASON, "it takes a stream that torch did not make: use torch.cuda.Stream()")


def _in_one_stream(real: Callable[..., Any]) -> Callable[..., Any]:
    """Return autograd's engine, which would run each derivative in its op's own stream."""

    def run(*args: Any, **kwargs: Any) -> Any:
        if current() is not None and _clocks().runs_in_several:
            refused(
                _REASON,
                "it computes derivatives while it uses several streams, and each would run in the "
                "stream of its op: use one stream",
            )
        return real(*args, **kwargs)

    return run


def _check_device(device: Any) -> None:
    if device is None or isinstance(device, int):
        index = device or 0
    else:
        kind = torch.device(device)
        index = kind.index or 0
        if kind.type != "cuda":
            refused("other_device", f"it asks for a stream of {kind}")
    if index > 0:
        refused("other_device", f"it uses the CUDA device {index}")

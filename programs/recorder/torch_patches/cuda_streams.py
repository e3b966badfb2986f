"""Fake CUDA streams and events: nothing runs in them, but the recording tracks their order.

Refuses what a tape cannot express: streams that torch did not make, and handles of events.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn, Self

import torch

from programs.recorder.recording import current, refused
from programs.recorder.stream_clocks import StreamClock, StreamClocks
from programs.recorder.torch_patches.opaque_scalar import OpaqueValue
from programs.recorder.torch_patches.opaque_times import opaque_time

_REASON = "stream"


class Stream:
    """A stream of torch's pool. Its priority does not affect the order."""

    priority = 0

    def __init__(self, device: Any = None, priority: int = 0, **others: Any) -> None:
        _check_device(device)
        if others:
            names = ", ".join(map(str, others))
            refused(_REASON, f"it wraps a stream that torch did not make ({names})")
        self.priority = int(priority)
        self.device = torch.device("cuda", 0)
        self.clock = StreamClock()
        self._before: list[StreamClock] = []

    @classmethod
    def priority_range(cls) -> tuple[int, int]:
        """Return the range of an H100."""
        return 0, -5

    @property
    def cuda_stream(self) -> int:
        """The handle; 0 for the default stream."""
        return 0 if self.clock is _clocks().default else id(self.clock)

    stream_id = property(lambda self: self.cuda_stream)

    def wait_stream(self, stream: Stream) -> None:
        """Make later ops of this stream wait for all earlier ops of the other."""
        self.wait_event(stream.record_event())

    def wait_event(self, event: FakeEvent) -> None:
        """Make later ops of this stream wait for an event."""
        event.wait(self)

    def synchronize(self) -> None:
        """Make the host wait for all earlier ops."""
        self.record_event().synchronize()

    def query(self) -> QueryResult:
        """Return True, after a wait, if the program reads the result."""
        return self.record_event().query()

    def record_event(self, event: FakeEvent | None = None) -> FakeEvent:
        """Record an event after all earlier ops, and return it."""
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
    """Replaces `torch.cuda.stream`; None: the current stream."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self.stream.__enter__()

    def __exit__(self, *_: object) -> None:
        if self.stream is not None:
            self.stream.__exit__()


class QueryResult:
    """The result of `query()`: True if read, as the recording then makes the host wait."""

    def __init__(self, clock: Mapping[int, int]) -> None:
        self._clock = clock

    def __bool__(self) -> bool:
        _clocks().wait(None, self._clock)
        return True


class FakeEvent:
    """An event without a time. Waiting for one that was never recorded does nothing."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self._clock: Mapping[int, int] = {}

    def record(self, stream: Stream | None = None) -> None:
        """Mark all ops of a stream so far; None: the current stream."""
        self._clock = _clocks().event(_clocks().current if stream is None else stream.clock)

    def wait(self, stream: Stream | None = None) -> None:
        """Make later ops of a stream wait for this event; None: of the current stream."""
        _clocks().wait(_clocks().current if stream is None else stream.clock, self._clock)

    def synchronize(self) -> None:
        """Make the host wait for this event."""
        _clocks().wait(None, self._clock)

    def query(self) -> QueryResult:
        """Return True, after a wait, if the program reads the result."""
        return QueryResult(self._clock)

    def elapsed_time(self, _: Any) -> OpaqueValue:
        """Return an opaque time: it can be printed, but not compared."""
        return opaque_time("events")

    @classmethod
    def from_ipc_handle(cls, *_: Any) -> NoReturn:
        """Refuse an event of another process."""
        refused(_REASON, "it opens an event of another process")

    def ipc_handle(self) -> NoReturn:
        """Refuse to share an event with another process."""
        refused(_REASON, "it requests the handle of an event, to share with another process")


def replacements() -> dict[str, Any]:
    """Return the replacements of functions and classes of `torch.cuda`, by name."""
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
    """Make tensors, `torch.accelerator` and autograd use these streams."""
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
    """Do nothing, as a tape never reuses memory."""
    if not isinstance(stream, Stream):
        raise TypeError("record_stream(): argument 's' must be Stream")


def _external(*_: Any, **__: Any) -> NoReturn:
    refused(_REASON, "it wraps a stream that torch did not make: use torch.cuda.Stream()")


def _in_one_stream(real: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap autograd's engine to refuse several streams, as gradients run in their op's stream."""

    def run(*args: Any, **kwargs: Any) -> Any:
        if current() is not None and _clocks().runs_in_several:
            refused(
                _REASON,
                "it computes gradients while it uses several streams, and autograd would run each "
                "in the stream of its op: use one stream",
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
            refused("other_device", f"it requests a stream of {kind}")
    if index > 0:
        refused("other_device", f"it uses CUDA device {index}")

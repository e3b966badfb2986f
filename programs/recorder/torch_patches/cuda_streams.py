"""Replaces CUDA streams and events: a program has the default stream only.

A program that creates a stream is refused at that line. Waiting for the default stream, or for an
event, makes the host wait for copies that do not block.
"""

from __future__ import annotations

from typing import Any, NoReturn, Self

import torch

from programs.recorder.host_copies import HostCopies
from programs.recorder.recording import current, refused
from programs.recorder.torch_patches.opaque_scalar import OpaqueValue
from programs.recorder.torch_patches.opaque_times import opaque_time

_REASON = "stream"


class Stream:
    """The default stream. A program that creates another one is refused."""

    priority = cuda_stream = stream_id = 0
    device = torch.device("cuda", 0)

    def __init__(self, device: Any = None, *_: Any, **__: Any) -> None:
        _check_device(device)
        refused(
            _REASON,
            "it creates a CUDA stream, but programs run in the default stream: remove the stream, "
            "and the waits for it",
        )

    @classmethod
    def priority_range(cls) -> tuple[int, int]:
        """Return the range of an H100."""
        return 0, -5

    def wait_stream(self, stream: Stream) -> None:
        """Do nothing, as there is one stream."""

    def wait_event(self, event: FakeEvent) -> None:
        """Do nothing, as the event was recorded in this stream."""

    def synchronize(self) -> None:
        """Make the host wait for all earlier ops."""
        _copies().wait()

    def query(self) -> bool:
        """Return True, after a wait."""
        _copies().wait()
        return True

    def record_event(self, event: FakeEvent | None = None) -> FakeEvent:
        """Record an event after all earlier ops, and return it."""
        event = FakeEvent() if event is None else event
        event.record(self)
        return event

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream)

    def __hash__(self) -> int:
        return 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...


_DEFAULT: Stream = object.__new__(Stream)


class StreamContext:
    """Replaces `torch.cuda.stream`; the default stream, or None, changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


class FakeEvent:
    """A CUDA event: the copies that had started when it was recorded."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self._started = 0

    def record(self, _: Stream | None = None) -> None:
        """Mark all ops so far."""
        self._started = _copies().started

    def wait(self, _: Stream | None = None) -> None:
        """Do nothing, as later ops run in the same stream."""

    def synchronize(self) -> None:
        """Make the host wait for this event."""
        _copies().wait(self._started)

    def query(self) -> bool:
        """Return True, after a wait."""
        self.synchronize()
        return True

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
        "current_stream": _default_stream,
        "default_stream": _default_stream,
        "set_stream": _set_stream,
        "synchronize": _synchronize,
    }


def install() -> None:
    """Make tensors and `torch.accelerator` use this stream."""
    module: Any = torch
    module.Stream, module.Event = Stream, FakeEvent
    tensor: Any = torch.Tensor
    tensor.record_stream = _record_stream
    accelerator: Any = torch.accelerator
    accelerator.current_stream = _default_stream
    accelerator.set_stream = _set_stream
    accelerator.synchronize = _synchronize


def _copies() -> HostCopies:
    recording = current()
    return HostCopies() if recording is None else recording.tape.copies


def _default_stream(device: Any = None) -> Stream:
    _check_device(device)
    return _DEFAULT


def _set_stream(_: Stream | None) -> None: ...


def _synchronize(device: Any = None) -> None:
    _check_device(device)
    _copies().wait()


def _record_stream(_: Any, stream: Stream) -> None:
    """Do nothing, as a tape never reuses memory."""
    if not isinstance(stream, Stream):
        raise TypeError("record_stream(): argument 's' must be Stream")


def _external(*_: Any, **__: Any) -> NoReturn:
    refused(_REASON, "it wraps a CUDA stream, but programs run in the default stream")


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

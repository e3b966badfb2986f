"""The current recording of this process, which the patched torch looks up."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from programs.recorder.kernel_definitions import KernelDefinitions
from programs.recorder.known_values import KnownValues
from programs.recorder.launch_collection import LaunchCollection
from programs.recorder.not_recordable import NotRecordable
from programs.recorder.record_order import RecordOrder, SandboxAttempt
from programs.recorder.tape_writer import TapeWriter
from programs.recorder.triton_changes import TritonChanges
from programs.recorder.user_lines import UserLines


class Recording:
    """One program that is being recorded."""

    def __init__(self, order: RecordOrder, lines: UserLines) -> None:
        self.order = order
        self.lines = lines
        self.tape = TapeWriter(order, lines)
        self.values = KnownValues()
        self.tries = LaunchCollection()
        self.definitions = KernelDefinitions()
        self.triton_changes = TritonChanges()
        self.muted = 0
        """While above 0, ops are not written, as a coarse op represents them."""
        self.draws = 0
        """The number of random ops so far."""
        self.draws_inputs = False
        """True if `random` or NumPy drew numbers while inputs were made."""
        self.refusal: NotRecordable | None = None
        self.attempts: list[SandboxAttempt] = []
        """Its attempts to reach outside of the sandbox."""

    @contextmanager
    def silence(self) -> Iterator[None]:
        """Write no ops in the block."""
        self.muted += 1
        try:
            yield
        finally:
            self.muted -= 1

    def refuse(self, reason: str, detail: str = "") -> NoReturn:
        """Raise `NotRecordable`. The first refusal counts, even if the program catches it."""
        raise self.noted(NotRecordable(reason, detail))

    def noted(self, refusal: NotRecordable) -> NotRecordable:
        """Return the first refusal, with the line where it happened."""
        if self.refusal is None:
            refusal.place = refusal.place or self.lines.innermost()
            self.refusal = refusal
        return self.refusal


_current: list[Recording] = []


def current() -> Recording | None:
    """Return the current recording, None if nothing is recorded."""
    return _current[-1] if _current else None


@contextmanager
def as_current(recording: Recording) -> Iterator[None]:
    """Make `recording` the current one in the block."""
    _current.append(recording)
    try:
        yield
    finally:
        _current.remove(recording)


def refused(reason: str, detail: str = "") -> NoReturn:
    """Refuse the program of the current recording."""
    recording = current()
    if recording is None:
        raise NotRecordable(reason, detail)
    recording.refuse(reason, detail)

"""Checks the frames of one child, and derives its ending from them and its exit status. Pure.

Their order is fixed: `ready` (or `sandbox`), maybe `prewarmed`, then with the job's nonce each of
the stages that the job makes at most once, and exactly one `result` or `failure`. Anything else is
garbage, which goes no further than here.
"""

import os
from collections.abc import Callable, Collection
from typing import Any

from worker.pool import frame
from worker.pool.child_outcome import Ending, SentStage, Usage

MAX_STAGE_HEADER_MEMBERS = 3
MAX_MS = 86_400_000.0
"""A day: no reported time may be longer."""
MAX_CPU_S = 1e9
MAX_RSS_BYTES = 1 << 50
MAX_DETAIL = 200
"""The limit for a child's own words in a log or a message."""


class ChildProtocol:
    """The child's half of the protocol."""

    def __init__(
        self, on_prewarmed: Callable[[], None], on_stage: Callable[[SentStage], None]
    ) -> None:
        self.ready = False
        self.stages: list[SentStage] = []
        self.last: dict[str, Any] | None = None
        self.prewarmed = False
        self.usage: Usage | None = None
        self.sandbox_error: str | None = None
        self._nonce: bytes | None = None
        self._awaited: set[str] = set()
        self._on_prewarmed = on_prewarmed
        self._on_stage = on_stage
        self._decoder = frame.Decoder()

    def begin(self, nonce: bytes, stages: Collection[str]) -> None:
        """Note the nonce of the job, and the names of the stages that it may send."""
        self._nonce = nonce
        self._awaited = set(stages)

    @property
    def begun(self) -> bool:
        """True if there is a job."""
        return self._nonce is not None

    def feed(self, data: bytes) -> None:
        """Take the next bytes that the child wrote.

        Raises FrameError at the first that break the protocol.
        """
        for received in self._decoder.feed(data):
            if self.last is not None:
                raise frame.FrameError("a frame after the last one")
            if received.nonce == frame.NO_JOB:
                self._accept_before_job(received)
            elif received.nonce != self._nonce or not self.ready:
                raise frame.FrameError("a frame whose nonce is not that of the child's job")
            else:
                self._accept(received)
        if self.last is not None and self._decoder.pending_bytes:
            raise frame.FrameError("bytes after the last frame")

    @property
    def complete(self) -> bool:
        """True if the last frame has arrived, so that only the end of the stream may follow."""
        return self.last is not None

    def _accept_before_job(self, received: frame.Frame) -> None:
        kind = received.header.get("kind")
        if kind == "ready" and not self.ready and self.sandbox_error is None:
            self.ready = True
        elif kind == "sandbox" and not self.ready and self.sandbox_error is None:
            self.sandbox_error = str(received.header.get("message"))[:MAX_DETAIL]
        elif kind == "prewarmed" and self.ready and not self.prewarmed and not self.stages:
            self.prewarmed = True
            self._on_prewarmed()
        else:
            raise frame.FrameError(f"a frame of kind {_quoted(kind)} that belongs to no job")

    def _accept(self, received: frame.Frame) -> None:
        kind = received.header.get("kind")
        if kind == "stage":
            stage = self._stage(received)
            self.stages.append(stage)
            self._on_stage(stage)
        elif kind in ("result", "failure"):
            self.usage = _usage(received.header.pop("usage", None))
            if kind == "failure":
                _check_failure(received.header)
            self.last = received.header
        else:
            raise frame.FrameError(f"a frame of unknown kind {_quoted(kind)}")

    def _stage(self, received: frame.Frame) -> SentStage:
        name, ms = received.header.get("stage"), received.header.get("ms")
        if not isinstance(name, str) or ms is None or not _is_number(ms, MAX_MS):
            raise frame.FrameError("a stage frame needs a name (`stage`) and a time (`ms`)")
        if len(received.header) > MAX_STAGE_HEADER_MEMBERS:
            raise frame.FrameError("a stage frame has a name and a time, and nothing else")
        if name not in self._awaited:
            raise frame.FrameError(
                f"the stage {_quoted(name)}, which was not asked for, or came already"
            )
        self._awaited.remove(name)
        return SentStage(name, float(ms), received.body)

    def verdict(self, status: int | None) -> tuple[Ending, str]:
        """Return how a child with this wait status ended, and why.

        None stands for a status that is not known. A child whose last frame is there and whose
        stream has ended may be judged before it has left, with status 0.
        """
        if self.sandbox_error is not None:
            return Ending.SANDBOX, self.sandbox_error
        if status is None:
            return Ending.SIGNAL, "its zygote died"
        if os.WIFSIGNALED(status):
            return Ending.SIGNAL, f"killed by signal {os.WTERMSIG(status)}"
        code = os.WEXITSTATUS(status)
        if not self.ready:
            return Ending.SANDBOX, f"exit status {code} before it entered its sandbox"
        if self._decoder.pending_bytes:
            return (
                Ending.GARBAGE,
                f"{self._decoder.pending_bytes} bytes that are not a complete frame",
            )
        if self.last is None:
            return Ending.SILENT, f"exit status {code} without a last frame"
        if code != 0:
            return Ending.SILENT, f"exit status {code}, and its stream did not end"
        return (Ending.OK, "") if self.last["kind"] == "result" else (Ending.FAILURE, "")


def _is_number(value: Any, most: float) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 <= value <= most  # which neither NaN nor an infinity is


def _quoted(value: object) -> str:
    short = value[:MAX_DETAIL] if isinstance(value, str) else value
    return repr(short)[:MAX_DETAIL]


def _usage(value: object) -> Usage | None:
    """Return the usage that the child reports, or None if it is implausible.

    It is for statistics only.
    """
    match value:
        case {"cpu_s": float(cpu_s), "max_rss_bytes": int(max_rss_bytes)} if _is_number(
            cpu_s, MAX_CPU_S
        ) and _is_number(max_rss_bytes, MAX_RSS_BYTES):
            return Usage(cpu_s, max_rss_bytes)
    return None


def _check_failure(header: dict[str, Any]) -> None:
    stage, diagnostics = header.get("stage"), header.get("diagnostics")
    if not (
        isinstance(header.get("slug"), str)
        and isinstance(header.get("message"), str)
        and (stage is None or isinstance(stage, str))
        and isinstance(diagnostics, list)
        and all(isinstance(diagnostic, dict) for diagnostic in diagnostics)
    ):
        raise frame.FrameError("a failure frame needs `slug`, `stage`, `message` and `diagnostics`")

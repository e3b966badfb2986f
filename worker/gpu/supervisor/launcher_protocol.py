"""The frames of one launcher for one job, and the outcome that they amount to. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from worker.gpu.launcher.launcher_order import BESIDE
from worker.gpu.supervisor.result_channel import Received
from worker.pool import frame
from worker.pool.shared_bytes import Body, SharedBytes


class LaunchEnding(StrEnum):
    """The one name of how a launch ended."""

    OK = "ok"
    """The kernel ran to its end; `result` has findings, if there are any."""
    FAULT = "fault"
    """The kernel could not run, or did something that ended it; `fault` names it."""
    FAILURE = "failure"
    """The launcher could not do the job; not the kernel's fault. `failure` is the reason."""
    DEADLINE = "deadline"
    SIGNAL = "signal"
    """The launcher crashed or was killed."""
    GARBAGE = "garbage"
    """The supervisor received something that is not a frame of this job, or too much."""
    SILENT = "silent"
    """It left without a last frame."""


@dataclass(frozen=True, slots=True)
class LaunchOutcome:
    """Everything that is known of one launch."""

    ending: LaunchEnding
    detail: str = ""
    """Why, in words for a log; empty for `ok`."""
    result: dict[str, Any] | None = None
    """resources, modified_inputs, digest (of outputs, by name), differing (outputs of two runs;
    None: run once), checked_repeats, differing_repeats, repeats (`TimedIteration`s, of which
    the outputs were sent), module_state (see `ModuleState.report`), timing, findings, timings_ms,
    or `ceilings` where these were to be measured."""
    fault: dict[str, Any] | None = None
    """kind (a verdict), error (CUDA's name or null), message."""
    failure: dict[str, Any] | None = None
    """slug (malformed_job, module_not_loadable, device_error), message."""
    stages: tuple[str, ...] = ()
    """The last long stage that it began: inputs, run, unwritten, again, timing, or a stage of a
    feature's order, such as `BESIDE`."""
    outputs: Mapping[str, Body] = field(default_factory=dict)
    """Elements of the first run in C order, by output."""
    unwritten: Mapping[str, Body] = field(default_factory=dict)
    """For each output with unwritten elements: a bit per element."""
    repeats: Mapping[int, Mapping[str, Body]] = field(default_factory=dict)
    """Outputs of timed runs that were chosen, by their place in `repeats` of the result."""
    iterations_unwritten: Mapping[int, Mapping[str, Body]] = field(default_factory=dict)
    stdout: bytes = b""
    """The output of the kernel and the driver, up to a limit."""
    signal: int | None = None
    clean: bool = False
    """True if the launcher can take another job of the same caller."""


@dataclass(frozen=True, slots=True)
class LauncherFacts:
    """A launcher's facts about its GPU and itself."""

    target: str
    model: str
    uuid: str
    num_sms: int
    l2_bytes: int
    memory_bytes: int
    shared_bytes: int
    cuda: str
    driver: str | None
    sandbox: tuple[str, ...]

    @classmethod
    def from_json(cls, facts: dict[str, Any]) -> "LauncherFacts":
        """Return the facts of a `ready` frame. Raises KeyError for what is missing, TypeError."""
        values = {name: facts[name] for name in cls.__slots__}
        return cls(**values | {"sandbox": tuple(facts["sandbox"])})


MAX_RESULT_BYTES = 2 << 30
MAX_FRAMES = 1 << 18
"""A tape has up to 200,000 ops, and a frame may report each."""
MAX_NAME_CHARS = 2048
MAX_NAMES_CHARS = 16 << 20
"""The limit for the names of all stages and outputs of a job together."""
MIN_SHARED_BYTES = 64 << 10
"""Launchers send less through the socket: each shared output is a descriptor here."""
_Pieces = bytes | bytearray | SharedBytes
MAX_ITERATIONS = 16
"""Timed runs whose outputs a launcher may send."""
_ITERATIONS, _ITERATIONS_UNWRITTEN = (
    [f"{kind}-{index}" for index in range(MAX_ITERATIONS)]
    for kind in ("repeat", "repeat_unwritten")
)
_OUTPUTS = ("output", "unwritten", *_ITERATIONS, *_ITERATIONS_UNWRITTEN)


class LauncherProtocol:
    """The launcher's half of one job: stages, outputs in pieces, exactly one last frame."""

    def __init__(self, nonce: bytes, max_result_bytes: int = MAX_RESULT_BYTES) -> None:
        self.last: dict[str, Any] | None = None
        self.is_beside = False
        """True if the second program has begun."""
        self._nonce = nonce
        self._left_bytes = max_result_bytes
        self._left_frames = MAX_FRAMES
        self._left_chars = MAX_NAMES_CHARS
        self._stages: list[str] = []
        self._outputs: dict[str, dict[str, _Pieces]] = {kind: {} for kind in _OUTPUTS}

    def take(self, received: Received) -> None:
        """Take the next frame. Raises FrameError when it breaks the protocol."""
        header = received.frame.header
        if received.frame.nonce != self._nonce or self.last is not None:
            raise frame.FrameError("a frame that does not belong to the launcher's job")
        self._left_bytes -= len(received.body)
        self._left_frames -= 1
        if self._left_bytes < 0 or self._left_frames < 0:
            raise frame.FrameError("more bytes of result than are taken")
        match header:
            case {"kind": "stage", "stage": str(name)}:
                self._take_stage(name, received)
            case {"kind": "result" | "failure", "clean": bool()}:
                if not isinstance(header.get("fault"), dict | None):
                    raise frame.FrameError("a fault that is not an object")
                self.last = header
            case _:
                raise frame.FrameError("a frame of unknown kind")

    def _take_stage(self, name: str, received: Received) -> None:
        if len(name) > MAX_NAME_CHARS:
            raise frame.FrameError(f"a stage with a name of {len(name)} characters")
        self._left_chars -= len(name)
        if self._left_chars < 0:
            raise frame.FrameError("more names of stages than are taken")
        kind, is_output, argument = name.partition(":")
        if not is_output:
            self._take_beginning(name)
        elif kind not in _OUTPUTS:
            raise frame.FrameError(f"a stage of unknown kind {kind!r}")
        else:
            self._take_piece(self._outputs[kind], argument, received)

    def _take_beginning(self, name: str) -> None:
        if name == BESIDE and self.is_beside:
            raise frame.FrameError("a third program")
        self._stages.append(name)
        self.is_beside = self.is_beside or name == BESIDE

    def _take_piece(self, outputs: dict[str, _Pieces], argument: str, received: Received) -> None:
        """Add a piece of an output, or all of it where it is shared."""
        pieces = outputs.get(argument, b"")
        if received.frame.header.get("offset") != len(pieces):
            raise frame.FrameError(f"a piece of {argument} is missing")
        if isinstance(received.body, SharedBytes) or isinstance(pieces, SharedBytes):
            if pieces:
                raise frame.FrameError(f"{argument} is shared, but comes in more than one piece")
            if len(received.body) < MIN_SHARED_BYTES:
                raise frame.FrameError(f"{argument} is shared, and of {len(received.body)} bytes")
            outputs[argument] = received.body
        elif not pieces:
            outputs[argument] = received.body  # mostly all of it
        else:
            if isinstance(pieces, bytes):
                pieces = outputs[argument] = bytearray(pieces)
            pieces += received.body

    @property
    def printed_bytes(self) -> int | None:
        """Where the job's own print ends in all that was printed; None where it is not reported."""
        end = (self.last or {}).get("printed_bytes")
        return end if type(end) is int else None

    def outcome(
        self,
        ending: LaunchEnding | None = None,
        detail: str = "",
        *,
        stdout: bytes = b"",
        signal: int | None = None,
    ) -> LaunchOutcome:
        """Return the outcome; without `ending`, the one in the last frame."""
        last = self.last or {}
        fault = last.get("fault")
        if ending is None:
            ending, detail = _ending(last)
        # `clean` of a launcher that did not finish properly means nothing
        is_finished = ending in (LaunchEnding.OK, LaunchEnding.FAULT, LaunchEnding.FAILURE)
        return LaunchOutcome(
            ending=ending,
            detail=detail,
            result=last if ending is LaunchEnding.OK else None,
            fault=fault if ending is LaunchEnding.FAULT else None,
            failure=last if ending is LaunchEnding.FAILURE else None,
            stages=tuple(self._stages),
            outputs=self._whole("output"),
            unwritten=self._whole("unwritten"),
            repeats=self._numbered(_ITERATIONS),
            iterations_unwritten=self._numbered(_ITERATIONS_UNWRITTEN),
            stdout=stdout,
            signal=signal,
            clean=is_finished and bool(last.get("clean")),
        )

    def _numbered(self, kinds: Sequence[str]) -> dict[int, dict[str, Body]]:
        return {index: self._whole(kind) for index, kind in enumerate(kinds) if self._outputs[kind]}

    def _whole(self, kind: str) -> dict[str, Body]:
        return {
            name: bytes(data) if isinstance(data, bytearray) else data
            for name, data in self._outputs[kind].items()
        }


def _ending(last: dict[str, Any]) -> tuple[LaunchEnding, str]:
    if last["kind"] == "failure":
        return LaunchEnding.FAILURE, str(last.get("message"))
    if last.get("fault") is not None:
        return LaunchEnding.FAULT, str(last["fault"].get("message"))
    return LaunchEnding.OK, ""

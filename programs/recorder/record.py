"""Records one program: runs its Python on fake tensors, and returns the tape as JSON.

Runs user code, so only sandboxed children call it, after `recorder_warming.prepare()`. The user
code may have forged what it returns.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from programs.recorder.aten_recorder import AtenRecorder
from programs.recorder.program_entry import ProgramFiles, record_entry, seed_python_random
from programs.recorder.record_order import RecordOrder, SandboxAttempt
from programs.recorder.recording import Recording, as_current
from programs.recorder.refusals import UserLines, refusal_of


@dataclass(frozen=True)
class Recorded:
    """A tape as JSON, and True if its inputs depend on the order's `inputs_seed`."""

    tape: bytes
    draws_inputs: bool
    attempts: list[SandboxAttempt]
    """The attempts of the program to reach outside of the sandbox."""


def record(order: RecordOrder, source: str, files: Mapping[str, str]) -> Recorded:
    """Return a tape. Raises `NotRecordable`, and `MemoryError`."""
    program = ProgramFiles(source, files)
    recording = Recording(order, UserLines(program.paths))
    try:
        tape = _recorded(recording, program)
    except MemoryError:
        raise
    except BaseException as error:
        raise recording.refusal or refusal_of(error, recording.lines) from error
    finally:
        program.forget()
    return Recorded(tape, recording.draws_inputs, recording.attempts)


def _recorded(recording: Recording, program: ProgramFiles) -> bytes:
    _seed(recording.order.seed)
    fakes = FakeTensorMode(allow_non_fake_inputs=True, allow_fallback_kernels=False)
    with (
        torch.autograd.set_multithreading_enabled(False),
        fakes,
        AtenRecorder(recording),
        as_current(recording),
    ):
        members = record_entry(recording, program)
    recording.definitions.check(program.globals_loaded)
    recording.triton_changes.check()
    if recording.refusal is not None:
        raise recording.refusal
    return recording.tape.finished(**members)


def _seed(seed: int) -> None:
    """Seed the generators of plain numbers, so that two recordings are equal."""
    seed_python_random(seed)
    torch.manual_seed(seed)

"""The generator finds faults: for each fault in the replay, some program disagrees."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from programs.replay import program_run
from programs.replay.kernel_launch import _Described
from programs.replay.operators import called
from programs.replay.program_run import ChangedInputs, ProgramRun
from tests.programs.generated.comparing import DISAGREES, compared
from tests.programs.generated.generating import Program, generated
from tests.programs.with_torch.recording_process import RecordingProcess

WITHIN = 300
"""Number of seeds; a theme has one in thirteen."""


class PlantedFault:
    """A fault in the replay, and the verdict that shows it."""

    def __init__(self, recorder: RecordingProcess, patch: pytest.MonkeyPatch) -> None:
        self._recorder, self._patch = recorder, patch

    def fault(self, target: Any, name: str, value: Any) -> None:
        self._patch.setattr(target, name, value)

    def is_found(self, theme: str) -> bool:
        """Return whether some program of a theme disagrees only because of the fault."""
        for program in map(generated, range(1, WITHIN)):
            if program.theme == theme and self._disagrees(program):
                self._patch.undo()
                return not self._disagrees(program)
        return False

    def _disagrees(self, program: Program) -> bool:
        return compared(self._recorder, program).word == DISAGREES


@pytest.fixture
def planted(recorder: RecordingProcess, monkeypatch: pytest.MonkeyPatch) -> PlantedFault:
    return PlantedFault(recorder, monkeypatch)


def test_an_op_in_place_that_is_done_on_a_copy_is_found(planted: PlantedFault) -> None:
    call = ProgramRun._call

    def on_copies(run: ProgramRun, op: Any) -> None:
        kept = run._how
        if op.op in ("aten.add_.Scalar", "aten.add_.Tensor"):
            run._how = replace(kept, call=copying)
        call(run, op)
        run._how = kept

    def copying(op: Any, tensor: Any, *more: Any) -> list[Any]:
        called(op, lambda id_: tensor(id_).clone(), *more)
        return [tensor(op.outputs[0])]

    planted.fault(ProgramRun, "_call", on_copies)

    assert planted.is_found("in place")


def test_an_unreported_change_of_an_input_is_found(planted: PlantedFault) -> None:
    planted.fault(ChangedInputs, "end", lambda *_: {})

    assert planted.is_found("in place")


def test_a_kernel_that_begins_at_another_element_is_found(planted: PlantedFault) -> None:
    buffer = _Described._buffer
    planted.fault(_Described, "_buffer", lambda *given: buffer(*given) | {"offset": 0})

    assert planted.is_found("kernels")


def test_calls_that_draw_the_same_numbers_are_found(planted: PlantedFault) -> None:
    planted.fault(program_run, "_SEED_OF", dict.fromkeys(("init", "run", "run2"), 0))

    assert planted.is_found("random")


def test_an_error_that_is_lost_is_found(planted: PlantedFault) -> None:
    record = RecordingProcess.record
    harmless = "def run(*given):\n    return 0\ndef get_inputs():\n    return []\n"
    entry = {"kind": "function", "name": "run"}

    def losing(self: RecordingProcess, source: str, *entries: Any, **order: Any) -> dict[str, Any]:
        answer = record(self, source, *entries, **order)
        is_error = answer.get("not_recordable", {}).get("reason") == "program_error"
        return record(self, harmless, entry) if is_error else answer

    planted.fault(RecordingProcess, "record", losing)

    assert planted.is_found("functional")

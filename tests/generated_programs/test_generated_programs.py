"""Generated programs: what is recorded and replayed is what torch itself makes of them."""

from __future__ import annotations

import os

import pytest

from tests.generated_programs.comparing import DISAGREES, compared, told
from tests.generated_programs.generating import generated
from tests.programs.recording_process import RecordingProcess

PROGRAMS = int(os.environ.get("TRITOND_FUZZ_PROGRAMS", "20"))
SEED = int(os.environ.get("TRITOND_FUZZ_SEED", "1"))
"""`make fuzz` has another one each time, which a failure names."""


@pytest.mark.timeout(0)
def test_generated_programs_are_replayed_as_torch_runs_them(recorder: RecordingProcess) -> None:
    for seed in range(SEED, SEED + PROGRAMS):
        program = generated(seed)
        verdict = compared(recorder, program)
        assert verdict.word != DISAGREES, told(program, verdict)

"""Recorded and replayed programs give torch's own results."""

from __future__ import annotations

import os

import pytest

from tests.programs.generated.comparing import DISAGREES, compared, reported
from tests.programs.generated.generating import Program, generated
from tests.programs.with_torch.recording_process import RecordingProcess
from tests.shares import examples

PROGRAMS = examples(int(os.environ.get("TRITOND_FUZZ_PROGRAMS", "20")))
SEED = int(os.environ.get("TRITOND_FUZZ_SEED", "1"))
"""`make fuzz` sets a new seed each time; a failure names it."""


@pytest.mark.timeout(0)
def test_generated_programs_are_replayed_as_torch_runs_them(recorder: RecordingProcess) -> None:
    for seed in range(SEED, SEED + PROGRAMS):
        program = generated(seed)
        verdict = compared(recorder, program)
        assert verdict.word != DISAGREES, reported(program, verdict)


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
def test_an_input_that_out_reshapes_is_compared_in_the_shape_in_which_it_came(
    recorder: RecordingProcess,
) -> None:
    source = (
        "import torch\n\ndef run(x):\n    return torch.add(x[:, 0], 1, out=x)\n\n"
        "def get_inputs():\n    return [torch.randn(4, 5, device='cuda')]\n"
    )
    entry = {"kind": "function", "name": "run", "inputs": "get_inputs"}
    program = Program(seed=0, theme="in place", entry=entry, source=source)

    verdict = compared(recorder, program)

    assert verdict.word != DISAGREES, reported(program, verdict)

"""The program with which a worker tests its record children."""

from __future__ import annotations

import json

from programs.tape.read_tape import read_tape
from programs.worker.program_consumers import KNOWN_BODY, KNOWN_ORDER, fault_of
from tests.programs.with_torch.recording_process import RecordingProcess


def test_the_self_test_finds_no_fault_here_and_finds_a_missing_launch() -> None:
    process = RecordingProcess()
    try:
        source = json.loads(KNOWN_BODY)["source"]
        answer = process.record(source, *KNOWN_ORDER.entries, inputs=KNOWN_ORDER.inputs)
        launch = "double_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)"
        less = source.replace(launch, "out.copy_(x)")
        other = process.record(less, *KNOWN_ORDER.entries, inputs=KNOWN_ORDER.inputs)
    finally:
        process.close()
    assert fault_of(read_tape(json.dumps(answer).encode())) is None
    fault = fault_of(read_tape(json.dumps(other).encode()))
    assert fault == "it has 0 launches instead of 4"

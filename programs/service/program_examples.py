"""Examples of answers for the API's documentation.

They are built from the record classes, so no example can lack a field.
"""

from typing import Any

import orjson

from compiler.compilation import compilation_url
from launch.messages import Finding
from launch.request.launch_record import Comparison, Device, Mismatch, Summary
from launch.request.verdict import Verdict
from programs.program_job import program_problem
from programs.program_record import (
    EntryTime,
    Program,
    ProgramFlag,
    ProgramKernel,
    ProgramOutput,
    ProgramTiming,
    ReferenceRecord,
    Reward,
    TapeSummary,
    program_url,
    tape_url,
)
from programs.receipt import receipt_of, receipt_payload
from programs.tape.read_tape import read_tape
from programs.tape.tape_text import tape_text

_ID = "5f0c8a2e9b7d41c3a6e8f1027b3d9c54"
_KEY = "9d2f1c0b7a6e5d4c3b2a19080706f5e4d3c2b1a09f8e7d6c5b4a392817060504"
_CPU = Device(target=None, interpreter=True)
_KERNEL = ProgramKernel(
    name="add_kernel",
    file="user.py",
    line=7,
    launches=1,
    compilation_key=_KEY,
    compilation_url=compilation_url(_KEY),
    reads=["x_ptr", "y_ptr"],
    writes=["output_ptr"],
)
_SUMMARY = Summary(
    shape=[4, 1000], dtype="fp32", min=-4.91, max=5.02, mean=0.01, nan=0, inf=0, unwritten=0
)
_PASSED = Program(
    id=_ID,
    url=program_url(_ID),
    state="completed",
    verdict=Verdict.PASSED,
    device=_CPU,
    seed=4503599627370496,
    findings=[],
    outputs={
        "0": ProgramOutput(
            summary=_SUMMARY,
            comparison=Comparison(
                matches=True,
                max_abs_error=0.0,
                max_rel_error=0.0,
                compared=4000,
                mismatched=0,
                nonfinite_mismatched=0,
                rtol=1e-4,
                atol=1e-5,
            ),
        )
    },
    kernels=[_KERNEL],
    tape=TapeSummary(ops=4, launches=1, bytes=1432, url=tape_url(_ID)),
    reference=ReferenceRecord(
        tape=TapeSummary(ops=3, launches=0, bytes=918, url=tape_url(_ID, of_reference=True)),
        peak_bytes=48000,
    ),
    coverage=1.0,
    coverage_measure="work",
    reward=Reward(compiled=True, correct=True, coverage=1.0),
    counts={"passed": 1},
    peak_bytes=48000,
    timings_ms={"queue": 1.0, "run": 401.7, "total": 402.7},
)
_ENTRIES = [
    EntryTime(op=1, name="add_kernel", file="user.py", line=21, us=3.1, share=1.0, is_kernel=True)
]


def _timing(median_us: float) -> ProgramTiming:
    return ProgramTiming(
        median_us=median_us,
        interval_us=(median_us - 0.2, median_us + 0.2),
        mean_us=median_us,
        min_us=median_us - 0.1,
        p20_us=median_us,
        p80_us=median_us + 0.1,
        std_us=0.1,
        repeats=50,
        noisy=False,
        clock_mhz=1980,
        input_sets=2,
        checked_repeats=50,
        differing_repeats=0,
        fresh_values=True,
        overhead_us=2.2,
        method="graph",
    )


_TIMED = _PASSED.model_copy(
    update={
        "device": Device(
            target="cuda:90", model="NVIDIA H200", driver="580.159.04", interpreter=False
        ),
        "timing": _timing(3.2),
        "reference": ReferenceRecord(
            tape=TapeSummary(ops=3, launches=0, bytes=918, url=tape_url(_ID, of_reference=True)),
            peak_bytes=48000,
            timing=_timing(3.4),
        ),
        "speedup": 1.0625,
        "speedup_interval": (0.98, 1.15),
        "coverage": 1.0,
        "coverage_measure": "time",
        "entries": _ENTRIES,
        "reward": Reward(compiled=True, correct=True, speedup=1.0625, coverage=1.0),
    }
)
_WRONG = _PASSED.model_copy(
    update={
        "verdict": Verdict.OUT_OF_BOUNDS,
        "flags": [
            ProgramFlag(
                kind="torch_did_the_work",
                message="torch computes mm here, and outputs depend on it: compute it in a kernel "
                "of this program",
                file="user.py",
                line=21,
            )
        ],
        "findings": [
            Finding(
                kind="out_of_bounds",
                access="read",
                argument="x_ptr",
                index=[4000],
                file="user.py",
                line=9,
                message="reads x_ptr[4000], 1 element past its end",
            )
        ],
        "outputs": {
            "0": ProgramOutput(
                summary=_SUMMARY,
                comparison=Comparison(
                    matches=False,
                    max_abs_error=1.3,
                    max_rel_error=0.8,
                    compared=4000,
                    mismatched=12,
                    nonfinite_mismatched=0,
                    first_mismatch=Mismatch(index=[3, 988], actual=0.0, expected=1.3),
                    rtol=1e-4,
                    atol=1e-5,
                ),
            )
        },
        "reward": Reward(compiled=True, correct=False, flags=["torch_did_the_work"]),
        "counts": {"out_of_bounds": 1},
    }
)
_NOT_RECORDABLE = Program(
    id=_ID,
    url=program_url(_ID),
    state="failed",
    device=_CPU,
    reward=Reward(compiled=False, correct=False),
    problem=program_problem(
        "not_recordable",
        "The program reads the value of a tensor, and a recording has none: .item()",
        program="candidate",
        reason="value_dependent",
        file="user.py",
        line=14,
    ),
)
_QUEUED = Program(id=_ID, url=program_url(_ID), state="queued", queue_position=1, device=_CPU)
_CANCELLED = Program(
    id=_ID,
    url=program_url(_ID),
    state="cancelled",
    device=_CPU,
    reward=Reward(compiled=False, correct=False),
    problem=program_problem("cancelled", "Its caller cancelled the program."),
)


def _shown(**programs: Program) -> dict[str, Any]:
    return {
        title.replace("_", " "): program.model_dump(mode="json")
        for title, program in programs.items()
    }


ANSWERS = _shown(
    passed=_PASSED, passed_on_a_GPU=_TIMED, wrong=_WRONG, not_recordable=_NOT_RECORDABLE
)
UNDER_WAY = _shown(queued=_QUEUED)
CANCELLED = _shown(cancelled=_CANCELLED)


def _calls() -> list[dict[str, Any]]:
    """Return the ops of the example's two calls, which differ only in their inputs."""
    ops: list[dict[str, Any]] = []
    for phase, x, y, output in (("run", 0, 1, 2), ("run2", 3, 4, 5)):
        made = {"op": "aten.empty_like.default", "a": [{"t": x}], "k": {}, "o": [output]}
        launch = {
            "op": "launch",
            "kernel": "k0",
            "grid": [4, 1, 1],
            "args": {
                "x_ptr": {"t": x},
                "y_ptr": {"t": y},
                "output_ptr": {"t": output},
                "n_elements": 4000,
            },
            "constexprs": {"BLOCK_SIZE": 1024},
            "options": {},
            "variants": [],
            "reset_to_zero": [],
            "restore_value": [],
        }
        ops += [made | {"phase": phase, "line": "user.py:18"}]
        ops += [launch | {"phase": phase, "line": "user.py:21"}]
    return ops


TAPE: dict[str, Any] = {
    "tape": 1,
    "torch": "2.13.0",
    "tensors": [["fp32", "cuda", [4, 1000], [1000, 1], 0, storage] for storage in range(6)],
    "storages": [16000] * 6,
    "kernels": {
        "k0": {
            "file": "user.py",
            "name": "add_kernel",
            "line": 7,
            "parameters": [
                {"name": name, "constexpr": name == "BLOCK_SIZE"}
                for name in ("x_ptr", "y_ptr", "output_ptr", "n_elements", "BLOCK_SIZE")
            ],
        }
    },
    "constants": {},
    "seed": 42,
    "init_inputs": [],
    "inputs": [{"t": 0}, {"t": 1}],
    "inputs2": [{"t": 3}, {"t": 4}],
    "params": [],
    "outputs": {"t": 2},
    "outputs2": {"t": 5},
    "ops": _calls(),
}
RECEIPT = receipt_of(
    receipt_payload(b"{}", b"{}", {"candidate": ("sha256:2c26b46b", None)}, "0.1.0"),
    keyid="9f86d081884c7d65",
    signature=bytes(range(64)),
).model_dump()
TAPE_TEXT = tape_text(read_tape(orjson.dumps(TAPE)))

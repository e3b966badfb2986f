"""Programs replayed as on a GPU: outputs, inputs and kernels in the reports."""

from __future__ import annotations

import ctypes
import importlib
import sys
from typing import Any

import numpy as np
import pytest

from programs.gpu.program_order import (
    ProgramTimingOrder,
)
from tests.gpu.program_tapes import TapeOnGpu, program, t
from tests.programs.with_torch.stand_in_program_gpu import (
    COUNT,
    Gpu,
    floats,
    kernel,
    scale,
    scaling,
)
from tests.unit.worker.gpu.fake_cuda import pointer
from worker.gpu.timing_integrity.module_globals import ModuleGlobal, ModuleGlobals


def test_launches_run_over_the_tensors_of_each_call(gpu: Gpu) -> None:
    gpu.kernel("scale", scale)

    result = gpu.run(program(scaling(), [[COUNT]]))

    assert result["ending"] == "finished"
    assert result["findings"] == []
    calls = [[np.frombuffer(gpu.sent[f"output:{call}:{n}"], np.float32) for n in (0, 1)]
             for call in (0, 1)]  # fmt: skip
    assert all(np.array_equal(out, x * np.float32(3)) for out, x in calls)
    assert not np.array_equal(calls[0][1], calls[1][1])
    assert gpu.stages == ["run"]


def test_a_number_is_passed_as_the_type_that_its_kernel_takes(gpu: Gpu) -> None:
    seen = []
    gpu.kernel("scale", lambda pointers: seen.append(ctypes.string_at(pointers[2], 8)))

    gpu.run(program(scaling(by="fp64"), [[COUNT]]))

    assert seen[0] == np.float64(3).tobytes()


def test_what_no_kernel_wrote_is_reported_and_what_looks_like_it_is_not(gpu: Gpu) -> None:
    def half(pointers: Any) -> None:
        words = floats(pointer(pointers, 0)).view(np.uint32)
        words[:16] = 0xFFFFFFFF  # the poison of the first call
        words[16:32] = 1

    def call(tape: Any, inputs: list[int]) -> list[int]:
        out = tape.empty([COUNT])
        tape.launch_kernel("half", kernel("half", out="*fp32"), {"out": t(out)})
        return [out, inputs[0]]

    gpu.kernel("half", half)

    gpu.run(program(call, [[COUNT]]))

    for number in (0, 1):
        bits = np.frombuffer(gpu.sent[f"unwritten:{number}:0"], np.uint8)
        assert np.unpackbits(bits, count=COUNT).tolist() == [0] * 32 + [1] * 32
    assert gpu.stages == ["run", "unwritten"]


def test_what_is_written_wholly_is_run_once(gpu: Gpu) -> None:
    gpu.kernel("scale", scale)

    gpu.run(program(scaling(), [[COUNT]]))

    assert not [name for name in gpu.sent if name.startswith("unwritten")]


def test_an_input_that_was_changed_in_place_is_sent(gpu: Gpu) -> None:
    def call(tape: Any, inputs: list[int]) -> list[int]:
        tape.launch_kernel("clear", kernel("clear", x="*fp32"), {"x": t(inputs[0])})
        return [inputs[1]]

    gpu.kernel("clear", lambda pointers: floats(pointer(pointers, 0)).fill(0))

    result = gpu.run(program(call, [[COUNT], [COUNT]]))

    assert result["inputs_left"] == ["0:0", "1:0"]
    assert result["changed_storages"] == []
    assert gpu.sent["output:input:0:0"] == bytes(4 * COUNT)
    assert "output:input:0:1" not in gpu.sent


def test_two_replays_that_differ_are_reported(gpu: Gpu) -> None:
    runs = iter(range(100))
    gpu.kernel("scale", lambda pointers: floats(pointer(pointers, 1)).fill(next(runs)))

    result = gpu.run(program(scaling(), [[COUNT]], determinism=True))

    assert result["deterministic"] is False
    assert [found["kind"] for found in result["findings"]] == ["nondeterministic"] * 2
    assert gpu.stages == ["run", "again"]


def test_two_replays_that_are_the_same_are_deterministic(gpu: Gpu) -> None:
    gpu.kernel("scale", scale)

    result = gpu.run(program(scaling(), [[COUNT]], determinism=True))

    assert result["deterministic"] is True


def test_a_checked_program_is_timed(gpu: Gpu) -> None:
    def call(tape: Any, inputs: list[int]) -> list[int]:
        return [tape.made("add.Scalar", [COUNT], t(inputs[0]), 1.0)]

    timing = ProgramTimingOrder(max_ms=20.0, min_repeats=5)

    result = gpu.run(program(call, [[COUNT]], timing=timing))

    assert result["timing"]["differing_repeats"] == 0
    assert result["timing"]["checked_repeats"] >= 5
    assert [entry["op"] for entry in result["entries"]] == [3]


def test_a_program_that_goes_wrong_is_not_timed(gpu: Gpu) -> None:
    runs = iter(range(100))
    gpu.kernel("scale", lambda pointers: floats(pointer(pointers, 1)).fill(next(runs)))
    order = program(scaling(), [[COUNT]], determinism=True, timing=ProgramTimingOrder())

    assert gpu.run(order)["timing"] is None


@pytest.mark.parametrize("counts", [True, False])
def test_a_variable_of_a_kernels_module_is_reported_and_whether_it_changed(
    gpu: Gpu, monkeypatch: pytest.MonkeyPatch, counts: bool
) -> None:
    runs = ctypes.c_uint32(0)

    def counting(pointers: Any) -> None:
        scale(pointers)
        runs.value += counts

    gpu.kernel("scale", counting)
    gpu.driver.variables[b"runs"] = (ctypes.addressof(runs), 4)
    importlib.import_module("programs.gpu.device_launches")
    module = sys.modules["programs.gpu.device_launches"]
    variables = ModuleGlobals((ModuleGlobal("runs", 4, False),), 0, uses_heap=False)
    monkeypatch.setattr(module, "read_globals", lambda _: variables)

    result = gpu.run(program(scaling(), [[COUNT]]))

    reported = {"name": "runs", "size_bytes": 4, "changed": counts}
    assert result["module_state"]["scale"]["variables"] == [reported]


def test_memory_that_a_kernel_reaches_behind_an_address_is_reported(gpu: Gpu) -> None:
    places: list[int] = []
    gpu.kernel("note", lambda pointers: places.append(pointer(pointers, 0)))
    gpu.kernel("keeps", lambda _: floats(places[-1]).fill(len(gpu.stages)))
    tape = TapeOnGpu()
    kept = tape.full([COUNT], 0.0, "fp32")
    tape.launch_kernel("note", kernel("note", x="*fp32"), {"x": t(kept)})
    for phase in ("run", "run2"):
        tape.phase = phase
        out = tape.full([COUNT], 1.0, "fp32")
        tape.launch_kernel("keeps", kernel("keeps", out="*fp32"), {"out": t(out)})
        tape.made("clone.default", [COUNT], t(kept))  # keeps it alive, but does not write it
        tape.returned[phase] = [out]

    result = gpu.run(tape.order())

    assert result["changed_storages"] == [tape.tensors[kept][-1]]


@pytest.mark.parametrize("is_late", [False, True])
def test_a_kernel_that_writes_behind_a_tensor_is_reported_at_its_line(
    gpu: Gpu, monkeypatch: pytest.MonkeyPatch, is_late: bool
) -> None:
    importlib.import_module("programs.gpu.device_replay")
    module = sys.modules["programs.gpu.device_replay"]

    def beyond(pointers: Any) -> None:
        scale(pointers)
        floats(pointer(pointers, 1), COUNT + 1)[COUNT] = 1.0

    monkeypatch.setattr(module, "_MAX_LOOKS", 0 if is_late else 100)
    gpu.kernel("scale", beyond)
    tape = program(scaling(), [[COUNT]])

    result = gpu.run(tape)

    found = [(one["kind"], one["argument"], one["line"]) for one in result["findings"]]
    named = [("out_of_bounds", "out", line) for line in (13, 15)]
    assert found == ([("out_of_bounds", None, None)] * 2 if is_late else named)


def test_a_module_that_cannot_be_read_is_reported(gpu: Gpu) -> None:
    gpu.kernel("scale", scale)

    result = gpu.run(program(scaling(), [[COUNT]]))

    assert "not a 64-bit ELF file" in result["module_state"]["scale"]["problem"]

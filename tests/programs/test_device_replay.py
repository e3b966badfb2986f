"""Programs replayed as on a GPU, with torch on the CPU and a stand-in for CUDA: no GPU is there.

Kernels are functions of Python that get their parameters' addresses; "the GPU's memory" is torch's.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from compiler.abi import abi_of
from compiler.compilation import Parameter
from compiler.target import Target
from launch.messages import Tolerance
from tests.gpu.program_tapes import program, t
from tests.programs.timed_programs import StandInDevice
from tests.unit.worker.gpu import fake_cuda
from tests.unit.worker.gpu.fake_cuda import CUresult, pointer
from worker.gpu.evidence.module_globals import ModuleGlobal, ModuleGlobals
from worker.gpu.launcher.fault import JobFailed
from worker.gpu.program.program_order import (
    BESIDE,
    COMPARE,
    DeviceKernel,
    ProgramOrder,
    ProgramTimingOrder,
)

COUNT = 64
Sent = dict[str, bytes]


def kernel(name: str, **types: str) -> DeviceKernel:
    """A kernel of these parameters, by the stand-in's function of its name."""
    parameters = [
        Parameter(name=one, type=kind, role="runtime", hints=[], value=None)
        for one, kind in types.items()
    ]
    metadata = {"name": name, "num_warps": 1, "shared": 0}
    abi = abi_of(Target("cuda", 90, 32), parameters, metadata)
    scalars = {one: kind for one, kind in types.items() if not kind.startswith("*")}
    return DeviceKernel(name.encode(), abi, scalars)


def floats(address: int, count: int = COUNT) -> Any:
    return np.frombuffer((ctypes.c_float * count).from_address(address), np.float32)


class Gpu:
    """Runs orders in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.driver = fake_cuda.install(monkeypatch, {})
        self.driver._may = lambda *_: True
        stream = SimpleNamespace(cuda_stream=0)
        monkeypatch.setattr(torch.cuda, "current_stream", lambda: stream)
        self.stages: list[str] = []
        self.sent: Sent = {}

    def kernel(self, name: str, function: Callable[[Any], None]) -> None:
        """Have a kernel: the function gets the addresses of its parameters."""
        self.driver.kernels[name.encode()] = lambda _gpu, pointers, _grid: function(pointers)

    def run(self, order: ProgramOrder) -> dict[str, Any]:
        from worker.gpu.launcher.loaded_kernel import load
        from worker.gpu.program.compared_replays import perform

        device = SimpleNamespace(stream=0, shared_bytes=1 << 16, name="none", target="cuda:90")
        context = SimpleNamespace(
            device=device,
            torch_device=torch.device("cpu"),
            maps=SimpleNamespace(encode=None),
            free_bytes=1 << 30,
            load=lambda cubin, abi, grid: load(device, cubin, abi, grid),
            wait=self._wait,
            timing=StandInDevice(),
            read=lambda tensor, may_share: _bytes(tensor),
            send_tensor=lambda send, stage, tensor: self.sent.update({stage: _bytes(tensor)}),
        )
        return perform(context, order, self._take)

    def _wait(self) -> None:
        from worker.gpu.launcher.device import check

        check(self.driver.cuStreamSynchronize(0), "waiting for the GPU")

    def _take(self, header: dict[str, Any], body: bytes) -> None:
        if ":" in header["stage"]:
            self.sent[header["stage"]] = body
        else:
            self.stages.append(header["stage"])


def _bytes(tensor: torch.Tensor) -> bytes:
    return bytes(tensor.contiguous().reshape(-1).view(torch.uint8).numpy())


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Gpu:
    return Gpu(monkeypatch)


def scaling(**types: str) -> Callable[[Any, list[int]], list[int]]:
    """A call that launches `scale(x, out, by)` and returns what it wrote, and its input."""

    def call(tape: Any, inputs: list[int]) -> list[int]:
        out = tape.empty([COUNT])
        scale = kernel("scale", x="*fp32", out="*fp32", by=types.get("by", "fp32"))
        tape.launch_kernel("scale", scale, {"x": t(inputs[0]), "out": t(out), "by": 3.0})
        return [out, inputs[0]]

    return call


def scale(pointers: Any) -> None:
    x, out = (floats(pointer(pointers, number)) for number in range(2))
    out[:] = x * ctypes.c_float.from_address(pointers[2]).value


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


def test_what_no_kernel_wrote_is_told_and_what_looks_like_it_is_not(gpu: Gpu) -> None:
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
    assert gpu.sent["output:input:0:0"] == bytes(4 * COUNT)
    assert "output:input:0:1" not in gpu.sent


def test_two_replays_that_differ_are_told(gpu: Gpu) -> None:
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


def test_a_fault_ends_the_replay_with_the_op_that_was_under_way(gpu: Gpu) -> None:
    from worker.gpu.program.op_fault import OpFault

    def illegal(_: Any) -> None:
        raise MemoryError  # the stand-in's illegal access

    gpu.kernel("scale", illegal)

    with pytest.raises(OpFault) as raised:
        gpu.run(program(scaling(), [[COUNT]]))

    assert raised.value.index == 3  # after two inputs and the memory of the output
    assert raised.value.fault.fault == "illegal_access"
    assert raised.value.fault.error == "CUDA_ERROR_ILLEGAL_ADDRESS"
    assert not raised.value.leaves_context


def test_an_error_behind_an_op_of_torch_is_that_ops(gpu: Gpu) -> None:
    from worker.gpu.program.op_fault import OpFault

    def call(tape: Any, inputs: list[int]) -> list[int]:
        return [tape.made("add.Scalar", [COUNT], t(inputs[0]), 1.0)]

    gpu.driver._error = CUresult.CUDA_ERROR_ILLEGAL_ADDRESS

    with pytest.raises(OpFault, match=r"aten\.randn\.default touched memory"):
        gpu.run(program(call, [[COUNT]]))


def test_an_error_that_no_kernel_makes_is_no_fault_of_the_program(gpu: Gpu) -> None:
    gpu.kernel("scale", scale)
    gpu.driver._error = CUresult.CUDA_ERROR_INVALID_VALUE

    with pytest.raises(JobFailed, match="waiting for the GPU: CUDA_ERROR_INVALID_VALUE") as raised:
        gpu.run(program(scaling(), [[COUNT]]))

    assert raised.value.slug == "device_error"


def test_a_kernel_that_does_not_fit_leaves_the_context(gpu: Gpu) -> None:
    from worker.gpu.program.op_fault import OpFault

    gpu.kernel("scale", scale)
    order = program(scaling(), [[COUNT]])
    wide = {
        name: replace(one, abi=replace(one.abi, dynamic_shared_bytes=1 << 20))
        for name, one in order.kernels.items()
    }

    with pytest.raises(OpFault, match="shared memory") as raised:
        gpu.run(replace(order, kernels=wide))

    assert raised.value.index == 3
    assert raised.value.leaves_context


def test_ops_are_announced_where_that_is_asked_for(gpu: Gpu) -> None:
    gpu.kernel("scale", scale)

    gpu.run(program(scaling(), [[COUNT]], announce=True))

    assert gpu.stages == ["run", *(f"op-{index}" for index in range(6))]


def test_a_checked_program_is_timed_and_its_repeats_are_sent(gpu: Gpu) -> None:
    def call(tape: Any, inputs: list[int]) -> list[int]:
        return [tape.made("add.Scalar", [COUNT], t(inputs[0]), 1.0)]

    timing = ProgramTimingOrder(max_ms=20.0, min_repeats=5)

    result = gpu.run(program(call, [[COUNT]], timing=timing))

    assert result["timing"]["differing_repeats"] == 0
    assert result["timing"]["checked_repeats"] >= 5
    assert [entry["op"] for entry in result["entries"]] == [3]
    repeat = result["repeats"][0]
    assert gpu.sent["repeat-0:0"] == gpu.sent[f"output:{repeat['call']}:0"]


def test_a_program_that_goes_wrong_is_not_timed(gpu: Gpu) -> None:
    runs = iter(range(100))
    gpu.kernel("scale", lambda pointers: floats(pointer(pointers, 1)).fill(next(runs)))
    order = program(scaling(), [[COUNT]], determinism=True, timing=ProgramTimingOrder())

    assert gpu.run(order)["timing"] is None


def test_memory_that_is_not_there_is_not_taken(gpu: Gpu) -> None:
    result = gpu.run(program(scaling(), [[COUNT]], memory_bytes=100))

    assert result["ending"] == "out_of_memory"
    assert "on the GPU has 100" in result["findings"][0]["message"]


def test_a_tape_with_another_number_of_launches_than_kernels_is_refused(gpu: Gpu) -> None:
    from programs.tape.forged import ForgedTape

    order = program(scaling(), [[COUNT]])

    with pytest.raises(ForgedTape, match="2 launches, but kernels came for 1"):
        gpu.run(replace(order, launches=order.launches[:1]))


def doubling(tape: Any, inputs: list[int]) -> list[int]:
    return [tape.made("mul.Scalar", [COUNT], t(inputs[0]), 2.0)]


def beside(candidate: ProgramOrder, reference: ProgramOrder, **more: Any) -> ProgramOrder:
    tolerances = {0: Tolerance(rtol=1e-5)}
    return replace(candidate, beside=reference, tolerances=tolerances, **more)


def test_a_program_beside_its_reference_is_compared_where_it_is(gpu: Gpu) -> None:
    candidate = program(lambda tape, given: [
        tape.made("add.Tensor", [COUNT], t(given[0]), t(given[0]))], [[COUNT]])  # fmt: skip

    result = gpu.run(beside(candidate, program(doubling, [[COUNT]])))

    found = result["compared"]["outputs"]
    assert list(found) == ["0:0", "1:0"]
    assert all(one["comparison"]["matches"] for one in found.values())
    assert gpu.stages == ["run", BESIDE, "run", COMPARE]
    assert found["0:0"]["comparison"]["compared"] == COUNT
    assert result["compared"]["reference"]["ending"] == "finished"
    assert gpu.sent == {}


def test_a_program_that_is_wrong_beside_its_reference_is_told(gpu: Gpu) -> None:
    gpu.kernel("scale", scale)  # by three

    result = gpu.run(beside(program(scaling(), [[COUNT]]), program(doubling, [[COUNT]])))

    comparison = result["compared"]["outputs"]["1:0"]["comparison"]
    assert not comparison["matches"]
    assert comparison["mismatched"] == COUNT


def test_the_reference_runs_when_the_program_and_its_timing_are_over(gpu: Gpu) -> None:
    def call(name: str) -> Callable[[Any, list[int]], list[int]]:
        def launching(tape: Any, inputs: list[int]) -> list[int]:
            tape.launch_kernel(name, kernel(name, x="*fp32"), {"x": t(inputs[0])})
            return [inputs[0]]

        return launching

    seen: list[str] = []
    for name in ("ours", "theirs"):
        gpu.kernel(name, lambda _, name=name: seen.append(name))

    gpu.run(beside(program(call("ours"), [[COUNT]], determinism=True),
                   program(call("theirs"), [[COUNT]])))  # fmt: skip

    assert seen == ["ours"] * 4 + ["theirs"] * 2


def test_the_outputs_of_a_timed_program_are_compared_too(gpu: Gpu) -> None:
    candidate = program(doubling, [[COUNT]], timing=ProgramTimingOrder(max_ms=10.0))

    result = gpu.run(beside(candidate, program(doubling, [[COUNT]])))

    assert result["timing"]["differing_repeats"] == 0
    assert all(one["comparison"]["matches"] for one in result["compared"]["outputs"].values())


def test_what_a_program_beside_its_reference_left_unwritten_is_no_match(gpu: Gpu) -> None:
    candidate = program(lambda tape, _: [tape.empty([COUNT])], [[COUNT]])

    result = gpu.run(beside(candidate, program(doubling, [[COUNT]])))

    comparison = result["compared"]["outputs"]["0:0"]["comparison"]
    assert comparison["unwritten"] == COUNT
    assert not comparison["matches"]


def test_a_fault_of_the_reference_is_told_as_its_own(gpu: Gpu) -> None:
    from worker.gpu.program.op_fault import OpFault

    def illegal(_: Any) -> None:
        raise MemoryError

    gpu.kernel("scale", illegal)

    with pytest.raises(OpFault):
        gpu.run(beside(program(doubling, [[COUNT]]), program(scaling(), [[COUNT]])))

    assert BESIDE in gpu.stages
    assert COMPARE not in gpu.stages


def test_a_fault_of_a_program_is_told_before_its_reference_begins(gpu: Gpu) -> None:
    from worker.gpu.program.op_fault import OpFault

    def illegal(_: Any) -> None:
        raise MemoryError

    gpu.kernel("scale", illegal)

    with pytest.raises(OpFault):
        gpu.run(beside(program(scaling(), [[COUNT]]), program(doubling, [[COUNT]])))

    assert gpu.stages == ["run"]


@pytest.mark.parametrize("counts", [True, False])
def test_a_variable_of_a_kernels_module_is_told_and_whether_it_changed(
    gpu: Gpu, monkeypatch: pytest.MonkeyPatch, counts: bool
) -> None:
    runs = ctypes.c_uint32(0)

    def counting(pointers: Any) -> None:
        scale(pointers)
        runs.value += counts

    gpu.kernel("scale", counting)
    gpu.driver.variables[b"runs"] = (ctypes.addressof(runs), 4)
    importlib.import_module("worker.gpu.program.device_launches")
    module = sys.modules["worker.gpu.program.module_variables"]
    variables = ModuleGlobals((ModuleGlobal("runs", 4, False),), 0, uses_heap=False)
    monkeypatch.setattr(module, "read_globals", lambda _: variables)

    result = gpu.run(program(scaling(), [[COUNT]]))

    told = {"name": "runs", "size_bytes": 4, "changed": counts}
    assert result["module_state"]["scale"]["variables"] == [told]


def test_a_module_that_cannot_be_read_is_told(gpu: Gpu) -> None:
    gpu.kernel("scale", scale)

    result = gpu.run(program(scaling(), [[COUNT]]))

    assert "no ELF file" in result["module_state"]["scale"]["problem"]

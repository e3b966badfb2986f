"""Faults that end a replay on a GPU, and the op that the report names."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.gpu.program_tapes import program, t
from tests.programs.with_torch.stand_in_program_gpu import COUNT, Gpu, scale, scaling
from tests.unit.worker.gpu.fake_cuda import CUresult
from worker.gpu.launcher.fault import JobFailed


def test_a_fault_ends_the_replay_with_the_op_that_was_under_way(gpu: Gpu) -> None:
    from programs.gpu.op_fault import OpFault

    def illegal(_: Any) -> None:
        raise MemoryError  # the fake's illegal access

    gpu.kernel("scale", illegal)

    with pytest.raises(OpFault) as raised:
        gpu.run(program(scaling(), [[COUNT]]))

    assert raised.value.index == 3  # after two inputs and the output's allocation
    assert raised.value.fault.fault == "illegal_access"
    assert raised.value.fault.error == "CUDA_ERROR_ILLEGAL_ADDRESS"
    assert not raised.value.leaves_context


def test_an_error_behind_an_op_of_torch_is_that_ops(gpu: Gpu) -> None:
    from programs.gpu.op_fault import OpFault

    def call(tape: Any, inputs: list[int]) -> list[int]:
        return [tape.made("add.Scalar", [COUNT], t(inputs[0]), 1.0)]

    gpu.driver._error = CUresult.CUDA_ERROR_ILLEGAL_ADDRESS

    with pytest.raises(OpFault, match=r"aten\.randn\.default accessed memory"):
        gpu.run(program(call, [[COUNT]]))


def test_an_error_that_no_kernel_makes_is_no_fault_of_the_program(gpu: Gpu) -> None:
    gpu.kernel("scale", scale)
    gpu.driver._error = CUresult.CUDA_ERROR_INVALID_VALUE

    with pytest.raises(JobFailed, match="waiting for the GPU: CUDA_ERROR_INVALID_VALUE") as raised:
        gpu.run(program(scaling(), [[COUNT]]))

    assert raised.value.slug == "device_error"


def test_a_kernel_that_does_not_fit_leaves_the_context(gpu: Gpu) -> None:
    from programs.gpu.op_fault import OpFault

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


def test_memory_that_is_not_there_is_not_taken(gpu: Gpu) -> None:
    result = gpu.run(program(scaling(), [[COUNT]], memory_bytes=100))

    assert result["ending"] == "out_of_memory"
    assert "on the GPU has only 100" in result["findings"][0]["message"]


def test_a_tape_with_another_number_of_launches_than_kernels_is_refused(gpu: Gpu) -> None:
    from programs.tape.schema import InvalidTape

    order = program(scaling(), [[COUNT]])

    with pytest.raises(InvalidTape, match="2 launches, but 1 kernels were sent"):
        gpu.run(replace(order, launches=order.launches[:1]))

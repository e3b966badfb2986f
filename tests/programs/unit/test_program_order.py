"""Orders for a program launcher."""

import json
from dataclasses import replace

import pytest

from compiler.abi import abi_of
from compiler.compilation import Parameter
from compiler.target import Target
from launch.messages import Tolerance
from programs.gpu.program_order import DeviceKernel, ProgramOrder, ProgramTimingOrder
from worker.gpu.launcher.fault import JobFailed


def _kernel(name, cubin):
    parameters = [
        Parameter(name=name, type=kind, role="runtime", hints=[], value=None)
        for name, kind in {"x": "*fp32", "by": "fp32"}.items()
    ]
    target = Target("cuda", 90, 32)
    abi = abi_of(target, parameters, {"name": name, "num_warps": 4, "shared": 0})
    return DeviceKernel(cubin, abi, {"by": "fp32"})


REFERENCE = ProgramOrder(
    tape=b'{"of": "the reference"}',
    inputs_tape=None,
    kernels={},
    launches=[],
    seed=42,
    memory_bytes=1 << 30,
)
ORDER = ProgramOrder(
    tape=b'{"ops": []}',
    inputs_tape=b'{"ops": [1]}',
    kernels={"0": _kernel("scale", b"\x7fELF"), "1": _kernel("scale_wide", b"\x7fELF2")},
    launches=[["0"], ["1", "", "0"]],
    seed=42,
    memory_bytes=1 << 30,
    timing=ProgramTimingOrder(max_ms=50.0, flush_l2=False),
    determinism=True,
    announce=True,
    reference=REFERENCE,
    turns=REFERENCE,
    tolerances={0: Tolerance(rtol=1e-3), 2: Tolerance(atol=0.5, equal_nan=True)},
)


@pytest.mark.parametrize("order", [ORDER, REFERENCE, replace(ORDER, timing=None)])
def test_an_order_arrives_as_it_was_sent(order):
    header, body = order.to_frame()

    assert ProgramOrder.from_frame(json.loads(json.dumps(header)), body) == order


@pytest.mark.parametrize(
    "missing",
    [
        "tape",
        "inputs_tape",
        "kernels",
        "launches",
        "seed",
        "memory_bytes",
        "timing",
        "beside",
        "turns",
        "tolerances",
    ],
)
def test_a_frame_that_is_no_program_is_refused(missing):
    header, body = ORDER.to_frame()
    del header[missing]

    with pytest.raises(JobFailed, match="the program cannot be read"):
        ProgramOrder.from_frame(header, body)


def test_a_member_that_no_program_launcher_knows_is_refused():
    header, body = ORDER.to_frame()

    with pytest.raises(JobFailed, match="unknown fields: speed"):
        ProgramOrder.from_frame(header | {"speed": 2}, body)


def test_an_unknown_order_of_timing_is_refused():
    header, body = ORDER.to_frame()
    header["timing"]["speed"] = 2

    with pytest.raises(JobFailed, match="speed"):
        ProgramOrder.from_frame(header, body)


@pytest.mark.parametrize("place", [[0, 1 << 20], [-4, 4], [0, -1], [1 << 40, 0]])
def test_a_part_that_lies_outside_of_the_body_is_refused(place):
    header, body = ORDER.to_frame()

    with pytest.raises(JobFailed, match="of a body of"):
        ProgramOrder.from_frame(header | {"tape": place}, body)


@pytest.mark.parametrize(
    ("launches", "message"),
    [
        ([["0"], []], "launch 1 has no kernel"),
        ([["", ""]], "launch 0 has no kernel"),
        ([["2"]], "launch 0 names a kernel .* '2'"),
    ],
)
def test_a_launch_without_its_kernel_is_refused(launches, message):
    header, body = ORDER.to_frame()

    with pytest.raises(JobFailed, match=message):
        ProgramOrder.from_frame(header | {"launches": launches}, body)

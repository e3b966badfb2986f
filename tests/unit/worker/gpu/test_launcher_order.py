"""Jobs on their way to a launcher."""

import json

import pytest

from compiler.abi import abi_of
from compiler.compilation import Parameter
from compiler.target import Target
from worker.gpu.launcher.fault import JobFailed
from worker.gpu.launcher.launcher_order import LauncherOrder, TimingOrder

JOB = LauncherOrder(
    cubin=b"\x7fELF",
    abi=abi_of(
        Target("cuda", 90, 32),
        [Parameter(name="d", type="tensordesc<fp16[64,32]>", role="runtime", hints=[], value=None)],
        {"name": "k", "num_warps": 4, "shared": 0, "tensordesc_meta": [{"swizzle": 2}]},
    ),
    grid=(97, 2, 1),
    allocations=[{"name": "x", "body": [0, 3]}],
    arguments={"x": {"kind": "buffer"}},
    uploads=b"abc",
    timing=TimingOrder(max_ms=50.0, flush_l2=False),
    determinism=True,
)


def test_a_job_arrives_as_it_was_sent():
    header, body = JOB.to_frame()

    assert LauncherOrder.from_frame(json.loads(json.dumps(header)), body) == JOB


def test_uploads_lie_where_allocations_say():
    header, body = JOB.to_frame()
    offset, size = header["allocations"][0]["body"]

    assert body[offset : offset + size] == b"abc"


@pytest.mark.parametrize(
    "missing", ["cubin", "abi", "grid", "allocations", "arguments", "timing", "determinism"]
)
def test_a_frame_that_is_no_job_is_refused(missing):
    header, body = JOB.to_frame()
    del header[missing]

    with pytest.raises(JobFailed, match="the launch cannot be read"):
        LauncherOrder.from_frame(header, body)


def test_a_member_that_no_launcher_knows_is_refused():
    header, body = JOB.to_frame()
    header["speed"] = 2

    with pytest.raises(JobFailed, match="not known: speed"):
        LauncherOrder.from_frame(header, body)


def test_an_unknown_order_of_timing_is_refused():
    header, body = JOB.to_frame()
    header["timing"]["speed"] = 2

    with pytest.raises(JobFailed, match="speed"):
        LauncherOrder.from_frame(header, body)


def test_more_allocations_than_a_launcher_takes_are_refused():
    header, body = JOB.to_frame()
    header["allocations"] *= 1025

    with pytest.raises(JobFailed, match="1025 allocations"):
        LauncherOrder.from_frame(header, body)

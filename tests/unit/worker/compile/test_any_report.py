"""Whatever a valid report of a child contains, the worker makes a record of it."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.compilation import Parameter
from tests.unit.compiler.request.test_ir_requests import ir_job
from tests.unit.compiler.vector_add import TOOLCHAIN
from worker.compile.build_record import build_record
from worker.compile.progress import Progress
from worker.compile.reports import Malformed, PostedReport

NUMBERS = st.none() | st.integers(-2, 3) | st.integers(0, 2**53 - 1)
TYPES = st.sampled_from(["i32", "*fp32", "tensordesc<fp16[2,2]>", "fp32", "u1"]) | st.text()
METADATA = st.fixed_dictionaries(
    {"name": st.none() | st.text(max_size=9)},
    optional=dict.fromkeys(
        ("num_warps", "num_ctas", "shared", "tmem_size", "global_scratch_size"), NUMBERS
    )
    | {"parameter_sizes_bytes": st.none() | st.lists(st.integers(-1, 99), max_size=3)},
)
RESOURCES = st.none() | st.dictionaries(
    st.sampled_from(["registers", "waves_per_simd", "static_shared_bytes", "vgpr", "x"]),
    st.integers(-1, 2**53 - 1),
)
PARAMETERS = st.lists(
    st.fixed_dictionaries(
        {"name": st.text(max_size=9), "type": TYPES, "hints": st.lists(st.text(max_size=9))}
    ),
    max_size=3,
)


def reported(metadata: dict[str, Any], resources: Any, parameters: Any) -> PostedReport:
    lowered = {"metadata": {"num_warps": None, "shared": None} | metadata, "resources": resources}
    report = {"facts": {"ptx": lowered}, "timings_ms": {}, "kernel": "k", "notes": []}
    return PostedReport.read(report | {"parameters": parameters})


def recorded(report: PostedReport, target: str) -> Any:
    progress = Progress(kernel=report.kernel)
    progress.parameters = tuple(
        Parameter(**item.model_dump(), role="runtime", value=None) for item in report.parameters
    )
    progress.metadata = report.facts["ptx"].metadata.model_dump()
    progress.resources = report.facts["ptx"].resources
    return build_record(ir_job(target=target), TOOLCHAIN, progress, {}, time.monotonic(), None)


@pytest.mark.parametrize("target", ["cuda:90", "hip:gfx942"])
@given(metadata=METADATA, resources=RESOURCES, parameters=PARAMETERS)
def test_a_valid_report_has_a_record(
    target: str, metadata: dict[str, Any], resources: Any, parameters: Any
) -> None:
    try:
        report = reported(metadata, resources, parameters)
    except Malformed:
        return
    record = recorded(report, target)

    assert record.state == "succeeded"
    record.model_dump_json().encode()


@pytest.mark.parametrize("number", ["0", "-1"])
def test_a_kernel_of_no_warps_is_no_report(number: str) -> None:
    with pytest.raises(Malformed, match="num_warps"):
        reported({"num_warps": int(number), "shared": 0, "name": "k"}, None, [])


def test_a_kernel_whose_memory_is_known_has_warps() -> None:
    with pytest.raises(Malformed, match="num_warps"):
        reported({"num_warps": None, "shared": 0, "name": "k"}, None, [])


@pytest.mark.parametrize(
    "kind", ["", "hello", "tensordesc<fp16[", f"tensordesc<fp16[{'1,' * 999}1]>", "*" * 4000]
)
def test_what_no_kernel_takes_is_no_type(kind: str) -> None:
    with pytest.raises(Malformed, match="type"):
        reported({"name": "k"}, None, [{"name": "x", "type": kind, "hints": []}])

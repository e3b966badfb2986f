"""Facts of a kernel's source are read once for all specializations that share them."""

from __future__ import annotations

from typing import Any

from compiler.job import CompileJob
from compiler.request.resolution import specialized_job
from compiler.request.signature import parse_specialization
from worker.launch.kernel_source import source_key


def job(**specialization: Any) -> CompileJob:
    posted = CompileJob(
        key="", namespace="", source="text", files={}, kernel="kernel", specialization_json={},
        options={}, target_name="cuda:90", stop_after="ttir", toolchain_id="triton", timeout_s=1,
    )  # fmt: skip
    written = [specialization.get(name) for name in ("signature", "hints", "constexprs")]
    return specialized_job(posted, parse_specialization(*written))


def test_types_hints_and_numbers_are_of_one_source() -> None:
    jobs = [
        job(signature={"x": "*fp32:16", "n": "i32"}),
        job(signature={"x": "*fp32", "n": "i64"}, constexprs={"BLOCK": 16}),
        job(),
    ]

    assert len({each.key for each in jobs}) == 3
    assert len({source_key(each) for each in jobs}) == 1


def test_a_function_that_a_constexpr_passes_is_kept_in_the_slice() -> None:
    plain, passing = job(), job(constexprs={"activation": {"function": "relu"}})

    assert source_key(plain) != source_key(passing)

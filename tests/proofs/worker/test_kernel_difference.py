"""Two kernels of equal TTIR store other values where their compilations may change them."""

from typing import Any

import pytest

from compiler.compilation import Compilation, amended, new_compilation
from compiler.job import CompileJob
from launch.proof.proof_messages import AnswerReport, Rechecked
from proofs.worker.kernel_difference import difference_of
from proofs.worker.proof_answers import comparison_of
from tests.proofs.worker.test_witnesses import job_of


def compilation(target: str = "cuda:90", triton: str = "3.9.0", **options: Any) -> Compilation:
    defaults = {"num_warps": 4, "num_stages": 3, "enable_fp_fusion": True, "extern_libs": None}
    job = CompileJob(
        key="c" * 64, namespace="", source="", files={}, kernel="kernel",
        specialization_json={"named": {}, "positional": []}, options=defaults | options,
        target_name=target, stop_after="ttir", toolchain_id="t", timeout_s=60,
    )  # fmt: skip
    made = new_compilation(job, None, "succeeded")
    return amended(made, toolchain=amended(made.toolchain, triton=triton))


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (compilation(enable_fp_fusion=False), "enable_fp_fusion is true in one and false in the"),
        (compilation(default_dot_input_precision="ieee"), "default_dot_input_precision is not set"),
        (compilation(ptx_version=84), "ptx_version is not set in one and 84 in the other"),
        (compilation("hip:gfx942"), "one is compiled for cuda:90, the other for hip:gfx942"),
        (compilation("cuda:80"), "one is compiled for cuda:90, the other for cuda:80"),
        (compilation(triton="3.8.0"), "triton 3.9.0 compiles one, triton 3.8.0 the other"),
    ],
)
def test_what_may_change_values_is_named(other: Compilation, words: str) -> None:
    assert words in difference_of(compilation(), other)


def test_warps_and_stages_change_no_value() -> None:
    assert not difference_of(compilation(), compilation(num_warps=8, num_stages=1, maxnreg=64))


def test_a_difference_leaves_open_what_was_proved_of_the_ttir() -> None:
    proved = AnswerReport(verdict="proved", proved_under=[], reason="", line=None, expression="")
    job = job_of("")
    assert comparison_of(proved, job, "").verdict == "proved"
    found = comparison_of(proved, job, "ptx_version is not set in one and 84 in the other")
    assert (found.verdict, found.reason) == (
        "unknown", "ptx_version is not set in one and 84 in the other",
    )  # fmt: skip


def test_two_kernels_compared_under_a_guess_are_not_compared_for_all_sizes() -> None:
    proved = AnswerReport(verdict="proved", proved_under=[], reason="", line=None, expression="")
    job = amended(job_of(""), contract="only n = B\nx_ptr: n\n")
    found = comparison_of(proved, job, "")
    assert (found.verdict, found.proved_under) == ("unknown", ["n = B"])


@pytest.mark.parametrize(
    ("runs", "words"), [(0, "not re-checked: no launch reached it"), (7, "7 runs agree")]
)
def test_an_equality_that_nothing_re_checked_is_answered_with_that(runs: int, words: str) -> None:
    answer = AnswerReport(
        verdict="proved", proved_under=[], reason="", line=None, expression="",
        rechecked=Rechecked(runs=runs, bits="not_modelled"),
    )  # fmt: skip
    found = comparison_of(answer, job_of("source"), "")
    assert found.rechecked is not None
    assert found.rechecked.summary.startswith(words)


def test_what_only_bit_vectors_re_checked_is_answered_with_that() -> None:
    seen = Rechecked(runs=0, bits="agrees")
    answer = AnswerReport(
        verdict="proved", proved_under=[], reason="", line=None, expression="", rechecked=seen
    )
    found = comparison_of(answer, job_of("source"), "").rechecked
    assert found is not None
    assert found.summary.startswith("not re-checked by running")
    assert found.summary.endswith("bit-vector check agrees")

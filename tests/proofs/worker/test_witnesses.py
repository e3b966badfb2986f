"""Witnesses are launch requests that name their kernel; their number and bytes are bounded."""

import json
from dataclasses import replace
from typing import Any

import pytest

from compiler.job import CompileJob
from launch.proof import prove_kernel
from launch.proof.proof_messages import AnswerReport, ProofReport
from launch.proof.prove_kernel import MAX_PROPOSALS, MAX_WITNESSES
from proofs.proof_job import ProofJob
from proofs.proof_record import ProvedAccess
from proofs.proof_request import ProofLimits
from proofs.worker import proof_answers
from proofs.worker.proof_answers import proved_accesses, without_hints
from proofs.worker.proposed_fix import TriedFix
from tests.proofs.compiled_ttir import HEAD, report_of_source

KEY = "c" * 64
TYPES = {"x_ptr": "*fp32", "o_ptr": "*fp32", "n": "i32"}
CONTRACT = "x_ptr: n\no_ptr: n\ngrid: cdiv(n, B)\n"
PADDING = "\n" + "#" * 100_000


def stores(count: int) -> str:
    lines = "".join(f"    tl.store(o_ptr + offs + {i}, s)\n" for i in range(count))
    return f"""{HEAD}def kernel(x_ptr, o_ptr, n, B: tl.constexpr):
    offs = tl.program_id(0) * B + tl.arange(0, B)
    s = tl.load(x_ptr + offs, mask=offs < n)
{lines}"""


def report_of_stores(count: int, *, proposes: bool = False) -> ProofReport:
    source = stores(count)
    return report_of_source(source, "kernel", TYPES, CONTRACT, {"B": 16}, proposes=proposes)


def job_of(source: str, hints: list[str] | None = None) -> ProofJob:
    named = {name: {"type": kind, "hints": hints or []} for name, kind in TYPES.items()}
    compiled = CompileJob(
        key=KEY, namespace="", source=source, files={}, kernel="kernel",
        specialization_json={"named": named, "positional": []}, options={},
        target_name="cuda:90", stop_after="ttir", toolchain_id="t", timeout_s=60,
    )  # fmt: skip
    return ProofJob(
        id="1", caller="me", compile_job=compiled, contract=CONTRACT, is_inferred=False,
        checks=["bounds"], limits=ProofLimits(), priority="batch", deadline_s=60,
    )  # fmt: skip


@pytest.fixture(scope="module")
def many() -> ProofReport:
    return report_of_stores(MAX_WITNESSES + 5)


def bounds_of(accesses: list[ProvedAccess]) -> list[Any]:
    return [one.bounds for one in accesses if one.bounds and one.bounds.verdict == "refuted"]


def test_a_record_does_not_grow_with_the_source_times_the_refuted_accesses(
    many: ProofReport,
) -> None:
    accesses = proved_accesses(many, job_of(stores(1) + PADDING), KEY, TriedFix())
    assert sum(len(one.model_dump_json()) for one in accesses) < len(PADDING)
    assert bounds_of(accesses)[0].witness["compilation_key"] == KEY


def test_accesses_beyond_the_most_witnesses_are_refuted_without_one(many: ProofReport) -> None:
    refuted = bounds_of(proved_accesses(many, job_of(stores(1)), KEY, TriedFix()))
    assert len(refuted) == MAX_WITNESSES + 5
    with_witness = [one for one in refuted if one.witness is not None]
    assert with_witness == refuted[:MAX_WITNESSES]
    assert all(one.replay is not None for one in with_witness)
    assert f"the first {MAX_WITNESSES}" in refuted[-1].reason


def test_races_beyond_the_most_that_are_run_are_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prove_kernel, "MAX_RACES_RUN", 2)
    masked = stores(4).replace(", s)", ", s, mask=offs < n)")
    report = report_of_source(
        masked, "kernel", TYPES, CONTRACT, {"B": 16}, checks=["bounds", "overflow", "races"]
    )
    races = [one.answers["race"] for one in report.accesses if one.kind == "store"]
    assert [one.verdict for one in races] == ["refuted", "refuted", "possible", "possible"]
    assert races[-1].reason == "not confirmed: a proof runs the programs of its first 2 races"


def test_witnesses_beyond_their_most_bytes_are_left_out(
    many: ProofReport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proof_answers, "MAX_WITNESSES_BYTES", 1_000)
    refuted = bounds_of(proved_accesses(many, job_of(stores(1)), KEY, TriedFix()))
    written = [json.dumps(one.witness) for one in refuted if one.witness is not None]
    assert 0 < sum(map(len, written)) <= 1_000
    left_out = refuted[MAX_WITNESSES - 1]
    assert left_out.witness is None
    assert left_out.replay is None
    assert "1,000 bytes" in left_out.reason


def test_only_the_first_refuted_access_has_proposals() -> None:
    report = report_of_stores(6, proposes=True)
    proposed = [answer.proposals for one in report.accesses for answer in one.answers.values()]
    [sources] = [each for each in proposed if each]
    assert len(sources) <= MAX_PROPOSALS


def test_a_kernel_with_hints_is_launched_as_one_without() -> None:
    plain = without_hints(job_of(stores(1), ["divisible_by_16"]).compile_job)
    assert plain == without_hints(plain)
    assert plain.key != KEY
    assert all(not item.hints for item in plain.specialization.named.values())
    assert without_hints(job_of(stores(1)).compile_job).key == KEY


def test_an_answer_without_a_replay_keeps_its_verdict(many: ProofReport) -> None:
    [first, *_] = [one for one in many.accesses if one.kind == "store"]
    bare: AnswerReport = replace(first.answers["bounds"], witness=None)
    only = replace(many, accesses=[replace(first, answers={"bounds": bare})])
    [refuted] = bounds_of(proved_accesses(only, job_of(stores(1)), KEY, TriedFix()))
    assert refuted.witness is None


def report_of_rows(source: str) -> ProofReport:
    contract = "sizes m\nx_ptr: m * n\no_ptr: (m + 1) * n\ngrid: m\n"
    return report_of_source(source, "kernel", TYPES, contract, {"B": 16}, proposes=True)


def test_one_proposal_widens_all_offsets_that_wrap() -> None:
    source = f"""{HEAD}def kernel(x_ptr, o_ptr, n, B: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, B)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n)
    tl.store(o_ptr + row * n + cols, x, mask=cols < n)
    tl.store(o_ptr + (row * n + n) + cols, x, mask=cols < n)
"""
    before = report_of_rows(source)
    after = report_of_rows(before.accesses[0].answers["overflow"].proposals[0])
    verdicts = [[one.answers["overflow"].verdict for one in r.accesses] for r in (before, after)]
    assert verdicts == [["refuted"] * 3, ["proved"] * 3]

"""Reports of a launch's children: bounded, complete and well-formed."""

from dataclasses import asdict
from typing import Any

import pytest

from launch.messages import CauseKind
from worker.compile.reports import Malformed
from worker.launch.launch_reports import (
    MAX_CAUSES,
    MAX_FINDINGS,
    LaunchFailure,
    finding_of,
    read_reference_report,
    read_run_report,
)

FOUND: dict[str, Any] = {
    "kind": "out_of_bounds", "access": "read", "argument": "x_ptr", "index": [8], "file": "user.py",
    "line": 7, "column": 9, "program": [0, 0, 0], "message": "reads past the end",
    "diagnostics": None, "measure": None, "seeds": None, "case": None,
    "excerpt": "tl.load(x_ptr)", "scope": None,
}  # fmt: skip
CAUSE: dict[str, Any] = {
    "kind": "rounded", "dtype": "f16", "bits": 11, "file": "user.py", "line": 7, "column": 9,
}  # fmt: skip
REPORT: dict[str, Any] = {"findings": [FOUND], "modified": [], "deterministic": None}


def test_a_finding_is_answered_as_it_was_found() -> None:
    [found] = read_run_report(REPORT).findings

    answered = asdict(found)

    assert answered == {name: FOUND[name] for name in answered}


def test_a_changed_input_is_a_finding_that_says_what_to_do() -> None:
    modified = {"argument": "x_ptr", "elements": 3, "first_index": [0, 2]}
    report = read_run_report(REPORT | {"modified": [modified]})

    finding = finding_of(report.modified[0])

    assert (finding.kind, finding.argument, finding.index) == ("input_modified", "x_ptr", [0, 2])
    assert "changed 3 elements" in finding.message


def test_causes_of_lost_precision_are_read_as_they_were_reported() -> None:
    [cause] = read_run_report(REPORT | {"causes": [CAUSE]}).causes

    assert (asdict(cause), cause.kind) == (CAUSE, CauseKind.ROUNDED)


@pytest.mark.parametrize(
    "changes",
    [
        {"findings": None},
        {"findings": [FOUND] * (MAX_FINDINGS + 1)},
        {"findings": [FOUND | {"access": "execute"}]},
        {"findings": [FOUND | {"line": 2**63}]},
        {"findings": [FOUND | {"line": 7.5}]},
        {"findings": [FOUND | {"index": [1] * 9}]},
        {"findings": [FOUND | {"kind": 5}]},
        {"findings": [FOUND | {"message": "\ud800"}]},
        {"modified": [{"argument": "x_ptr", "elements": 2**63, "first_index": [0]}]},
        {"modified": [{"argument": "x_ptr"}]},
        {"deterministic": 1},
        {"causes": [CAUSE] * (MAX_CAUSES + 1)},
        {"causes": [CAUSE | {"kind": "other"}]},
        {"causes": [CAUSE | {"bits": 65}]},
        {"causes": [CAUSE | {"file": "x" * 2000}]},
    ],
)
def test_a_malformed_report_of_a_run_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(Malformed):
        read_run_report(REPORT | changes)


@pytest.mark.parametrize("slug", ["worker_lost", "cancelled", "internal_error", "passed", None])
def test_a_child_cannot_claim_what_only_others_know(slug: str | None) -> None:
    with pytest.raises(Malformed):
        LaunchFailure.read({"slug": slug, "message": "", "diagnostics": []})


@pytest.mark.parametrize(
    ("dtype", "size_bytes"),
    [("bool", 6), ("uint8", 6), ("int16", 12), ("float16", 12), ("float32", 24), ("uint64", 48)],
)
def test_what_is_expected_says_its_size(dtype: str, size_bytes: int) -> None:
    described = {"out_ptr": {"dtype": dtype, "shape": [2, 3]}}

    report = read_reference_report({"outputs": described})

    assert report.outputs["out_ptr"].size_bytes == size_bytes


@pytest.mark.parametrize("dtype", ["object", "S8", "complex64", "V16", "<f4", "float128", ""])
def test_what_is_expected_is_of_plain_numbers(dtype: str) -> None:
    with pytest.raises(Malformed):
        read_reference_report({"outputs": {"out_ptr": {"dtype": dtype, "shape": [2]}}})


def test_a_long_message_is_kept_in_part_and_says_so() -> None:
    report = read_run_report(REPORT | {"findings": [FOUND | {"message": "x" * 9000}]})

    assert report.findings[0].message.endswith("x… [5060 more characters were not kept]")

"""Findings of all cases of a launch are bound_findings together; each case keeps its first."""

from __future__ import annotations

from typing import cast

from launch.messages import Finding
from store.blobs import Blobs
from worker.launch.launch_files import LaunchFiles


def files() -> LaunchFiles:
    return LaunchFiles("id", cast("Blobs", None), has_cases=True)


def found(count: int, chars: int) -> list[Finding]:
    return [Finding(kind="out_of_bounds", message=f"{n} " + "x" * chars) for n in range(count)]


def test_ordinary_findings_are_kept_as_they_are() -> None:
    assert files().bound_findings(found(3, 100)) == found(3, 100)


def test_a_hundred_cases_of_long_findings_are_a_small_record() -> None:
    launch = files()

    cases = [launch.bound_findings(found(64, 4000)) for _ in range(100)]

    assert sum(len(finding.message) for case in cases for finding in case) < 512 << 10
    assert all(case[0].kind == "out_of_bounds" for case in cases)
    assert cases[-1][-1].message == "61 more findings were not kept."

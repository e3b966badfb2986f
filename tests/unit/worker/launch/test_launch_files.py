"""One limit bounds the findings of all cases of a launch; each case keeps its first."""

from __future__ import annotations

from typing import cast

from launch.messages import Finding
from launch.profile_record import HotInstruction, Profile
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


def profile(instructions: int) -> Profile:
    one = HotInstruction(
        address=0, text="NOP", file=None, line=None, samples=0, samples_percent=0.0,
        instructions=0, top_stall=None,
    )  # fmt: skip
    return Profile(samples=9, lines=[], sass=[one] * instructions, sass_left_out=5)


def test_the_instructions_of_a_hundred_profiles_are_a_small_record() -> None:
    launch = files()

    kept = [launch.bound_profile(profile(1000)) for _ in range(100)]

    sizes = [(len(one.sass or []), one.sass_left_out) for one in kept if one is not None]
    assert sizes[:6] == [(1000, 5)] * 5 + [(0, 1005)]
    assert all(one is not None and one.lines == [] for one in kept)


def test_a_profile_without_lines_stays_as_it_is() -> None:
    assert files().bound_profile(Profile(registers=26)) == Profile(registers=26)

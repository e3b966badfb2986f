"""Timed iterations from a launcher: each is compared with the reference on its own inputs."""

from collections.abc import Mapping

from launch.messages import Finding
from launch.request.argument_binding import bind_arguments
from launch.request.launch_record import Comparison, Output
from launch.request.verdict import Evidence, Verdict, verdict_of
from worker.gpu.timing_integrity.timed_iteration import TimedIteration
from worker.launch.comparison import Actual, Compared
from worker.launch.gpu.timed_iterations import JudgedRepeats, judge_iterations, on_seeds
from worker.launch.reference import Expected, no_reference
from worker.launch.run import SentIteration

RIGHT, WRONG = b"right", b"wrong"


def sent(repeat: int, left: bytes = RIGHT, **changes: object) -> SentIteration:
    return SentIteration(TimedIteration(repeat, {"x": 100 + repeat}, **changes), {"out": left})  # type: ignore[arg-type]


async def compare(actual: Actual, expected: Expected) -> Compared:
    """Compare whole texts; the child compares elements."""
    matches = actual.outputs == expected.outputs
    comparison = Comparison(
        matches=matches, max_abs_error=0.0, max_rel_error=0.0, compared=5,
        mismatched=0 if matches else 5, nonfinite_mismatched=0,
    )  # fmt: skip
    return Compared({"out": Output(comparison=comparison)}, {}, {})


async def judged(*repeats: SentIteration, expected: Expected | None = None) -> JudgedRepeats:
    async def expect(seeds: Mapping[str, int]) -> Expected | None:
        asked.append(dict(seeds))
        return expected

    asked: list[dict[str, int]] = []
    found = await judge_iterations(repeats, expect, compare, is_changed=False)
    assert asked == [dict(one.iteration.seeds) for one in repeats[: len(asked)]]
    return found


REFERENCE = Expected({"out": RIGHT}, {})


async def test_repeats_that_match_are_reported_and_found_nothing_of() -> None:
    found = await judged(sent(4), sent(9), expected=REFERENCE)

    assert [(one.repeat, one.seeds, one.matches) for one in found.compared] == [
        (4, {"x": 104}, True),
        (9, {"x": 109}, True),
    ]
    assert found.findings == []
    assert found.matches == [True, True]


async def test_the_first_that_does_not_match_is_the_finding_and_the_last_one_compared() -> None:
    found = await judged(sent(4), sent(9, WRONG, differing_bytes=5), sent(11), expected=REFERENCE)

    [finding] = found.findings
    assert (finding.kind, finding.seeds) == ("state_kept", {"x": 109})
    assert found.matches == [True, False]
    assert verdict_of(Evidence(matches=(True, *found.matches))) is Verdict.MISMATCH


async def test_a_kernel_whose_runs_differ_within_tolerance_keeps_nothing() -> None:
    found = await judged(sent(4, differing_bytes=3), expected=REFERENCE)

    assert found.findings == []


async def test_a_reference_that_fails_on_other_values_is_reported_with_them() -> None:
    found = await judged(sent(4), expected=no_reference("division by zero"))

    assert found.reference_failed
    assert (found.findings[0].kind, found.findings[0].seeds) == ("invalid_reference", {"x": 104})


async def test_without_a_reference_only_what_was_left_out_is_reported() -> None:
    left_out = sent(5, WRONG, left_bytes=8, differing_bytes=8)
    found = await judged(sent(4, WRONG, differing_bytes=5), left_out)

    assert [one.kind for one in found.findings] == ["state_kept"]
    assert isinstance(found.findings[0], Finding)
    assert found.compared == found.matches == []


async def test_a_kernel_whose_values_decide_what_it_writes_is_not_accused() -> None:
    """Its rerun on the same inputs leaves out the same elements."""
    assert (await judged(sent(4, left_bytes=8))).findings == []


def test_arguments_on_other_seeds_differ_in_these_alone() -> None:
    random = {"shape": [4], "dtype": "fp32", "init": {"kind": "uniform", "seed": 1}}
    ones = {"shape": [4], "dtype": "fp32", "init": {"kind": "ones"}}
    bound = bind_arguments({"x": random, "y": ones}, 1 << 20)

    changed = on_seeds(bound, {"x": 5})

    assert [one.init for one in changed.allocations] == [
        {"kind": "uniform", "seed": 5, "low": 0.0, "high": 1.0},
        {"kind": "ones"},
    ]
    assert changed.arguments == bound.arguments
    assert on_seeds(bound, {}) is bound

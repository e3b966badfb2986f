"""Findings about wrong timed iterations, and about state that a module keeps between runs."""

from typing import Any

import pytest

from launch.messages import Finding
from launch.request.launch_record import Comparison, Mismatch, Output
from worker.gpu.timing_integrity.timed_iteration import TimedIteration
from worker.launch.gpu.iteration_findings import is_changed, of_mismatch, of_module

SEEDS = {"x_ptr": 11, "y_ptr": 12}


def output(*, matches: bool = False) -> Output:
    comparison = Comparison(
        matches=matches,
        max_abs_error=1.0,
        max_rel_error=1.0,
        compared=96,
        mismatched=0 if matches else 96,
        nonfinite_mismatched=0,
        first_mismatch=None if matches else Mismatch(index=[0], actual=1.0, expected=2.0),
    )
    return Output(comparison=comparison)


def found(repeat: TimedIteration, *, changed: bool = False) -> Finding:
    finding = of_mismatch(repeat, {"out": output()}, 384, is_changed=changed)
    assert finding is not None
    return finding


def test_a_repeat_that_matches_is_no_finding() -> None:
    repeat = TimedIteration(3, SEEDS, differing_bytes=1)

    assert of_mismatch(repeat, {"out": output(matches=True)}, 384, is_changed=True) is None


def test_a_repeat_that_did_nothing_is_reported_with_the_seeds_of_its_inputs() -> None:
    finding = found(TimedIteration(12, SEEDS, differing_bytes=384, left_bytes=384))

    assert finding.kind == "state_kept"
    assert finding.seeds == SEEDS
    assert (
        "Timed run 12 does not match the reference, although the first run does" in finding.message
    )
    assert "out[0] is 1.0, not 2.0; 96 of 96 elements of out are wrong" in finding.message
    assert "did not write 384 bytes of its outputs that the first run wrote" in finding.message
    assert "launch with these seeds: x_ptr 11, y_ptr 12." in finding.message


@pytest.mark.parametrize(
    ("repeat", "kind", "words"),
    [
        (TimedIteration(1, SEEDS, differing_bytes=9), "state_kept", "computes other outputs"),
        (TimedIteration(1, SEEDS, equals_first=True), "state_kept", "an earlier result"),
        (TimedIteration(1, SEEDS, left_bytes=384), "state_kept", "skip their work"),
        (
            TimedIteration(1, SEEDS, left_bytes=4),
            "mismatch",
            "these values. It did not write 4 bytes",
        ),
        (TimedIteration(1, SEEDS), "mismatch", "wrong for these values"),
        (TimedIteration(1, differing_bytes=9), "nondeterministic", "programs race, or"),
        (
            TimedIteration(-2, left_bytes=4, differing_bytes=4),
            "state_kept",
            "A warm-up run does not match",
        ),
    ],
)
def test_the_finding_names_why_an_iteration_is_wrong(
    repeat: TimedIteration, kind: str, words: str
) -> None:
    finding = found(repeat)

    assert finding.kind == kind
    assert words in finding.message


def test_with_equal_inputs_a_changed_variable_separates_state_from_races() -> None:
    assert found(TimedIteration(1, differing_bytes=9), changed=True).kind == "state_kept"


def variable(**changes: Any) -> dict[str, Any]:
    counter = {"name": "runs", "size_bytes": 4, "changed": True}
    return {"variables": [counter | changes], "unnamed_bytes": 0, "uses_heap": False}


def test_a_variable_is_reported_with_the_line_that_names_it() -> None:
    sources = {"user.py": "import triton\n\nasm = '.global .u32 runs;'\n"}

    [finding] = of_module(variable(), sources)

    assert (finding.kind, finding.file, finding.line) == ("state_kept", "user.py", 3)
    assert "a global variable runs of 4 bytes, which the runs of this launch changed" in (
        finding.message
    )


def test_a_variable_that_no_text_names_has_no_line() -> None:
    [finding] = of_module(variable(changed=None, size_bytes=1), {"user.py": "x"})

    assert (finding.file, finding.line) == (None, None)
    assert "of 1 byte, which was not checked" in finding.message


def test_only_a_change_says_that_something_was_kept() -> None:
    assert is_changed(variable())
    assert not is_changed(variable(changed=False))
    assert not is_changed(variable(changed=None))


def test_the_heap_and_memory_without_a_name_are_reported() -> None:
    state = {"variables": [], "unnamed_bytes": 64, "uses_heap": True, "problem": None}

    first, second = of_module(state, {})

    assert "64 bytes of unnamed global memory" in first.message
    assert "the device's heap" in second.message


def test_an_honest_module_is_no_finding() -> None:
    state = {"variables": [], "unnamed_bytes": 0, "uses_heap": False, "problem": None}

    assert list(of_module(state, {})) == []

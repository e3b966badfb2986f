"""Serious flags and findings make a program incorrect, whatever its verdict."""

import pytest

from launch.messages import Finding
from launch.request.verdict import Verdict
from programs.flag_kinds import FLAG_KINDS, SERIOUS, FlagKind, chosen_kinds, without_excess
from programs.program_record import ProgramFlag, Reward
from programs.worker.program_outcome import CaseOutcome, with_cases, with_run
from tests.programs.unit.queued_programs import queued

pytestmark = pytest.mark.unit


def flagged(*kinds: FlagKind, findings: tuple[str, ...] = ()) -> CaseOutcome:
    flags = [ProgramFlag(kind=kind, message="m") for kind in kinds]
    found = [Finding(kind=kind, message="m") for kind in findings]
    return CaseOutcome(flags=flags, findings=found, verdict=Verdict.PASSED, is_compiled=True)


def reward(run: CaseOutcome, serious: str | None = None) -> Reward:
    job = queued().model_copy(update={"serious_flags": chosen_kinds(serious)})
    found = with_run(job, run).reward
    assert found is not None
    return found


@pytest.mark.parametrize("kind", FLAG_KINDS)
def test_a_flag_makes_a_program_incorrect_if_it_is_serious(kind: FlagKind) -> None:
    judged = reward(flagged(kind))

    assert judged.correct == (kind not in SERIOUS)
    assert judged.serious == ([kind] if kind in SERIOUS else [])
    assert judged.flags == [kind]


def test_a_finding_of_a_serious_kind_counts_as_its_flag_does() -> None:
    judged = reward(flagged("dead_launch", findings=("state_kept", "input_modified")))

    assert (judged.correct, judged.serious) == (False, ["state_kept"])
    assert judged.flags == ["dead_launch", "state_kept"]


def test_a_serious_finding_of_one_case_is_one_of_the_program() -> None:
    runs = [flagged(), flagged(findings=("precision_downgrade",))]

    judged = with_cases(queued(), [None, None], runs).reward

    assert judged is not None
    assert judged.serious == ["precision_downgrade"]


def test_an_operator_chooses_the_serious_flags() -> None:
    assert reward(flagged("no_kernel"), "dead_launch, cached_result").correct
    assert not reward(flagged("dead_launch"), "dead_launch, cached_result").correct
    assert reward(flagged("no_kernel"), "none").correct


def test_a_flag_that_does_not_exist_cannot_be_chosen() -> None:
    with pytest.raises(
        ValueError, match="'no_kernels' is not a flag of programs; choose from no_k"
    ):
        chosen_kinds("no_kernels")


def test_many_flags_of_one_kind_hide_no_other() -> None:
    dead = [ProgramFlag(kind="dead_launch", message="m", line=line) for line in range(5)]
    cached = ProgramFlag(kind="cached_result", message="m")

    assert without_excess([*dead, *dead, cached], 3) == [*dead[:2], cached]

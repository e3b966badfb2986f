"""A change proves its access, and makes no other answer worse."""

from dataclasses import replace

from launch.proof.proof_messages import AccessReport, AnswerReport, ProofReport
from proofs.worker.proposed_fix import proves


def access(kind: str, bounds: str, overflow: str = "proved", argument: str = "x") -> AccessReport:
    answers = {
        check: AnswerReport(
            verdict=verdict,  # type: ignore[arg-type]
            proved_under=[],
            reason="",
            line=None,
            expression="",
        )
        for check, verdict in {"bounds": bounds, "overflow": overflow}.items()
    }
    return AccessReport(
        file="user.py", line=3, column=1, argument=argument, kind=kind, answers=answers  # type: ignore[arg-type]
    )  # fmt: skip


def report(*accesses: AccessReport) -> ProofReport:
    return ProofReport(
        accesses=list(accesses), refused="", refused_line=None, questions=0, effort=0, solver_ms=0
    )


BEFORE = report(access("load", "refuted"), access("load", "refuted"), access("store", "proved"))


def test_the_access_in_question_is_told_from_others_of_its_line() -> None:
    after = report(access("load", "proved"), access("load", "refuted"), access("store", "proved"))
    assert proves(BEFORE, after, 0)
    assert not proves(BEFORE, after, 1)


def test_a_change_that_makes_another_answer_worse_is_none() -> None:
    after = report(access("load", "proved"), access("load", "refuted"), access("store", "unknown"))
    assert not proves(BEFORE, after, 0)


def test_a_change_of_other_accesses_is_none() -> None:
    proved = access("load", "proved")
    assert not proves(BEFORE, report(proved, access("store", "proved")), 0)
    other = access("load", "proved", argument="y")
    assert not proves(BEFORE, report(proved, other, access("store", "proved")), 0)
    assert not proves(BEFORE, replace(BEFORE, refused="tt.call"), 0)

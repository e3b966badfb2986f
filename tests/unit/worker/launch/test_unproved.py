"""A launch whose proof is not `proved` has a finding that names the worst access."""

from __future__ import annotations

from typing import Any

import pytest

from worker.launch.do_launch import _not_proved

pytestmark = pytest.mark.unit


def access(line: int, **answers: str) -> dict[str, Any]:
    given = {name: {"verdict": verdict, "reason": "why"} for name, verdict in answers.items()}
    return {"file": "user.py", "line": line, "argument": "x_ptr", "kind": "load", **given}


def test_a_kernel_that_is_proved_has_no_finding() -> None:
    proved = access(1, bounds="proved", overflow="proved")
    assert _not_proved({"verdict": "proved", "accesses": [proved]}) is None


def test_the_finding_is_at_the_worst_access() -> None:
    accesses = [access(1, bounds="unknown"), access(2, bounds="proved", race="refuted")]

    found = _not_proved({"verdict": "refuted", "accesses": accesses})

    assert found is not None
    assert (found.kind, found.file, found.line, found.argument) == (
        "not_proved", "user.py", 2, "x_ptr",
    )  # fmt: skip
    assert found.message == (
        "The proof that `checks` asks for is refuted, not proved. "
        "The race of this load: refuted: why"
    )


@pytest.mark.parametrize(
    "failed",
    [
        {"state": "failed", "reason": "too late"},
        {"state": "failed", "problem": {"detail": "too late"}, "accesses": []},
    ],
)
def test_a_proof_that_failed_is_missing(failed: dict[str, Any]) -> None:
    found = _not_proved(failed)

    assert found is not None
    assert found.message == "The proof that `checks` asks for is missing, not proved: too late"

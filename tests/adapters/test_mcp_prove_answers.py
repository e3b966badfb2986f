"""The tool `prove` counts re-checks that did not finish."""

from typing import Any

from adapters.mcp.prove_tool import _draft, _rechecked, _step


def accesses(*seen: tuple[int, str]) -> list[dict[str, Any]]:
    nothing = dict.fromkeys(("bounds", "overflow", "race"))
    return [
        nothing | {"bounds": {"rechecked": {"runs": runs, "bits": bits}}} for runs, bits in seen
    ]


def test_bit_vectors_that_reached_a_limit_do_not_disagree() -> None:
    assert _rechecked(accesses((60, "timeout"), (72, "timeout"))) == (
        "re-checked: at least 60 runs agree with each proof; the bit-vector check reached its "
        "limit for 2 of 2 proofs"
    )


def test_each_outcome_of_bit_vectors_is_counted() -> None:
    text = _rechecked(accesses((60, "agrees"), (60, "timeout"), (60, "not_modelled")))

    assert text.endswith(
        "; the bit-vector check agrees with 1 of 3 proofs, reached its limit for 1 of 3 proofs, "
        "does not cover 1 of 3 proofs"
    )


def test_a_proof_that_nothing_re_checked_is_counted() -> None:
    assert _rechecked(accesses((0, "timeout"), (0, "agrees"))) == (
        "re-checked: no run tried some proofs; the bit-vector check agrees with 1 of 2 proofs, "
        "reached its limit for 1 of 2 proofs; 1 of 2 proofs were not re-checked"
    )


def test_a_draft_names_the_resource_that_describes_its_statements() -> None:
    draft = _draft("# docs/reference/proofs.md describes the statements.\nx_ptr: n\n")

    assert "# tritond://docs/proofs describes the statements.\nx_ptr: n" in draft.text


def test_the_advice_is_for_the_checks_that_are_refuted() -> None:
    [race, wraps] = [
        [dict.fromkeys(("bounds", "overflow", "race")) | {check: {"verdict": "refuted"}}]
        for check in ("race", "overflow")
    ]
    assert "mask" not in _step("refuted", race)
    assert "an atomic" in _step("refuted", race)
    assert "(overflow: .to(tl.int64))" in _step("refuted", wraps)

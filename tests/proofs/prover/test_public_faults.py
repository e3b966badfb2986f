"""Faults of public kernels are refuted at their published thresholds, and their fixes proved."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from launch.proof.proof_messages import ProofReport
from tests.conftest import TESTS
from tests.proofs.compiled_ttir import report_of_source

FOLDER = TESTS.parent / "examples" / "proofs"
FAULTS: dict[str, dict[str, Any]] = tomllib.loads((FOLDER / "faults.toml").read_text())


def report(name: str, kernel: str) -> ProofReport:
    fault, source = FAULTS[name], (FOLDER / f"{name}.py").read_text()
    return report_of_source(
        source, kernel, fault["signature"], fault["contract"], fault["constexprs"]
    )


def test_every_example_has_its_fault() -> None:
    assert {path.stem for path in Path(FOLDER).glob("*.py")} == FAULTS.keys()


@pytest.mark.parametrize("name", FAULTS)
def test_a_public_fault_is_refuted_from_its_published_size_on(name: str) -> None:
    found = report(name, "broken")
    answers = [answer for access in found.accesses for answer in access.answers.values()]
    refuted = [answer for answer in answers if answer.verdict == "refuted"]
    assert refuted, [(one.verdict, one.reason) for one in answers]
    witnesses = [one.witness for one in refuted if one.witness is not None]
    sizes = [one.sizes | one.scalars for one in witnesses]
    for size, least in FAULTS[name]["threshold"].items():
        assert min(one[size] for one in sizes) == least
    assert all(one.message for one in witnesses)


@pytest.mark.parametrize("name", FAULTS)
def test_its_fix_is_proved_for_all_sizes(name: str) -> None:
    found = report(name, "fixed")
    assert not found.refused
    for access in found.accesses:
        for check, answer in access.answers.items():
            assert answer.verdict == "proved", (access.line, check, answer.reason)

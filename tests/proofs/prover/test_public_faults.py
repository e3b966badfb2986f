"""Faults of public kernels are refuted at their published thresholds, and their fixes proved."""

import re
import shlex
from pathlib import Path

import pytest

from launch.proof.proof_messages import ProofReport
from tests.conftest import TESTS
from tests.proofs.compiled_ttir import report_of_source

FOLDER = TESTS.parent / "examples" / "proofs"
FAULTS = sorted(path.stem for path in FOLDER.glob("*.py"))


def text_of(name: str, suffix: str) -> str:
    return Path(FOLDER, name).with_suffix(suffix).read_text()


def report(name: str, kernel: str) -> ProofReport:
    source = text_of(name, ".py")
    found = re.search(rf"# tritonc: (.*)\n@triton.jit\ndef {kernel}\(", source)
    assert found
    words = dict(word.split("=", 1) for word in shlex.split(found[1]))
    constexprs = {n: int(value) for n, value in words.items() if value.isdecimal()}
    signature = {n: kind for n, kind in words.items() if n not in constexprs}
    return report_of_source(source, kernel, signature, text_of(name, ".contract"), constexprs)


def test_there_are_nine() -> None:
    assert len(FAULTS) == 9


@pytest.mark.parametrize("name", FAULTS)
def test_a_public_fault_is_refuted_first_at_the_size_that_its_contract_names(name: str) -> None:
    found = report(name, "broken")
    answers = [answer for access in found.accesses for answer in access.answers.values()]
    refuted = [answer for answer in answers if answer.verdict == "refuted"]
    assert refuted, [(one.verdict, one.reason) for one in answers]
    witnesses = [one.witness for one in refuted if one.witness is not None]
    sizes = [one.sizes | one.scalars for one in witnesses]
    named = re.search(r"refuted first at (\w+) = (\d+)", text_of(name, ".contract"))
    assert named
    assert min(one[named[1]] for one in sizes) == int(named[2])
    assert all(one.message for one in witnesses)


@pytest.mark.parametrize("name", FAULTS)
def test_its_fix_is_proved_for_all_sizes(name: str) -> None:
    found = report(name, "fixed")
    assert not found.refused
    for access in found.accesses:
        for check, answer in access.answers.items():
            assert answer.verdict == "proved", (access.line, check, answer.reason)

"""The table of problems: one row for each slug, and no other slug in the code."""

import re
from pathlib import Path

from compiler.problem_kinds import PROBLEM_KINDS
from compiler.slug import Slug
from jobs.features import NAMES

ROOT = Path(__file__).parents[3]
RAISED = re.compile(r'(?:ProblemRaised|failure_problem|program_problem)\(\s*"(\w+)"')


def test_every_slug_has_one_row():
    assert PROBLEM_KINDS.keys() == set(Slug)


def test_every_slug_that_the_code_names_is_in_the_table():
    packages = ("service", "worker", "jobs", "launch", "adapters", *NAMES)
    named = {
        slug
        for package in packages
        for path in (ROOT / package).rglob("*.py")
        for slug in RAISED.findall(path.read_text())
    }

    assert len(named) > 20
    assert named <= set(Slug)


def test_what_the_service_is_at_fault_for_may_work_later():
    final = {slug for slug, kind in PROBLEM_KINDS.items() if not kind.is_retryable}

    at_fault = {slug for slug in final if PROBLEM_KINDS[slug].fault == "service"}
    assert at_fault == {"internal_error", "replay_crashed"}

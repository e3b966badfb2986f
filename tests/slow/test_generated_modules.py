"""Generated modules compile here as in Python and Triton, or a warning names the difference."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, event, given, seed, settings

from tests.differential.comparing import Comparison
from tests.differential.modules import modules
from tests.shares import examples

EXAMPLES = examples(int(os.environ.get("TRITOND_FUZZ_MODULES", "120")))
SEED = int(os.environ.get("TRITOND_FUZZ_SEED", "1"))
"""`make fuzz` sets a new seed each time, which a failure names; `SEED=…` repeats one."""


@pytest.fixture(scope="module")
def comparison() -> Iterator[Comparison]:
    running = Comparison()
    yield running
    running.close()


@pytest.mark.timeout(0)
@seed(SEED)
@settings(
    max_examples=EXAMPLES,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=False,
)
@given(files=modules())
def test_a_module_never_becomes_another_kernel_in_silence(
    comparison: Comparison, files: dict[str, str]
) -> None:
    answers = comparison.compare(files)

    event(answers.verdict)
    wrong = answers.verdict in {"SILENT", "accepted"}
    assert not wrong, f"seed {SEED}: {answers.detail}\n{files['user.py']}"

"""Generated modules that use torch, which is missing here and real in the direct way."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, event, given, seed, settings

from tests.differential.comparing import Comparison
from tests.differential.modules import modules
from tests.shares import examples

EXAMPLES = examples(int(os.environ.get("TRITOND_FUZZ_MODULES", "40")))
SEED = int(os.environ.get("TRITOND_FUZZ_SEED", "1"))

pytestmark = pytest.mark.skipif(
    not os.environ.get("TRITOND_TEST_TORCH"), reason="torch is not installed"
)


@pytest.fixture(scope="module")
def comparison() -> Iterator[Comparison]:
    running = Comparison(packages=["torch"])
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
@given(files=modules(torch=True))
def test_a_module_that_uses_torch_never_becomes_another_kernel_in_silence(
    comparison: Comparison, files: dict[str, str]
) -> None:
    answers = comparison.compare(files)

    event(answers.verdict)
    # code that needs torch may fail with a refusal
    wrong = answers.verdict == "SILENT" or "compiler_crashed" in answers.detail
    assert not wrong, f"seed {SEED}: {answers.detail}\n{files['user.py']}"

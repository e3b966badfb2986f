"""The naive evaluator believes the cheats, on a CPU as far as Triton's interpreter supports them.

Collected with torch only, in the environment of `make test-torch`.
"""

from __future__ import annotations

import pytest

from tests.security.cheats.cheat import Cheat
from tests.security.cheats.naive_runs import NaiveVerdict, all_naive_verdicts
from tests.security.cheats.table import CHEATS, name_of


@pytest.fixture(scope="module")
def believed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, NaiveVerdict]:
    return all_naive_verdicts(tmp_path_factory.mktemp("naive"), TRITON_INTERPRET="1")


@pytest.mark.timeout(1200)  # for the fixture, on a busy machine
@pytest.mark.parametrize("cheat", [one for one in CHEATS if one.interpreted], ids=name_of)
def test_the_naive_evaluator_says(believed: dict[str, NaiveVerdict], cheat: Cheat) -> None:
    assert believed[name_of(cheat)].word in cheat.naive.split()

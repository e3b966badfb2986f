"""The CPU device gives every cheat its expected answer."""

from __future__ import annotations

import httpx
import pytest

from tests.cases import slow_except
from tests.security.cheats.cheat import Cheat, verdict
from tests.security.cheats.kept_cheats import NO_ASSEMBLY
from tests.security.cheats.table import CHEATS, name_of

ALIKE = (NO_ASSEMBLY, verdict("passed"))
"""The answers to cheats that the device cannot run, and to those that do no harm there."""
BY_KIND = {(name_of(cheat).partition("/")[0], str(cheat.cpu)): cheat for cheat in CHEATS}
"""One cheat of each folder and expected answer."""
QUICK = [cheat for cheat in BY_KIND.values() if cheat.cpu not in ALIKE]
QUICK += [next(cheat for cheat in CHEATS if cheat.cpu == answer) for answer in ALIKE]


@pytest.mark.parametrize("cheat", slow_except(QUICK, CHEATS), ids=name_of)
def test_the_cpu_device_is_not_fooled_by(http: httpx.Client, cheat: Cheat) -> None:
    answer = http.post("/v1/launches?wait=60", json=cheat.body("cpu"))

    assert answer.status_code == 200, answer.text
    assert cheat.cpu.differs(answer.json()) is None

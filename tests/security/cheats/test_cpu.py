"""The CPU device gives every cheat its expected answer."""

from __future__ import annotations

import httpx
import pytest

from tests.security.cheats.cheat import Cheat
from tests.security.cheats.table import CHEATS, name_of


@pytest.mark.parametrize("cheat", CHEATS, ids=name_of)
def test_the_cpu_device_is_not_fooled_by(client: httpx.Client, cheat: Cheat) -> None:
    answer = client.post("/v1/launches?wait=60", json=cheat.body("cpu"))

    assert answer.status_code == 200, answer.text
    assert cheat.cpu.differs(answer.json()) is None

"""A part that cannot live is not started for ever."""

from __future__ import annotations

import asyncio
import os

import pytest

from service.up import MAX_QUICK_DEATHS, Part, end_for_good


async def test_a_part_that_dies_at_once_is_given_up(capsys: pytest.CaptureFixture[str]) -> None:
    part = Part("no_such_module", os.environ)
    await part.start()

    async with asyncio.timeout(30):
        said = await end_for_good(part)

    assert said == "no_such_module ended with status 1, 3 times within 10 s of its start"
    restarts = capsys.readouterr().err.count("; starting it again")
    assert restarts == MAX_QUICK_DEATHS - 1

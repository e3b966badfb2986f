"""The settings of a worker, from the environment."""

import pytest
from pydantic import ValidationError

from worker.settings import WorkerSettings, wrong_settings


def test_a_number_of_bytes_has_no_unit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TRITOND_CACHE_BUDGET_BYTES", "1MB")

    with pytest.raises(ValidationError) as raised:
        WorkerSettings()

    words = "write a number of bytes without a unit, such as 8388608 for 8 MiB"
    assert wrong_settings(raised.value) == f"TRITOND_CACHE_BUDGET_BYTES: {words}"

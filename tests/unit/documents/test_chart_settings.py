"""The Helm chart takes every setting by its name, and refuses any other name."""

import json
from pathlib import Path
from typing import Any

import pytest

from service.settings import ServiceSettings
from worker.settings import WorkerSettings

SCHEMA = json.loads(
    (Path(__file__).parents[3] / "deploy/helm/tritond/values.schema.json").read_text()
)
OF_THE_CHART = set(
    "REDIS_URL CACHE_URL BLOBS_URL DRAIN_S HOST PORT ADMIN_KEY RECEIPT_KEY_FILE SLOTS "
    "SANDBOX".split()
)
"""Settings that other values make. The sandbox cannot be switched off in a cluster."""


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        (ServiceSettings, SCHEMA["properties"]["service"]),
        (WorkerSettings, SCHEMA["$defs"]["worker"]),
    ],
)
def test_every_other_setting_can_be_set(settings: type[ServiceSettings], place: dict[str, Any]):
    own = {name.upper() for name in settings.model_fields} - OF_THE_CHART
    offered = place["properties"]["settings"]["properties"]
    assert {f"TRITOND_{name}" for name in own} == offered.keys()

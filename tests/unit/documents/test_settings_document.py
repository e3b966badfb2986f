"""docs/reference/settings.md lists every setting of services and workers, and no other."""

import re
from pathlib import Path

from service.settings import ServiceSettings
from worker.settings import WorkerSettings

DOCUMENT = Path(__file__).parents[3] / "docs" / "reference" / "settings.md"


def test_every_setting_has_a_row():
    rows = re.findall(r"^\| (`TRITOND_[^|]*) \|", DOCUMENT.read_text(), re.MULTILINE)
    documented = {name for row in rows for name in re.findall(r"TRITOND_\w+", row)}
    fields = ServiceSettings.model_fields.keys() | WorkerSettings.model_fields.keys()

    assert documented == {f"TRITOND_{name.upper()}" for name in fields}

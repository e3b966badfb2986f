"""docs/reference/settings.md lists every setting and no other."""

import re
from pathlib import Path

from adapters.evaluators.flashinfer_trace_set import FlashInferSettings
from service.settings import ServiceSettings, unknown_variables
from worker.settings import WorkerSettings

DOCUMENT = Path(__file__).parents[3] / "docs" / "reference" / "settings.md"


def test_every_setting_has_a_row():
    rows = re.findall(r"^\| (`TRITOND_[^|]*) \|", DOCUMENT.read_text(), re.MULTILINE)
    documented = {name for row in rows for name in re.findall(r"TRITOND_\w+", row)}
    settings = (ServiceSettings, FlashInferSettings, WorkerSettings)
    fields = {name for each in settings for name in each.model_fields}

    assert unknown_variables(documented) == []
    assert documented == {f"TRITOND_{name.upper()}" for name in fields}

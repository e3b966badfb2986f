"""The worker reads exactly the members of a report that children send."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from compiler.messages import reports as sent
from worker.compile import reports as read

BY_THE_WORKER = {"warnings"}
"""Members that the worker adds to a report."""
PAIRS = [
    (name, getattr(sent, name), getattr(read, name)) for name in vars(sent) if hasattr(read, name)
]
PAIRS = [pair for pair in PAIRS if isinstance(pair[2], type) and issubclass(pair[2], read.Report)]


@pytest.mark.parametrize(("kind", "model"), [p[1:] for p in PAIRS], ids=[p[0] for p in PAIRS])
def test_what_is_read_is_sent(kind: type[Any], model: type[read.Report]) -> None:
    assert model.model_fields.keys() - BY_THE_WORKER <= {item.name for item in fields(kind)}


def test_every_report_that_is_read_is_one_that_is_sent() -> None:
    assert [name for name, _, _ in PAIRS] == [
        "ReadReport",
        "AskedParameter",
        "ParametersReport",
        "Lowered",
        "BackReport",
        "PostedReport",
    ]

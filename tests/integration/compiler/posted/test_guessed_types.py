"""Types that inspections propose fit the use of parameters, whatever their names say."""

from __future__ import annotations

from typing import Any

import pytest
from tritonc.signature_sources import completed

from compiler.inspection import InspectedKernel
from compiler.messages.orders import ReadOrder
from compiler.reading.read_source import read_source
from tests.integration.compiler.posted.misnamed_kernels import misnamed
from tests.integration.service.conftest import Post

SEEDS = range(24)


def inspected(text: str) -> dict[str, Any]:
    """Return the last kernel of a source as an inspection answers it."""
    [*_, facts] = read_source(ReadOrder(inspect=True), text.encode()).facts["kernels"]
    return InspectedKernel.model_validate(facts).model_dump()


@pytest.mark.parametrize("seed", SEEDS)
def test_types_come_from_use_and_names_do_not_mislead(post: Post, seed: int) -> None:
    kernel = misnamed(seed)
    facts = inspected(kernel.text)

    made = completed({}, facts).members
    assert made["signature"] == kernel.types, kernel.text
    lines = {p["name"]: p["proposal"]["line"] for p in facts["parameters"]}
    assert all(lines[name] >= line for name, line in kernel.used.items()), kernel.text
    body = {"source": kernel.text, **made, "target": "cuda:90", "stop_after": "ttir"}
    assert post(body).json()["problem"] is None, kernel.text

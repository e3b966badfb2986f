"""The examples in the documents of launches, batches, IR and sweeps print what they show."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

from launch.request.launch_request import LaunchRequest
from launch.request.tolerance import default_tolerance
from launch.request.verdict import Verdict
from tests.integration.service.running import Deployment

DOCS = Path(__file__).parents[4] / "docs"
TEXT = (DOCS / "reference/launches.md").read_text()
EXAMPLE = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize(
    "name",
    [
        "reference/launches.md",
        "how-to/batches.md",
        "how-to/compile-ir.md",
        pytest.param("reference/sweeps.md", marks=pytest.mark.slow),
        "tutorial/first-kernel.md",
    ],
)
def test_its_examples_print_what_it_says(system: Deployment, name: str) -> None:
    namespace: dict[str, Any] = {}
    text = (DOCS / name).read_text()
    examples = EXAMPLE.findall(text)

    for code, printed in examples:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(code.replace("http://127.0.0.1:8000", system.url), namespace)
        assert output.getvalue() == printed
    (namespace.get("http") or namespace["client"]).close()
    assert len(examples) == text.count("```python")


def test_its_verdicts_are_all_in_their_order() -> None:
    table = TEXT.partition("## Verdicts")[2].partition("`findings`")[0]

    assert re.findall(r"^\| `(\w+)`", table, re.MULTILINE) == list(Verdict)


def test_its_tolerances_are_the_defaults() -> None:
    rows = re.findall(r"^\| (fp\d\w*|bf16)(?:, \w+)? \| (\S+) \| (\S+) \|", TEXT, re.MULTILINE)
    written = {dtype: (number(rtol), number(atol)) for dtype, rtol, atol in rows}

    assert len(written) == 6
    for dtype, pair in written.items():
        tolerance = default_tolerance(dtype)
        assert pair == (tolerance.rtol, tolerance.atol)


def number(written: str) -> float:
    return 2.0 ** int(written[2:]) if written.startswith("2^") else float(written)


def test_its_limits_of_time_are_the_defaults() -> None:
    fields = LaunchRequest.model_fields

    assert f"| {fields['timeout_s'].default}, at most 600 |" in TEXT
    assert f"| {fields['deadline_s'].default}, at most 3600 |" in TEXT

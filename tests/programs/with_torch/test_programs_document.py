"""Examples of programs in docs/reference/programs.md and the API's documentation work."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from programs.program_request import EXAMPLE, FUNCTION_EXAMPLE, WARMING_EXAMPLE

DOCUMENT = Path(__file__).parents[3] / "docs" / "reference" / "programs.md"


def posted(programs: httpx.Client, body: dict[str, Any]) -> dict[str, Any]:
    answer = programs.post("/v1/programs", params={"wait": 60}, json=body)
    assert answer.status_code == 200, answer.text
    program: dict[str, Any] = answer.json()
    return program


def test_the_first_curl_passes_and_its_tape_can_be_read(programs: httpx.Client) -> None:
    found = re.search(r"-d '(\{.*?\n  \})'", DOCUMENT.read_text(), re.DOTALL)
    assert found is not None

    program = posted(programs, json.loads(found[1]))

    assert (program["verdict"], program["flags"]) == ("passed", [])
    assert program["reward"]["correct"] is True
    reported = programs.get(program["tape"]["url"], headers={"Accept": "text/plain"})
    assert "launch add_kernel[4, 1, 1]" in reported.text


@pytest.mark.parametrize("body", [EXAMPLE, FUNCTION_EXAMPLE], ids=["model", "function"])
def test_examples_of_the_api_pass(programs: httpx.Client, body: dict[str, Any]) -> None:
    assert posted(programs, body)["verdict"] == "passed"


def test_what_stops_after_its_kernels_has_them_compiled(programs: httpx.Client) -> None:
    program = posted(programs, WARMING_EXAMPLE)

    [kernel] = program["kernels"]
    compilation = programs.get(kernel["compilation_url"]).json()
    assert (program["verdict"], program["reward"]["compiled"]) == (None, True)
    assert (compilation["state"], compilation["target"]) == ("succeeded", "cuda:90")

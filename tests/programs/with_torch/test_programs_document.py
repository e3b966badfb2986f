"""Examples of programs in docs/reference/programs.md and the API's documentation work."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
import tritonc

from programs.program_request import EXAMPLE, FUNCTION_EXAMPLE, WARMING_EXAMPLE

ROOT = Path(__file__).parents[3]
DOCUMENT = ROOT / "docs" / "reference" / "programs.md"
MEASURING = ROOT / "docs" / "explanation" / "measuring.md"
EXAMPLES = ROOT / "examples" / "programs"


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


def test_the_reward_in_five_lines_is_that_of_the_candidate(programs: httpx.Client) -> None:
    found = re.search(r"```python\n(.*?)```", MEASURING.read_text(), re.DOTALL)
    assert found is not None
    names: dict[str, Any] = {"tritonc": tritonc}
    exec(found[1], names)
    reference = (EXAMPLES / "rms_norm_reference.py").read_text()
    candidates = [(EXAMPLES / name).read_text() for name in ("rms_norm.py", "rms_norm_wrong.py")]

    with tritonc.Client(str(programs.base_url)) as client:
        rewards = [
            names["reward_of"](client, candidate, reference)
            for candidate in (*candidates, "def f(:\n", "import no_such_module\n")
        ]

    assert rewards == [1.0, 0.0, 0.0, 0.0]

"""Examples of programs in the API's documentation are valid requests and answers."""

from typing import Any

import jsonschema
import orjson
import pytest

from programs.program_record import Program
from programs.program_request import ProgramRequest
from programs.service.program_examples import TAPE
from programs.service.program_routes import prefers_text
from programs.tape.read_tape import read_tape
from tests.unit.service.applications import document

PATHS: dict[str, Any] = document()["paths"]
ANSWERS = [
    pytest.param(example["value"], id=f"{method} {path} {status} {title}")
    for path in ("/v1/programs", "/v1/programs/{program_id}")
    for method, operation in PATHS[path].items()
    if method != "head" and operation["operationId"] != "list_programs"
    for status, response in operation["responses"].items()
    if status in {"200", "202"}
    for title, example in response["content"]["application/json"]["examples"].items()
]


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_is_a_program(answer: dict[str, Any]):
    program = Program.model_validate(answer)

    assert program.model_dump(mode="json") == answer
    assert (program.verdict is not None) == (program.state == "completed")
    assert (program.reward is None) == (program.state in {"queued", "running"})


def test_every_answer_has_an_example():
    assert len(ANSWERS) == 4 + 1 + 5 + 5  # of POST, 200 and 202, of GET, and of DELETE


def test_every_body_is_a_request():
    examples = PATHS["/v1/programs"]["post"]["requestBody"]["content"]["application/json"]

    for example in examples["examples"].values():
        ProgramRequest.model_validate(example["value"])


def test_the_tape_is_one_and_as_its_schema_says():
    content = PATHS["/v1/programs/{program_id}/tape"]["get"]["responses"]["200"]["content"]

    jsonschema.Draft202012Validator(content["application/json"]["schema"]).validate(TAPE)
    assert content["application/json"]["example"] == TAPE
    assert len(read_tape(orjson.dumps(TAPE)).ops) == 4
    assert "launch add_kernel[4, 1, 1]" in content["text/plain"]["example"]


@pytest.mark.parametrize(
    ("accept", "is_text"),
    [
        ("", False),
        ("*/*", False),
        ("application/json", False),
        ("text/plain", True),
        ("Text/Plain; charset=utf-8", True),
        ("application/json, text/plain", False),
        ("application/json;q=0.5, text/plain;q=0.8", True),
        ("application/json, text/plain;q=0.9, */*", False),
        ("text/plain;q=0", False),
        ("text/plain;q=2", True),  # a weight of zero counts as absent
        (";;q=,,", False),
    ],
)
def test_text_is_for_who_prefers_it(accept: str, is_text: bool):
    assert prefers_text(accept) is is_text

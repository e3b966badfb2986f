"""Examples of sweeps in the API's documentation are real answers."""

import ast
from typing import Any

import pytest

from sweeps.sweep_record import Sweep
from tests.unit.service.applications import document

PATHS: dict[str, Any] = document()["paths"]
ANSWERS = [
    pytest.param(example["value"], id=f"{method} {path} {status} {title}")
    for path in ("/v1/sweeps", "/v1/sweeps/{sweep_id}")
    for method, operation in PATHS[path].items()
    if (path, method) != ("/v1/sweeps", "get") and method != "head"  # a list of the caller's own
    for status, response in operation["responses"].items()
    if status in {"200", "202"}
    for title, example in response["content"]["application/json"]["examples"].items()
]
OF_WINNERS = PATHS["/v1/sweeps/{sweep_id}/winners/{format}"]["get"]["responses"]


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_is_a_sweep(answer: dict[str, Any]):
    sweep = Sweep.model_validate(answer)

    assert answer.keys() == Sweep.model_fields.keys()
    assert sum(sweep.counts.values()) == sweep.total == len(sweep.rows)
    assert [row["index"] for row in answer["rows"]] == list(range(sweep.total))


def test_every_answer_has_an_example():
    assert len(ANSWERS) == 3 + 3 + 3  # of POST, GET and DELETE


def test_a_table_is_shown_as_csv():
    content = PATHS["/v1/sweeps/{sweep_id}"]["get"]["responses"]["200"]["content"]

    assert content["text/csv"]["example"].startswith("index,constexprs.BLOCK_SIZE,")


def test_winners_are_shown_in_every_format_that_is_text():
    content = OF_WINNERS["200"]["content"]

    assert content["application/json"]["example"]["winners"][0]["verified"] is True
    ast.parse(content["text/x-python"]["example"])
    assert "application/x-tar" in content
    assert OF_WINNERS["202"]["content"]["application/json"]["example"]["state"] == "running"

"""Tapes designed to exhaust the reader: its time and memory stay proportional to the bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from programs.tape import json_fields, tape_text
from programs.tape.read_tape import read_tape
from programs.tape.schema import MAX_NAME_CHARS, MAX_STRUCTURE_VALUES, InvalidTape
from tests.programs.unit.recorded import vector_add
from tests.programs.unit.tape_maker import TapeMaker, t

pytestmark = pytest.mark.unit


def refused(tape: dict[str, Any]) -> str:
    with pytest.raises(InvalidTape) as raised:
        read_tape(json.dumps(tape).encode())
    return str(raised.value)


def of_dictionaries(name: str, value: dict[str, Any]) -> dict[str, Any]:
    """Return a structure of the maximal depth: the path of its value has all the names."""
    for _ in range(14):
        value = {"dict": {name: value}}
    return value


@pytest.mark.parametrize(
    ("item", "what"), [(b'{"t":0}', "objects"), (b"{}", "objects"), (b"[0]", "lists")]
)
def test_many_small_objects_are_refused_before_they_are_made(item: bytes, what: str) -> None:
    text = b"[" + b",".join([item] * 1_500_000) + b"]"
    with pytest.raises(InvalidTape, match=f"it holds about 1\\d+ {what}; at most"):
        json_fields.parsed(text)


@pytest.mark.parametrize("field", ["inputs", "outputs"])
def test_what_a_program_takes_and_returns_is_bounded_in_number(field: str) -> None:
    tape = vector_add()
    many = [{"t": 0}] * (MAX_STRUCTURE_VALUES + 1)
    tape[field] = many if field == "inputs" else {"list": many}

    assert f"no more than {MAX_STRUCTURE_VALUES} values" in refused(tape)


def test_names_of_what_is_returned_are_bounded_as_paths_repeat_them() -> None:
    tape = vector_add()
    tape["outputs"] = of_dictionaries("n" * MAX_NAME_CHARS, {"t": 2})
    read_tape(json.dumps(tape).encode())
    tape["outputs"] = of_dictionaries("n" * (MAX_NAME_CHARS + 1), {"t": 2})

    assert f"at most {MAX_NAME_CHARS}" in refused(tape)


def test_paths_of_all_that_is_returned_are_bounded_together() -> None:
    tape = vector_add()
    tape["outputs"] = of_dictionaries("n" * 200, {"list": [{"t": 2}] * 1_000})

    assert "the paths" in refused(tape)


def test_no_more_of_a_tape_is_put_into_words_than_is_shown(monkeypatch: Any) -> None:
    maker = TapeMaker()
    x = maker.tensor()
    for _ in range(tape_text.MAX_LINES * 2):
        maker.op("add_.Tensor", t(x), t(x), into=x)
    tape = read_tape(json.dumps(maker.json([x], [x], [], [])).encode())
    reported = []
    words = tape_text._op
    monkeypatch.setattr(tape_text, "_op", lambda tape, op: reported.append(op) or words(tape, op))

    text = tape_text.tape_text(tape)

    assert len(reported) <= tape_text.MAX_LINES
    assert "more lines" in text.splitlines()[-1]

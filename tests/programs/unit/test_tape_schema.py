from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator

from programs.tape.json_schema import TAPE_SCHEMA
from tests.programs.unit.recorded import vector_add
from tests.programs.unit.tape_maker import TapeMaker, t

pytestmark = pytest.mark.unit

VALIDATOR = Draft202012Validator(TAPE_SCHEMA)


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(TAPE_SCHEMA)


def test_recorded_tapes_are_of_the_schema() -> None:
    maker = TapeMaker()
    x = maker.tensor()
    out = maker.empty()
    maker.launch(x, out)

    assert VALIDATOR.is_valid(vector_add())
    assert VALIDATOR.is_valid(maker.json([x], [maker.op("relu.default", t(out))], [], []))


@pytest.mark.parametrize("field", ["tape", "tensors", "outputs", "ops"])
def test_a_tape_without_a_field_is_not(field: str) -> None:
    tape = vector_add()
    del tape[field]

    assert not VALIDATOR.is_valid(tape)

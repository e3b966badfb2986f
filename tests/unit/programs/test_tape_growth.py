"""Tapes whose author wants the reader's time or memory: what is read costs what its bytes do."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from programs.tape import json_fields, tape_text
from programs.tape.flags import flags_of
from programs.tape.forged import ForgedTape
from programs.tape.read_tape import read_tape
from programs.tape.schema import Tape
from programs.tape.tape_bounds import MAX_NAME_CHARS, MAX_STRUCTURE_VALUES
from tests.unit.programs.recorded import vector_add
from tests.unit.programs.tape_maker import TapeMaker, t

pytestmark = pytest.mark.unit

FACTOR, MOST_GROWTH = 8, 24
"""So much more text takes so much more time at most: 8 is linear, 64 quadratic."""


def refused(tape: dict[str, Any]) -> str:
    with pytest.raises(ForgedTape) as raised:
        read_tape(json.dumps(tape).encode())
    return str(raised.value)


def of_dictionaries(name: str, value: dict[str, Any]) -> dict[str, Any]:
    """A structure as deep as they may be: the path of its value has all the names."""
    for _ in range(14):
        value = {"dict": {name: value}}
    return value


def spent_s(call: Any) -> float:
    def once() -> float:
        started = time.process_time()
        call()
        return time.process_time() - started

    return min(once() for _ in range(3))


@pytest.mark.usefixtures("unmeasured")
def test_a_key_that_is_there_twice_is_found_as_fast_as_any_is_read() -> None:
    def read(keys: int) -> None:
        text = "{" + ",".join(f'"{n}":0' for n in range(keys)) + f',"{keys - 1}":0}}'
        with pytest.raises(ForgedTape, match="twice"):
            json_fields.parsed(text.encode())

    few = spent_s(lambda: read(1_000))
    assert spent_s(lambda: read(1_000 * FACTOR)) < few * MOST_GROWTH


@pytest.mark.parametrize(
    ("item", "what"), [(b'{"t":0}', "objects"), (b"{}", "objects"), (b"[0]", "lists")]
)
def test_many_small_objects_are_refused_before_they_are_made(item: bytes, what: str) -> None:
    text = b"[" + b",".join([item] * 1_500_000) + b"]"
    with pytest.raises(ForgedTape, match=f"it holds about 1\\d+ {what}; at most"):
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
    told = []
    words = tape_text._op
    monkeypatch.setattr(tape_text, "_op", lambda tape, op: told.append(op) or words(tape, op))

    text = tape_text.tape_text(tape)

    assert len(told) <= tape_text.MAX_LINES
    assert "lines more" in text.splitlines()[-1]


@pytest.mark.usefixtures("unmeasured")
def test_flags_of_many_outputs_take_no_longer_for_each() -> None:
    def tape(outputs: int) -> Tape:
        maker = TapeMaker()
        inputs = [maker.tensor() for _ in range(outputs)]
        for x in inputs:
            maker.op("neg.default", t(x))
        made = maker.json(inputs, inputs, [], [])
        return read_tape(json.dumps(made).encode())

    few, many = tape(200), tape(200 * FACTOR)

    assert [flag.kind for flag in flags_of(few, {})][:2] == ["no_kernel", "returned_input"]
    assert spent_s(lambda: flags_of(many, {})) < spent_s(lambda: flags_of(few, {})) * MOST_GROWTH


def of_one_wide_op(width: int) -> bytes:
    """One op in place that is given a tensor so often, and returns it as often."""
    maker = TapeMaker()
    x = maker.tensor()
    maker.op("neg_.default", {"list": [t(x)] * width}, into=x)
    maker.ops[-1]["o"] = [x] * width
    return json.dumps(maker.json([x], [x], [], [])).encode()


def of_restored_tuples(width: int) -> bytes:
    """A launch with a tuple of so many tensors, which its autotuner puts back by many names."""
    maker = TapeMaker()
    x = maker.tensor()
    maker.launch(x, x)
    maker.ops[-1]["args"]["a"] = {"tuple": [t(x)] * width}
    maker.ops[-1] |= {"restore_value": ["a"] * (width // 10)}
    return json.dumps(maker.json([x], [x], [], [])).encode()


@pytest.mark.usefixtures("unmeasured")
@pytest.mark.parametrize("tape", [of_one_wide_op, of_restored_tuples])
def test_a_wide_op_takes_no_longer_for_each_of_its_tensors(tape: Any) -> None:
    few, many = tape(600), tape(600 * FACTOR)

    assert spent_s(lambda: read_tape(many)) < spent_s(lambda: read_tape(few)) * MOST_GROWTH

"""The ops that make a program's inputs, extracted from the tape of its reference."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from programs.tape.inputs_tape import inputs_only, inputs_text
from programs.tape.read_tape import read_tape
from programs.tape.schema import InvalidTape
from tests.programs.unit.tape_maker import TapeMaker, t

pytestmark = pytest.mark.unit

Json = dict[str, Any]


def randn(maker: TapeMaker) -> int:
    return maker.op("randn.default", {"list": [64]})


def reference(*, weighted: bool = False) -> tuple[TapeMaker, Json]:
    """Return a reference that draws its inputs; `weighted` multiplies them by a weight."""
    maker = TapeMaker()
    maker.phase = "init"
    weight = randn(maker)
    maker.params.append(["secret_weight", weight])
    maker.phase = "inputs"
    drawn = [randn(maker) for _ in range(2)]
    if weighted:
        drawn = [maker.op("mul.Tensor", t(id_), t(weight)) for id_ in drawn]
    results = []
    for phase, id_ in zip(("run", "run2"), drawn, strict=True):
        maker.phase = phase
        results.append(maker.op("mul.Tensor", t(id_), t(weight)))
    first, second = drawn
    return maker, maker.json([first], [results[0]], [second], [results[1]])


def cut(tape: Json) -> Json:
    text = json.dumps(tape).encode()
    found: Json = json.loads(inputs_text(read_tape(text), text))
    return found


def test_only_the_ops_that_make_inputs_are_left_and_what_they_make() -> None:
    _, tape = reference()
    found = cut(tape)

    assert [op["op"] for op in found["ops"]] == ["aten.randn.default"] * 2
    assert (found["inputs"], found["inputs2"]) == ([t(0)], [t(1)])
    assert (len(found["tensors"]), found["storages"]) == (2, [256, 256])
    assert (found["kernels"], found["params"], found["outputs"]) == ({}, [], {"tuple": []})
    assert "secret_weight" not in json.dumps(found)


def test_inputs_that_hang_on_what_was_made_before_bring_that_with_them() -> None:
    _, tape = reference(weighted=True)
    found = cut(tape)

    assert [op["phase"] for op in found["ops"]] == ["init"] + ["inputs"] * 4
    assert found["params"] == []


def test_what_is_cut_out_is_a_tape_that_makes_the_same_inputs_once_more() -> None:
    _, tape = reference(weighted=True)
    whole = inputs_only(read_tape(json.dumps(tape).encode()))
    again = inputs_only(read_tape(json.dumps(cut(tape)).encode()))

    assert [op.op for op in again.ops] == [op.op for op in whole.ops]
    assert [op.place for op in again.ops] == [op.place for op in whole.ops]
    shapes = [[one.tensors[ref.id] for ref in one.outputs.items] for one in (whole, again)]
    assert [meta.shape for meta in shapes[0]] == [meta.shape for meta in shapes[1]]


def test_constants_among_the_inputs_stay_and_others_go() -> None:
    maker = TapeMaker()
    other, given = maker.tensor(2), maker.tensor(2)
    result = maker.op("mul.Tensor", t(given), t(other), size=2)
    tape = maker.json([], [result], [], [])
    said = {given: b"\1" * 8, other: b"\2" * 8}
    tape["constants"] = {str(id_): base64.b64encode(data).decode() for id_, data in said.items()}
    tape["inputs"] = [{"dict": {"t": t(given), "n": 3}}]
    found = cut(tape)

    assert found["inputs"] == [{"dict": {"t": t(0), "n": 3}}]
    assert list(found["constants"]) == ["0"]
    assert read_tape(json.dumps(found).encode()).constants == {0: b"\1" * 8}


def test_inputs_of_kernels_are_refused() -> None:
    maker = TapeMaker()
    maker.phase = "inputs"
    drawn, made = randn(maker), maker.empty()
    maker.launch(drawn, made)
    maker.phase = "run"
    result = maker.op("mul.Tensor", t(made), t(made))

    with pytest.raises(InvalidTape, match="made with kernels: make them with torch"):
        cut(maker.json([made], [result], [], []))


def test_inputs_that_no_op_makes_are_refused() -> None:
    maker = TapeMaker()
    x = maker.tensor()
    result = maker.op("mul.Tensor", t(x), t(x))

    with pytest.raises(InvalidTape, match="some of the inputs are made by no op"):
        cut(maker.json([x], [result], [], []))

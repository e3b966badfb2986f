"""Tapes with fields of the right types that no program could have produced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from programs.tape.read_tape import read_tape
from programs.tape.schema import InvalidTape
from tests.programs.unit.recorded import Json, sent, vector_add

pytestmark = pytest.mark.unit


def refused(change: Callable[[Any], None]) -> InvalidTape:
    tape = vector_add()
    change(tape)
    with pytest.raises(InvalidTape) as error:
        read_tape(sent(tape))
    return error.value


def op(name: str, args: list[Any], outputs: list[Any], phase: str = "run", **kwargs: Any) -> Json:
    return {"op": f"aten.{name}", "a": args, "o": outputs, "phase": phase, "k": kwargs}


def with_op(entry: Json, *tensors: list[Any]) -> Callable[[Any], None]:
    """Insert an op before the others; its tensors and storages are numbered 6, 7, ..."""

    def change(tape: Any) -> None:
        tape["tensors"].extend(tensors)
        tape["storages"].extend([4096] * len(tensors))
        tape["ops"].insert(0, entry)

    return change


def test_a_tensor_ends_within_its_storage() -> None:
    def change(tape: Any) -> None:
        tape["tensors"][0][4] = 1

    assert str(refused(change)) == "/tensors/0: it reaches 4100 bytes into storage 0 of 4096"


def test_strides_cannot_reach_beyond_a_storage() -> None:
    def change(tape: Any) -> None:
        tape["tensors"][0][3] = [2]

    assert "reaches 8188 bytes" in refused(change).what


def test_a_shape_with_too_many_elements_for_any_memory_is_refused() -> None:
    def change(tape: Any) -> None:
        tape["tensors"][0][2], tape["tensors"][0][3] = [2**40] * 30, [0] * 30

    assert "more than 1125899906842624 bytes" in refused(change).what


def test_an_op_that_is_not_in_the_list_is_refused() -> None:
    error = refused(
        with_op(op("from_file.default", ["/etc/passwd"], [6]), ["u8", "cpu", [9], [1], 0, 6])
    )

    assert error.where == "/ops/0/op"
    assert error.what == "aten.from_file.default is not an overload that tapes allow"


def test_a_tensor_is_made_before_it_is_used() -> None:
    def change(tape: Any) -> None:
        tape["ops"].pop(0)

    assert str(refused(change)) == "/ops/0/args/out: tensor 2 is used before anything made it"


def test_the_second_call_s_inputs_are_not_there_in_the_first() -> None:
    def change(tape: Any) -> None:
        tape["ops"][1]["args"]["x"] = {"t": 3}

    assert "tensor 3 is used before" in refused(change).what


def test_the_inputs_are_not_there_when_a_model_is_made() -> None:
    def change(tape: Any) -> None:
        tape["ops"][0]["phase"] = "init"

    assert str(refused(change)) == "/ops/0: tensor 0 is used before anything made it"


def test_what_the_second_call_made_is_not_what_the_first_returned() -> None:
    def change(tape: Any) -> None:
        tape["outputs"] = {"t": 5}

    assert str(refused(change)) == "/outputs: tensor 5 is used before anything made it"


def test_no_tensor_is_made_twice() -> None:
    def change(tape: Any) -> None:
        tape["ops"].insert(1, tape["ops"][0])

    assert "tensor 2 was made before" in refused(change).what


def test_new_memory_is_no_existing_storage() -> None:
    """Otherwise a launch could write an input that the tape shows as an output's own memory."""

    def change(tape: Any) -> None:
        tape["tensors"][2][5] = 0

    assert refused(change).what == "aten.empty_like.default returns no part of storage 0"


def test_a_view_lies_in_the_storage_of_its_argument() -> None:
    error = refused(
        with_op(op("alias.default", [{"t": 0}], [6]), ["fp32", "cuda", [1024], [1], 0, 6])
    )

    assert error.what == "aten.alias.default returns a part of its argument, not new memory"


@pytest.mark.parametrize(
    ("entry", "tensor", "what"),
    [
        (op("slice.Tensor", [{"t": 0}, 0, 4, 8], [6]), [[5], [1], 4], "makes the shape [4]"),
        (op("slice.Tensor", [{"t": 0}, 0, 4, 8], [6]), [[4], [1], 0], "begins at element 4"),
        (op("slice.Tensor", [{"t": 0}, 0, 4, 8, 2], [6]), [[2], [1], 4], "makes the strides [2]"),
        (op("slice.Tensor", [{"t": 0}, 1], [6]), [[4], [1], 0], "no dimension 1 among 1"),
        (op("slice.Tensor", [{"t": 0}, 0, 0, 4, 0], [6]), [[4], [1], 0], "its step is 0"),
        (op("view.default", [{"t": 0}, {"list": [3, -1]}], [6]), [[4], [1], 0], "do not have"),
        (op("expand.default", [{"t": 0}, {"list": [2048]}], [6]), [[4], [1], 0], "expands size"),
        (op("select.int", [{"t": 0}, 0, 1024], [6]), [[], [], 0], "no dimension 1024"),
        (op("as_strided.default", [{"t": 0}, {"list": [2]}, {"list": [9]}], [6]),
         [[2], [8], 0], "makes the strides [9]"),
        (op("split.Tensor", [{"t": 0}, 512], [6]), [[512], [1], 0], "makes 2 tensors"),
        (op("split.Tensor", [{"t": 0}, 0], [6]), [[512], [1], 0], "its split_size is 0"),
        (op("permute.default", [{"t": 0}, {"list": [0, 0]}], [6]), [[4], [1], 0], "a permutation"),
        (op("t.default", [7], [6]), [[4], [1], 0], "no tensor as its first argument"),
    ],
)  # fmt: skip
def test_a_view_s_shape_follows_from_its_arguments(
    entry: Json, tensor: list[Any], what: str
) -> None:
    error = refused(with_op(entry, ["fp32", "cuda", *tensor, 0]))

    assert what in error.what


@pytest.mark.parametrize("name", ["split.Tensor", "unbind.int"])
def test_a_view_of_millions_of_tensors_is_refused_before_torch_makes_them(name: str) -> None:
    def change(tape: Any) -> None:
        tape["tensors"][0][2] = [1 << 24]
        tape["storages"][tape["tensors"][0][5]] = 4 << 24
        arguments = [{"t": 0}, 1] if name == "split.Tensor" else [{"t": 0}]
        with_op(op(name, arguments, [6]), ["fp32", "cuda", [1], [1], 0, 0])(tape)

    assert name in refused(change).what


@pytest.mark.parametrize(
    ("entry", "tensor", "what"),
    [
        (op("add.Tensor", [{"t": 0}, {"t": 1}], [6]), ["fp32", "cuda", [1023], [1], 0, 6],
         "makes the shape [1024]"),
        (op("empty.memory_format", [{"list": [4]}], [6]), ["fp32", "cpu", [4], [1], 0, 6],
         "allocates 16 bytes, its storage has 4096"),
        (op("empty_strided.default", [{"list": [4]}, {"list": [2]}], [6]),
         ["fp32", "cpu", [4], [1], 0, 6], "makes the strides [2]"),
        (op("empty_strided.default", [{"list": [513]}, {"list": [2]}], [6]),
         ["fp32", "cpu", [512], [2], 0, 6], "makes the shape [513]"),
        (op("zeros.default", [{"list": [1024]}], [6], device={"device": "cuda"},
            dtype={"dtype": "fp32"}), ["i32", "cuda", [1024], [1], 0, 6], "makes fp32"),
        (op("add.Tensor", [{"t": 0}, {"t": 1}], [6]), ["fp32", "cpu", [1024], [1], 0, 6],
         "makes no tensor on cpu"),
        (op("_to_copy.default", [{"t": 0}], [6], dtype={"dtype": "fp16"}),
         ["fp32", "cuda", [1024], [1], 0, 6], "makes fp16"),
    ],
)  # fmt: skip
def test_a_new_tensor_follows_from_its_arguments(entry: Json, tensor: list[Any], what: str) -> None:
    assert what in refused(with_op(entry, tensor)).what


def test_phases_come_in_their_order() -> None:
    def change(tape: Any) -> None:
        tape["ops"].append({**op("zeros.default", [{"list": [1]}], [None]), "phase": "run"})

    assert refused(change).what == "phase run comes after run, run2"


@pytest.mark.parametrize(
    ("field", "value", "what"),
    [
        ("kernel", "k9", "there is no kernel 'k9'"),
        ("args", {}, "parameter 'n' of kernel add_kernel has no argument"),
        ("constexprs", {"BLOCK": 1, "n": 2}, "'n' is an argument and a constexpr"),
        ("constexprs", {"BLOCK": 1, "z": 2}, "no parameter 'z'"),
        ("constexprs", {"BLOCK": {"t": 0}}, "a tensor cannot be a constexpr"),
        ("reset_to_zero", ["n"], "is not a tensor, so an autotuner"),
        ("variants", [{"grid": [9, 1, 1], "constexprs": {}, "options": {}}], "not the launch"),
        ("variants", [{"grid": [4, 1, 1], "constexprs": {"q": 1}, "options": {"num_warps": 4}}],
         "not a constexpr that can vary"),
    ],
)  # fmt: skip
def test_a_launch_fits_its_kernel(field: str, value: Any, what: str) -> None:
    def change(tape: Any) -> None:
        tape["ops"][1][field] = value

    assert what in refused(change).what


def test_a_descriptor_ends_within_its_storage() -> None:
    descriptor = {"t": 0, "shape": [1025], "strides": [1], "block_shape": [64]}

    def change(tape: Any) -> None:
        tape["ops"][1]["args"]["x"] = {"descriptor": descriptor}

    assert refused(change).what == "the descriptor reaches 4100 bytes into 4096"


def test_a_constant_has_the_bytes_of_its_tensor() -> None:
    def change(tape: Any) -> None:
        tape["tensors"].append(["i32", "cpu", [2], [1], 0, 6])
        tape["storages"].append(8)
        tape["constants"] = {"6": "AAAA"}

    assert refused(change).what == "3 bytes for a tensor of 8 in a storage of 8"


def test_an_input_is_not_in_the_storage_of_another_call_s() -> None:
    def change(tape: Any) -> None:
        tape["tensors"][tape["inputs2"][0]["t"]][5] = 0

    assert "in another tensor's storage" in refused(change).what


def test_a_constant_is_not_in_the_storage_of_another() -> None:
    def change(tape: Any) -> None:
        tape["tensors"] += [["i32", "cpu", [1], [1], 0, 6], ["i32", "cpu", [1], [1], 0, 6]]
        tape["storages"].append(4)
        tape["constants"] = {"6": "AAAAAA==", "7": "AAAAAA=="}

    assert "in another tensor's storage" in refused(change).what


def test_in_place_ops_return_what_they_wrote() -> None:
    tape = vector_add()
    tape["ops"].insert(1, op("relu_.default", [{"t": 2}], [2]))

    assert len(read_tape(sent(tape)).ops) == 5


def test_an_input_that_is_written_in_place_is_still_given() -> None:
    tape = vector_add()
    tape["ops"].insert(0, op("relu_.default", [{"t": 0}], [0]))

    assert len(read_tape(sent(tape)).ops) == 5


def test_a_tape_of_inputs_alone_is_read() -> None:
    tape = {**vector_add(), "inputs": [{"t": 0}], "inputs2": [], "outputs": None, "outputs2": None}
    tape["ops"] = [
        op("zeros.default", [{"list": [1024]}], [0], "inputs", device={"device": "cuda"})
    ]

    assert read_tape(sent(tape)).outputs is None

from __future__ import annotations

import json
from typing import Any

import pytest

from programs.tape.read_tape import read_tape
from programs.tape.schema import InvalidTape, ProgramLine, TapeLaunch, TensorMeta, TensorRef
from tests.programs.unit.recorded import Json, sent, vector_add
from tests.programs.unit.tape_maker import TapeMaker

pytestmark = pytest.mark.unit


def test_a_recorded_tape_is_read_as_typed_records() -> None:
    tape = read_tape(sent(vector_add()))

    launch = tape.ops[1]
    assert tape.tensors[0] == TensorMeta("fp32", "cuda", (1024,), (1,), 0, 0)
    assert tape.outputs == TensorRef(2)
    assert isinstance(launch, TapeLaunch)
    assert (launch.kernel, launch.grid, launch.place) == (
        "k0",
        (4, 1, 1),
        ProgramLine("user.py", 20),
    )
    assert (launch.args["out"], launch.args["n"]) == (TensorRef(2), 1024)


def replaced(path: str, value: Any) -> Json:
    """Return the tape with one value replaced or added at a JSON pointer."""
    tape: Any = vector_add()
    *parents, last = path.strip("/").split("/")
    at = tape
    for part in parents:
        at = at[int(part)] if isinstance(at, list) else at[part]
    at[int(last) if isinstance(at, list) else last] = value
    return tape


@pytest.mark.parametrize(
    ("path", "value", "where", "what"),
    [
        ("tape", 2, "/tape", "its version is 2, not 1"),
        ("ends", {"run": [0]}, "/ends", "tapes of several CUDA streams are not read any more"),
        ("tape", True, "/tape", "not an integer"),
        ("extra", 1, "", "'extra' is not a field"),
        ("torch", "2\n", "/torch", "not a name"),
        ("tensors/0", ["fp32"], "/tensors/0", "a tensor is"),
        ("tensors/0/0", "float", "/tensors/0/0", "not a known element type"),
        ("tensors/0/1", "mps", "/tensors/0/1", "not a known device"),
        ("tensors/0/2", [-1], "/tensors/0/2/0", "is not from 0"),
        ("tensors/0/2", [1.5], "/tensors/0/2/0", "not an integer"),
        ("tensors/0/5", 6, "/tensors/0/5", "from 0 to 5"),
        ("storages/0", 2**51, "/storages/0", "is not from 0"),
        ("constants", {"01": ""}, "/constants", "not the index"),
        ("constants", {"0": "!"}, "/constants/0", "not base64"),
        ("constants", {"0": "A" * (3 << 19)}, "/constants/0", "more than 1048576 bytes"),
        ("seed", 2**64, "/seed", "is not from"),
        ("inputs", [{"t": 6}], "/inputs/0", "from 0 to 5"),
        ("inputs", [{"u": 6}], "/inputs/0", "not a kind of program value"),
        ("outputs", {"t": 1, "u": 2}, "/outputs", "not one tagged value"),
        ("params", [["w"]], "/params/0", "its name and the index"),
        ("ops/0/op", "aten.empty", "/ops/0/op", "name of an ATen overload"),
        ("ops/0/phase", "later", "/ops/0/phase", "not a known phase"),
        ("ops/0/line", "user.py", "/ops/0/line", "is not `file:line`"),
        ("ops/0/a", [{"layout": "sparse_coo"}], "/ops/0/a/0", "not a known layout"),
        ("ops/0/a", [{"float": "huge"}], "/ops/0/a/0", "not a known non-finite float"),
        ("ops/0/a", ["\ud800"], "/ops/0/a/0", "surrogate"),
        ("ops/1/grid", [4, 1], "/ops/1/grid", "has 3 sizes"),
        ("ops/1/grid", [4, 65536, 1], "/ops/1/grid/1", "from 0 to 65535"),
        ("ops/1/args/x", {"kernel": "k1"}, "/ops/1/args/x", "not a known kernel of this tape"),
        ("kernels/k0/parameters/1/name", "x", "/kernels/0/parameters", "two parameters"),
    ],
)
def test_what_no_recorder_sends_is_refused_with_its_place(
    path: str, value: Any, where: str, what: str
) -> None:
    with pytest.raises(InvalidTape, match=what) as refused:
        read_tape(sent(replaced(path, value)))

    assert refused.value.where == where


@pytest.mark.parametrize(
    ("raw", "what"),
    [
        (b"", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"tape": NaN}', "NaN is not JSON"),
        (b'{"tape": 1, "tape": 1}', "the key 'tape' twice"),
        (b"9" * 5000, "not JSON"),
        (b"[]", "not an object"),
        (b" " * ((32 << 20) + 1), "takes 33554433 bytes"),
        (b"[" + b"," * 6_000_001, "about 6000002 values"),
    ],
    ids=["nothing", "utf-8", "nested", "nan", "twice", "digits", "list", "bytes", "values"],
)
def test_a_tape_must_be_a_json_object_of_bounded_size(raw: bytes, what: str) -> None:
    with pytest.raises(InvalidTape, match=what):
        read_tape(raw)


def test_values_nested_deeper_than_programs_nest_are_refused() -> None:
    value: Any = 1
    for _ in range(20):
        value = {"list": [value]}

    with pytest.raises(InvalidTape, match="nested deeper than 16"):
        read_tape(sent(replaced("outputs", value)))


@pytest.mark.parametrize("number", [-1, 1_000, True, "0"])
def test_a_generator_is_one_of_a_thousand(number: object) -> None:
    seed = {"op": "seed", "seed": 1, "generator": number, "phase": "run"}
    made = TapeMaker().json([], [], [], [])
    with pytest.raises(InvalidTape, match="generator"):
        read_tape(json.dumps({**made, "ops": [seed]}).encode())


@pytest.mark.parametrize(
    ("more", "wrong"),
    [
        ({"device": "meta"}, "'meta' is not a known device"),
        ({"device": 0}, "is not a known device"),
        ({"device": "cpu", "generator": 0}, "it names a generator and a device"),
    ],
)
def test_a_seed_is_of_one_generator_or_of_torchs_for_a_device(
    more: dict[str, object], wrong: str
) -> None:
    seed = {"op": "seed", "seed": 1, "phase": "run", **more}
    with pytest.raises(InvalidTape, match=wrong):
        read_tape(json.dumps({**vector_add(), "ops": [seed]}).encode())

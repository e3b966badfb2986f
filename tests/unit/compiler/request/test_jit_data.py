"""The JSON of Triton's JIT hooks as a specialization."""

import json
from typing import Any

import pytest

from compiler.rejection import RequestRejected
from compiler.request.compile_request import CompileRequest
from compiler.request.resolution import read_jit_data, resolve
from compiler.request.signature import parse_specialization
from tests.unit.compiler.vector_add import TOOLCHAIN, VECTOR_ADD, key

HOOKED: dict[str, Any] = {
    "name": "user.add_kernel",
    "signature": {"x_ptr": "*fp32", "n_elements": "i32", "BLOCK_SIZE": "constexpr"},
    "constant_keys": [[2]],
    "constant_vals": [{"constexpr": 1024}],
    "attrs_keys": [[2], [0]],
    "attrs_vals": [[], [["tt.divisibility", 16]]],
    "options": {"num_warps": 4, "num_stages": 3, "extern_libs": [["libdevice", "/x.bc"]]},
    "key": "...",
    "target": {"backend": "cuda", "arch": 90, "warp_size": 32},
}


def jit_key(data: Any, **changes: Any) -> str:
    body = {"source": VECTOR_ADD["source"], "specialization_data": data, "target": "cuda:90"}
    return resolve(CompileRequest.model_validate(body | changes), TOOLCHAIN, "").key


@pytest.mark.parametrize("data", [HOOKED, json.dumps(HOOKED)], ids=["object", "text"])
def test_it_means_what_signature_hints_and_constexprs_mean(data: Any):
    assert jit_key(data) == key()


def test_options_of_the_jit_are_kept():
    data = HOOKED | {"options": HOOKED["options"] | {"num_warps": 8}}

    assert jit_key(data) == key(options={"num_warps": 8})


def test_options_of_the_request_win():
    assert jit_key(HOOKED, options={"num_warps": 2}) == key(options={"num_warps": 2})


def test_options_of_another_backend_mean_nothing():
    data = HOOKED | {"options": {"num_warps": 8, "num_stages": 9}}

    assert jit_key(data, target="hip:gfx942") == key(target="hip:gfx942", options={})


def test_data_of_triton_3_6_shows_its_backend_by_its_options():
    data = {name: value for name, value in HOOKED.items() if name != "target"}
    data["options"] = {"num_warps": 8, "backend_name": "cuda"}

    assert jit_key(data) == key(options={"num_warps": 8})


def test_every_kind_of_constant_is_read():
    data = {
        "name": "user.outer.<locals>.kernel",
        "signature": dict.fromkeys("abcdefg", "constexpr"),
        "constant_keys": [[index] for index in range(7)],
        "constant_vals": [
            1,
            "fp32",
            {"constexpr": "relu"},
            {"jit_function": "user:double"},
            [1, {"constexpr": 2}],
            None,
            float("-inf"),
        ],
    }

    read = read_jit_data(json.dumps(data))

    assert read.kernel == "kernel"
    assert read.specialization == parse_specialization(
        None,
        None,
        {
            "a": 1,
            "b": {"dtype": "fp32"},
            "c": "relu",
            "d": {"function": "double"},
            "e": [1, 2],
            "f": None,
            "g": {"float": "-inf"},
        },
    )


def test_items_of_tuples_are_found_by_their_paths():
    data = {
        "signature": {"n": "i32", "pair": ["*fp32", ["constexpr", "i32"]]},
        "constant_keys": [[1, 1, 0]],
        "constant_vals": [1],
        "attrs_keys": [[1, 0], [1, 1, 1]],
        "attrs_vals": [[["tt.divisibility", 16]], [["tt.divisibility", 16]]],
    }

    [_, pair] = read_jit_data(data).specialization.named.values()

    assert pair.type == ["*fp32:16", [{"constexpr": {"int": "1"}}, "i32:16"]]


REFUSED: dict[str, Any] = {
    "no JSON": "{",
    "no object": "[]",
    "a number": 1,
    "no signature": {"name": "x"},
    "keys without values": HOOKED | {"constant_vals": []},
    "an index too high": HOOKED | {"constant_keys": [[9]]},
    "a key that is no path": HOOKED | {"constant_keys": [None]},
    "no constant": HOOKED | {"constant_vals": [{"x": 1}]},
    "two tags": HOOKED | {"constant_vals": [{"x": 1, "y": 2}]},
    "an unknown type": HOOKED
    | {"signature": {"x_ptr": "?", "n": "i32", "BLOCK_SIZE": "constexpr"}},
    "attributes that are none": HOOKED | {"attrs_vals": [[], 5]},
}


@pytest.mark.parametrize("data", REFUSED.values(), ids=REFUSED)
def test_what_no_hook_gives_is_refused(data: Any):
    with pytest.raises(RequestRejected) as refused:
        jit_key(data)

    assert all(error.pointer.startswith("/specialization_data") for error in refused.value.errors)


def test_options_without_a_backend_are_those_of_the_target():
    data = {name: value for name, value in HOOKED.items() if name != "target"}
    data["options"] = {"num_warps": 8}

    assert jit_key(data) == key(options={"num_warps": 8})


WRONG = {
    "fewer values": (
        {"constant_vals": []},
        "cannot be read: `constant_keys` has 1 entries, `constant_vals` has 0",
    ),
    "parameter 7": (
        {"constant_keys": [[7]]},
        "cannot be read: `constant_keys` names parameter 7, but `signature` has 3",
    ),
    "parameter -1": (
        {"attrs_keys": [[-1], [0]]},
        "cannot be read: `attrs_keys` names parameter -1, but `signature` has 3",
    ),
}


@pytest.mark.parametrize(("changes", "message"), WRONG.values(), ids=WRONG)
def test_a_refusal_says_what_does_not_fit(changes: dict[str, Any], message: str):
    with pytest.raises(RequestRejected) as refused:
        jit_key(HOOKED | changes)

    assert [error.message for error in refused.value.errors] == [message]


@pytest.mark.parametrize("name", ["signature", "hints", "constexprs"])
def test_it_stands_alone(name: str):
    other = {"signature": {"x_ptr": "i32"}, "hints": {"x_ptr": []}, "constexprs": {"B": 1}}

    with pytest.raises(RequestRejected) as refused:
        jit_key(HOOKED, **{name: other[name]})

    assert [error.pointer for error in refused.value.errors] == ["/specialization_data"]

"""The key of a reference's answer depends on each of its inputs and on nothing else."""

import inspect
import json

import pytest

from worker.launch.stored_references import expected_key

ALLOCATION = {
    "name": "x", "dtype": "fp32", "elements": 4, "align_bytes": 16, "output": False, "body": None,
    "init": {"kind": "uniform", "seed": 1},
}  # fmt: skip
BUFFER = {
    "kind": "buffer", "allocation": 0, "shape": [4], "strides": [1], "offset": 0, "dtype": "fp32",
    "output": False,
}  # fmt: skip


def allocation(**changes):
    return [{**ALLOCATION, **changes}]


def buffer(**changes):
    return {"x": {**BUFFER, **changes}}


INPUTS = {
    "caller": ["alice", "bob", ""],
    "source": ["def reference(x): return x", "def reference(x): return x ", "\ud800"],
    "language": ["numpy", "torch"],
    "libraries": [{"numpy": "2.3.5"}, {"numpy": "2.3.4"}, {"numpy": "2.3.5", "cpu": "AVX2"}, {}],
    "pipeline": ["0", "1"],
    "allocations": [
        [],
        allocation(),
        allocation(init={"kind": "uniform", "seed": 2}),
        allocation(init={"kind": "uniform", "seed": 1, "low": 0.5}),
        allocation(init={"kind": "normal", "seed": 1}),
        allocation(init={"kind": "values", "values": [1, 2, 3, 4]}),
        allocation(init={"kind": "values", "values": [1.0, 2, 3, 4]}),
        allocation(init={"kind": "tensor", "digest": "sha256:0"}),
        allocation(init={"kind": "tensor", "digest": "sha256:1"}),
        allocation(init=None),
        allocation(elements=8),
        allocation(dtype="fp16"),
        allocation(name="y"),
        [ALLOCATION, ALLOCATION],
    ],
    "arguments": [
        {},
        buffer(),
        buffer(shape=[2, 2], strides=[2, 1]),
        buffer(shape=[2, 2], strides=[1, 2]),
        buffer(offset=1),
        buffer(output=True),
        {"y": BUFFER},
        {"x": {"kind": "scalar", "value": 1, "dtype": "i32"}},
        {"x": {"kind": "scalar", "value": 1.0, "dtype": "i32"}},
        {"x": {"kind": "scalar", "value": True, "dtype": "i32"}},
        {"x": {"kind": "scalar", "value": {"float": "0x1p+0"}, "dtype": "fp32"}},
        {"x": {"kind": "tuple", "items": [BUFFER]}},
        {"x": BUFFER, "y": BUFFER},
        {"y": BUFFER, "x": BUFFER},
    ],
    "constexprs": [{}, {"A": {"int": "1"}}, {"A": {"int": "2"}}, {"B": {"int": "1"}}, {"A": True}],
}
USUAL = {name: values[0] for name, values in INPUTS.items()}


def test_every_input_has_values_that_must_differ():
    assert INPUTS.keys() == inspect.signature(expected_key).parameters.keys()


@pytest.mark.parametrize("name", INPUTS)
def test_what_differs_in_one_input_has_another_key(name):
    keys = [expected_key(**{**USUAL, name: value}) for value in INPUTS[name]]

    assert len(set(keys)) == len(keys)


def test_one_input_is_not_taken_for_another():
    keys = [
        expected_key(**{**USUAL, name: value})
        for name, values in INPUTS.items()
        for value in values[1:]
    ]

    assert len(set(keys)) == len(keys)


def test_equal_inputs_have_an_equal_key_in_whatever_order_their_members_come():
    changed = {**USUAL, "allocations": allocation(), "libraries": {"a": "1", "b": "2"}}
    turned = {
        **changed,
        "allocations": [dict(reversed(ALLOCATION.items()))],
        "libraries": {"b": "2", "a": "1"},
    }

    assert expected_key(**changed) == expected_key(**json.loads(json.dumps(turned)))

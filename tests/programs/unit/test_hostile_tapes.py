"""Generated tapes: the reader names an error, or returns a tape that keeps its rules."""

from __future__ import annotations

import copy
import json
import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from programs.tape.allowed_overloads import ALLOWED
from programs.tape.flags import flags_of
from programs.tape.overload_effects import argument_tensors
from programs.tape.read_tape import read_tape
from programs.tape.schema import ELEMENT_BYTES, AtenOp, InvalidTape, Tape, tensors_of
from programs.tape.tape_text import tape_text
from tests.programs.unit.recorded import vector_add
from tests.programs.unit.tape_maker import READS_A_WRITES_OUT, TapeMaker, t

pytestmark = pytest.mark.unit

EXAMPLES = int(os.environ.get("TRITOND_HOSTILE_TAPES", "60"))
EVERY = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    database=None,
)


def rich() -> dict[str, Any]:
    """Return a tape with views, an op in place, allocations, a launch, two calls."""
    maker = TapeMaker()
    maker.phase = "init"
    weight = maker.op("randn.default", {"list": [64]})
    maker.params = [["weight", weight]]
    x, x2 = maker.tensor(), maker.tensor()
    outputs = []
    for maker.phase, given_x in (("run", x), ("run2", x2)):
        view = maker.op("alias.default", t(given_x), into=maker.tensor(of=given_x))
        out = maker.empty()
        maker.launch(view, out)
        maker.op("add_.Tensor", t(out), t(weight), into=out)
        outputs.append(maker.op("mul.Tensor", t(out), t(weight)))
    return maker.json([x], outputs[:1], [x2], outputs[1:])


STARTS = (vector_add(), rich())
OVERLOADS = sorted(ALLOWED)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-3, 70)
    | st.sampled_from([2**31, 2**50, 2**63, -(2**63), 2**64, 10**40])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | st.sampled_from([*OVERLOADS, *ELEMENT_BYTES, "cuda", "cpu", "run", "run2", "init", "k0"])
)
tags = st.sampled_from(
    ["t", "list", "tuple", "dict", "dtype", "device", "layout", "memory_format", "float", "complex",
     "kernel", "descriptor", "reinterpreted", "op", "a", "o"]
)  # fmt: skip
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(tags, inner, max_size=2)
        | st.fixed_dictionaries({"t": st.integers(-1, 12)})
    ),
    max_leaves=8,
)


def places_of(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        found += places_of(item, (*path, key)) if isinstance(item, (dict, list)) else [(*path, key)]
    return found


PLACES = [places_of(start) for start in STARTS]


@st.composite
def spoiled(draw: st.DrawFn) -> bytes:
    """Draw a good tape with one to three values replaced, removed, doubled or swapped."""
    which = draw(st.integers(0, len(STARTS) - 1))
    tape = copy.deepcopy(STARTS[which])
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(PLACES[which]))
        at: Any = tape
        try:
            for key in path[:-1]:
                at = at[key]
            way = draw(st.sampled_from(["replace", "delete", "insert", "double"]))
            if way == "delete":
                del at[path[-1]]
            elif way == "double" and isinstance(at, list):
                at.insert(path[-1], copy.deepcopy(at[path[-1]]))
            elif way == "insert" and isinstance(at, list):
                at.insert(path[-1], draw(values))
            else:
                at[path[-1]] = draw(values)
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change removed it
    return json.dumps(tape).encode()


@st.composite
def composed(draw: st.DrawFn) -> bytes:
    """Draw a good tape with additional ops of any overload on any tensors."""
    tape = copy.deepcopy(STARTS[1])
    for _ in range(draw(st.integers(1, 4))):
        rank = draw(st.integers(0, 3))
        shape = draw(st.lists(st.integers(0, 9), min_size=rank, max_size=rank))
        strides = draw(st.lists(st.integers(0, 9), min_size=rank, max_size=rank))
        storage = draw(st.integers(0, len(tape["storages"])))
        if storage == len(tape["storages"]):
            tape["storages"].append(draw(st.sampled_from([0, 4, 64, 256, 4096])))
        dtype = draw(st.sampled_from(["fp32", "i64", "i1"]))
        tape["tensors"].append([dtype, "cuda", shape, strides, draw(st.integers(0, 3)), storage])
        numbers = st.fixed_dictionaries({"list": st.lists(st.integers(-2, 65), max_size=3)})
        tensors = st.fixed_dictionaries({"t": st.integers(0, len(tape["tensors"]) - 1)})
        entry = {
            "op": draw(st.sampled_from(OVERLOADS)),
            "a": draw(st.lists(tensors | numbers | scalars, max_size=4)),
            "o": draw(st.lists(st.integers(0, len(tape["tensors"]) - 1), max_size=2)),
            "phase": draw(st.sampled_from(["init", "run", "run2"])),
        }
        tape["ops"].insert(draw(st.integers(0, len(tape["ops"]))), entry)
    return json.dumps(tape).encode()


def check_invariants(tape: Tape) -> None:
    """Check what every reader of a tape relies on."""
    for tensor in tape.tensors:
        assert len(tensor.shape) == len(tensor.strides)
        if 0 not in tensor.shape:
            steps = zip(tensor.shape, tensor.strides, strict=True)
            last = tensor.offset + sum((size - 1) * stride for size, stride in steps)
            assert (last + 1) * ELEMENT_BYTES[tensor.dtype] <= tape.storages[tensor.storage]
    defined = {id_ for item in (*tape.inputs, *tape.inputs2) for id_ in tensors_of(item)}
    for op in tape.ops:
        if isinstance(op, AtenOp):
            assert op.op in ALLOWED
            made = {id_ for id_ in op.outputs if id_ is not None}
            defined |= made
            assert set(argument_tensors(op)) <= defined
    assert set(tensors_of(tape.outputs)) <= defined


@EVERY
@given(spoiled() | composed())
def test_a_tape_is_read_or_refused_by_name(raw: bytes) -> None:
    try:
        tape = read_tape(raw)
    except InvalidTape as error:
        str(error).encode()
        return
    check_invariants(tape)
    flags_of(tape, READS_A_WRITES_OUT)
    flags_of(tape, {}, tape)
    tape_text(tape).encode()


@EVERY
@given(st.binary(max_size=200) | values.map(lambda value: json.dumps(value).encode()))
def test_bytes_that_are_no_tape_are_refused_by_name(raw: bytes) -> None:
    with pytest.raises(InvalidTape):
        read_tape(raw)

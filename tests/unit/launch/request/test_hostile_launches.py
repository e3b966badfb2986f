"""Any JSON resolves to a launch or raises RequestRejected, nothing else."""

import random
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from compiler.rejection import RequestRejected
from launch.request.case import with_seeds
from launch.request.launch_request import LaunchRequest
from launch.request.launch_resolution import resolve_launch
from launch.request.request_part import read
from tests.unit.launch.request.launch_of_add import LAUNCH

NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | NUMBERS | st.text(max_size=8)
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
INTEGERS = st.integers(-2, 5) | st.sampled_from([2**31, 2**63, 2**64, -(2**63), 10**30])
DTYPES = st.sampled_from(["fp32", "i8", "u64", "bool", "fp8e5", "fp8e4b15", "x"])
INITS = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(
            ["zeros", "full", "arange", "uniform", "normal", "randint", "values", "tensor"]
        )
        | JSON
    },
    optional={
        "value": SCALARS,
        "start": NUMBERS,
        "step": NUMBERS,
        "low": NUMBERS,
        "high": NUMBERS,
        "mean": NUMBERS,
        "std": NUMBERS,
        "seed": INTEGERS,
        "values": JSON,
    },
)
BUFFERS = st.fixed_dictionaries(
    {},
    optional={
        "shape": st.lists(INTEGERS, max_size=4),
        "dtype": DTYPES,
        "strides": st.lists(INTEGERS, max_size=4),
        "offset": INTEGERS,
        "align_bytes": INTEGERS,
        "init": INITS | JSON,
        "output": st.booleans(),
    },
)
VIEWS = st.fixed_dictionaries(
    {"of": st.sampled_from(["a", "b", "b.0", "c.1.0"])},
    optional={"shape": st.lists(INTEGERS, max_size=3), "strides": st.lists(INTEGERS, max_size=3)},
)
POINTERS = BUFFERS | st.fixed_dictionaries({"view": VIEWS})
DESCRIPTORS = st.fixed_dictionaries(
    {"base": POINTERS, "block_shape": st.lists(INTEGERS, max_size=3)}
)
VALUES = st.fixed_dictionaries({"value": SCALARS}, optional={"dtype": DTYPES})
ARGUMENTS = (
    JSON
    | POINTERS
    | VALUES
    | st.fixed_dictionaries({"descriptor": DESCRIPTORS})
    | st.fixed_dictionaries({"tuple": st.lists(POINTERS | VALUES, max_size=3)})
)


@given(
    st.dictionaries(st.sampled_from("abcde"), ARGUMENTS, max_size=5),
    st.dictionaries(st.sampled_from("abcde"), ARGUMENTS, max_size=3),
    JSON,
    JSON,
)
def test_any_json_is_a_launch_or_refused(
    arguments: dict[str, Any], changed: dict[str, Any], grid: Any, device: Any
):
    written = LAUNCH | {
        "arguments": arguments,
        "cases": [{"arguments": changed}, {"grid": grid}],
        "device": device,
        "grid": grid,
    }
    with suppress(RequestRejected):
        request = with_seeds(read(LaunchRequest, written, ""), random.Random(1))
        resolve_launch(request, max_bytes=2**20)


@given(st.dictionaries(st.sampled_from("ab"), ARGUMENTS, min_size=1, max_size=2))
def test_what_is_bound_lies_within_the_limit(arguments: dict[str, Any]):
    request = read(LaunchRequest, LAUNCH | {"arguments": arguments, "grid": [1]}, "")
    with suppress(RequestRejected):
        for case in resolve_launch(request, max_bytes=2**20).cases:
            assert case.bound.size_bytes <= 2**20

"""Buffers, tuples, views and descriptors, as a kernel on the CPU device sees them."""

from __future__ import annotations

from tests.integration.service.launches import bodies
from tests.integration.service.launches.bodies import arange, output, written
from tests.integration.service.launches.conftest import Launch, values


def test_none_is_none_in_the_kernel(launch: Launch) -> None:
    code = """
@triton.jit
def kernel(x_ptr, out_ptr):
    if x_ptr is None:
        tl.store(out_ptr, 7.0)
    else:
        tl.store(out_ptr, tl.load(x_ptr))
"""
    assert values(launch, code, {"x_ptr": None, "out_ptr": output(1)}) == [7]
    assert values(launch, code, {"x_ptr": arange(1), "out_ptr": output(1)}) == [0]


def test_a_tuple_holds_buffers_numbers_and_none(launch: Launch) -> None:
    code = """
@triton.jit
def kernel(pair, out_ptr):
    x_ptr, n, nothing = pair
    tl.store(out_ptr, tl.load(x_ptr + 1) + n)
"""
    pair = {"tuple": [arange(2), 40, None]}

    assert values(launch, code, {"pair": pair, "out_ptr": output(1)}) == [41]


def test_an_output_in_a_tuple_is_called_by_its_place(launch: Launch) -> None:
    code = """
@triton.jit
def kernel(pair):
    tl.store(pair[1], tl.load(pair[0]) + 1)
"""
    reference = "def reference(pair):\n    return {'pair.1': pair[0] + 1}\n"
    body = written(code, {"pair": {"tuple": [arange(1), output(1)]}}, reference=reference)

    answer = launch(body)

    assert answer["verdict"] == "passed"
    assert answer["outputs"].keys() == {"pair.1"}


def test_a_view_aliases_the_memory_of_another_argument(launch: Launch) -> None:
    code = """
@triton.jit
def kernel(x_ptr, tail_ptr, out_ptr):
    tl.store(x_ptr + 3, 50.0)
    tl.store(out_ptr, tl.load(tail_ptr + 1))
"""
    arguments = {
        "x_ptr": arange(4, output=True),
        "tail_ptr": {"view": {"of": "x_ptr", "offset": 2, "shape": [2], "strides": [1]}},
        "out_ptr": output(1),
    }

    assert values(launch, code, arguments) == [50]


def test_an_output_with_contents_is_changed_in_place_and_given_to_the_reference(
    launch: Launch,
) -> None:
    body = bodies.launch(
        bodies.source("faulty"), "accumulates", {"out_ptr": arange(8, output=True)}, {"BLOCK": 8},
        reference="def reference(out_ptr, **_):\n    return out_ptr + 1\n",
    )  # fmt: skip

    assert launch(body)["verdict"] == "passed"


def test_strides_and_offset_count_elements(launch: Launch) -> None:
    code = """
@triton.jit
def kernel(x_ptr, stride, out_ptr):
    lanes = tl.arange(0, 4)
    tl.store(out_ptr + lanes, tl.load(x_ptr + lanes * stride))
"""
    x = arange(4, strides=[3], offset=5)

    assert values(launch, code, {"x_ptr": x, "stride": 3, "out_ptr": output(4)}) == [0, 1, 2, 3]


def test_a_transposed_output_is_answered_in_its_own_shape(launch: Launch) -> None:
    code = """
@triton.jit
def kernel(out_ptr):
    lanes = tl.arange(0, 8)
    tl.store(out_ptr + lanes, lanes)
"""
    out = {"shape": [2, 4], "strides": [1, 2], "dtype": "fp32", "output": True}

    assert values(launch, code, {"out_ptr": out}) == [[0, 2, 4, 6], [1, 3, 5, 7]]


def test_a_host_descriptor_loads_blocks_and_pads(launch: Launch) -> None:
    code = """
@triton.jit
def kernel(desc, out_ptr):
    block = desc.load([2, 0])
    lanes = tl.arange(0, 4)[:, None] * 4 + tl.arange(0, 4)[None, :]
    tl.store(out_ptr + lanes, block)
"""
    desc = {"descriptor": {"base": arange(4, 4), "block_shape": [4, 4], "padding": "zero"}}

    block = values(launch, code, {"desc": desc, "out_ptr": output(4, 4)})

    assert block == [[8, 9, 10, 11], [12, 13, 14, 15], [0] * 4, [0] * 4]

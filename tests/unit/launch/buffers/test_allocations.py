"""Bound arguments become allocations: strides, offsets, aliases, poison."""

import numpy as np
import pytest

from launch.buffers.allocation import BadBuffer, leaves, logical_bytes, materialise, view
from launch.buffers.element_types import STORED, unwritten


def allocation(name, elements, init=None, dtype="fp32", body=None):
    return {
        "name": name, "dtype": dtype, "elements": elements, "align_bytes": 16, "init": init,
        "output": init is None, "body": body,
    }  # fmt: skip


def buffer(shape, strides, offset=0, allocation=0, dtype="fp32"):
    return {
        "kind": "buffer", "allocation": allocation, "shape": shape, "strides": strides,
        "offset": offset, "dtype": dtype, "output": False,
    }  # fmt: skip


ARANGE = {"kind": "arange"}


def test_strides_change_where_elements_lie_and_not_what_they_are():
    arguments = {"x": buffer([2, 3], [1, 2])}
    (made,) = materialise([allocation("x", 6, ARANGE)], arguments, b"")
    assert made.memory.tolist() == [0, 3, 1, 4, 2, 5]
    (leaf,) = leaves(arguments)
    assert view(made.memory, leaf).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert np.frombuffer(logical_bytes(made.memory, leaf), np.float32).tolist() == [
        0,
        1,
        2,
        3,
        4,
        5,
    ]


@pytest.mark.parametrize("dtype", STORED)
def test_every_type_can_be_viewed(dtype):
    arguments = {"x": buffer([2, 2], [-1, 2], offset=1, dtype=dtype)}
    (made,) = materialise([allocation("x", 4, {"kind": "ones"}, dtype)], arguments, b"")
    (leaf,) = leaves(arguments)
    assert view(made.memory, leaf).astype(int).tolist() == [[1, 1], [1, 1]]


def test_memory_outside_all_elements_is_poisoned():
    arguments = {"x": buffer([2, 2], [3, 1], offset=1)}
    (made,) = materialise([allocation("x", 6, ARANGE)], arguments, b"")
    assert np.isnan(made.memory).tolist() == [True, False, False, True, False, False]


def test_views_share_memory():
    arguments = {"x": buffer([4], [1]), "tail": buffer([2], [1], offset=2)}
    (made,) = materialise([allocation("x", 4, ARANGE)], arguments, b"")
    x, tail = leaves(arguments)
    view(made.memory, tail)[...] = 9
    assert view(made.memory, x).tolist() == [0, 1, 9, 9]


def test_memory_that_no_argument_bears_the_name_of_is_filled_in_memory_order():
    (made,) = materialise([allocation("base", 3, ARANGE)], {"x": buffer([3], [1])}, b"")
    assert made.memory.tolist() == [0, 1, 2]


def test_tuples_and_descriptors_hold_buffers():
    arguments = {
        "pair": {"kind": "tuple", "items": [buffer([1], [1]), {"kind": "none"}]},
        "tile": {"kind": "descriptor", "base": buffer([2], [1], allocation=1)},
        "n": {"kind": "scalar", "value": 3, "dtype": "i32"},
    }
    assert [(leaf.name, leaf.allocation) for leaf in leaves(arguments)] == [
        ("pair.0", 0),
        ("tile", 1),
    ]


@pytest.mark.parametrize(
    ("shape", "strides", "offset"),
    [([5], [1], 0), ([2, 2], [3, 1], 1), ([2], [-1], 0), ([1], [1], 4), ([1], [1], -1)],
)
def test_an_argument_cannot_reach_beyond_its_allocation(shape, strides, offset):
    with pytest.raises(BadBuffer, match="of an allocation of 4"):
        materialise([allocation("x", 4, ARANGE)], {"x": buffer(shape, strides, offset)}, b"")


def test_a_buffer_may_be_empty():
    arguments = {"x": buffer([0, 3], [3, 1])}
    (made,) = materialise([allocation("x", 0, ARANGE)], arguments, b"")
    (leaf,) = leaves(arguments)
    assert logical_bytes(made.memory, leaf) == b""
    assert not unwritten(made.memory).size


def test_an_initialiser_that_does_not_fit_names_its_buffer():
    init = {"kind": "values", "values": [1]}
    with pytest.raises(BadBuffer, match=r"^x: needs 2 values, one for each element, but lists 1"):
        materialise([allocation("x", 2, init)], {"x": buffer([2], [1])}, b"")


def test_an_upload_lies_in_the_body():
    from launch.buffers import npy

    upload = npy.write(np.array([7, 8], np.float32))
    described = allocation("x", 2, {"kind": "tensor"}, body=[3, len(upload)])
    (made,) = materialise([described], {"x": buffer([2], [1])}, b"---" + upload)
    assert made.memory.tolist() == [7, 8]

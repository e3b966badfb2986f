"""Host tensor descriptors as arguments, within the hardware's limits for tensor maps."""

from typing import Any

import pytest

from launch.request.argument_binding import bind_arguments
from launch.request.bound_arguments import BoundArguments
from tests.unit.launch.request.launch_of_add import errors


def bound(**arguments: Any) -> BoundArguments:
    return bind_arguments(arguments)


def buffer(shape: list[int], dtype: str = "fp32", **fields: Any) -> dict[str, Any]:
    return {"shape": shape, "dtype": dtype, "init": {"kind": "zeros"}, **fields}


def test_a_new_descriptor_is_aligned_for_tensor_maps():
    made = bound(d={"descriptor": {"base": buffer([64, 64]), "block_shape": [32, 32]}})

    assert made.allocations[0].align_bytes == 128
    assert made.arguments["d"].block_shape == [32, 32]
    assert made.arguments["d"].padding == "zero"


def described(base: Any, block_shape: list[int], **fields: Any) -> dict[str, Any]:
    return {"d": {"descriptor": {"base": base, "block_shape": block_shape, **fields}}}


NOT_DESCRIBED: dict[str, tuple[dict[str, Any], str, str]] = {
    "no dimensions": (described(buffer([]), []), "/base", "1 to 5 dimensions"),
    "six dimensions": (described(buffer([1] * 6), [1] * 6), "/base", "1 to 5 dimensions"),
    "empty": (described(buffer([0]), [1]), "/base", "none of them 0"),
    "columns first": (described(buffer([8, 8], strides=[1, 8]), [8, 8]), "/base", "have stride 1"),
    "odd rows": (described(buffer([8, 9]), [8, 8]), "/base", "multiples of 16 bytes"),
    "odd base": (described(buffer([8], offset=1), [8]), "/base", "aligned to 16 bytes"),
    "block of another rank": (described(buffer([8]), [8, 8]), "/block_shape", "the base has 1"),
    "block of 24": (described(buffer([32]), [24]), "/block_shape", "power of two"),
    "huge block": (described(buffer([32]), [2**21]), "/block_shape", "at most 1048576"),
    "NaN of integers": (described(buffer([32], "i32"), [32], padding="nan"), "/padding", "not i32"),
    "other padding": (described(buffer([32]), [32], padding="one"), "/padding", "'zero' or 'nan'"),
}


@pytest.mark.parametrize("name", NOT_DESCRIBED)
def test_a_descriptor_that_hardware_cannot_have_is_refused(name: str):
    arguments, at, message = NOT_DESCRIBED[name]
    found = errors(lambda: bind_arguments(arguments))

    assert found[0][0] == "/arguments/d/descriptor" + at
    assert message in found[0][1]

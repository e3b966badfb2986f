"""Forms of arguments that language models write, as on the command line."""

from typing import Any

import pytest
from tritonc.cli.argument_syntax import FILL_PARAMETERS, launch_argument

from adapters.mcp.short_forms import argument, axes, grid
from launch.request.initializer import BY_POSITION


@pytest.mark.parametrize(
    ("text", "buffer"),
    [
        ("fp32[8,1000]:output", {"shape": [8, 1000], "dtype": "fp32", "output": True}),
        ("fp16[4]", {"shape": [4], "dtype": "fp16", "output": True}),
        (
            "fp32[8, 1000]:normal(std=2, seed=1)",
            {"shape": [8, 1000], "dtype": "fp32", "init": {"kind": "normal", "std": 2, "seed": 1}},
        ),
        (
            "i32[3]:zeros:output",
            {"shape": [3], "dtype": "i32", "init": {"kind": "zeros"}, "output": True},
        ),
    ],
)
def test_a_text_of_a_buffer_is_that_buffer(text: str, buffer: dict[str, Any]) -> None:
    assert argument(text) == buffer


@pytest.mark.parametrize(
    "text",
    [
        "fp32[8,1000]:output",
        "fp32[8, 1000]:normal(std=2, seed=1)",
        "i32[3]:zeros:output",
        "fp32[16]:normal(0, 2)",
        "fp32[16]:uniform(-1, high=1)",
        "i32[16]:randint(0, 9)",
        "fp16[16]:full(1.5)",
        "i64[]:arange",
        "fp32[4]:arange(0, 2):output",
    ],
)
def test_the_command_line_reads_the_same(text: str) -> None:
    assert argument(text) == launch_argument(text)


def test_parameters_by_position_are_those_of_the_command_line() -> None:
    assert BY_POSITION == FILL_PARAMETERS


@pytest.mark.parametrize("other", [3, "fp16", "fp32[4]:ones(2)", "fp32[4]:a:b", {"shape": [1]}])
def test_everything_else_is_left_to_the_api(other: Any) -> None:
    assert argument(other) == other


def test_a_grid_may_be_one_axis_or_a_number_in_quotes() -> None:
    assert grid(4) == [4]
    assert grid("8") == [8]
    assert grid(["2", "cdiv(n, BLOCK)"]) == [2, "cdiv(n, BLOCK)"]
    assert grid({"x": 4}) == {"x": 4}  # which the API refuses


def test_a_bare_axis_is_an_option_or_a_constexpr() -> None:
    space = {"BLOCK": [1], "num_warps": [4], "options.num_stages": [2], "target": ["cuda:90"]}
    assert list(axes(space)) == [
        "constexprs.BLOCK", "options.num_warps", "options.num_stages", "target",
    ]  # fmt: skip

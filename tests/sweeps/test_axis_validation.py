"""Bases that accept no merge, and axes that contradict their base."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.rejection import RequestRejected
from launch.request.request_part import read
from sweeps.axis import read_axes
from sweeps.axis_validation import check_axes, check_base
from sweeps.sweep_request import SweepRequest, kind_of_base

COMPILATION: dict[str, Any] = {"source": "a kernel", "target": "cuda:90"}
LAUNCH: dict[str, Any] = {"compilation": {"source": "a kernel"}, "grid": [1]}


def refused_at(base: dict[str, Any]) -> str:
    with pytest.raises(RequestRejected) as caught:
        check_base(base, kind_of_base(base))
    [error] = caught.value.errors
    return error.pointer


@pytest.mark.parametrize(
    ("base", "pointer"),
    [
        (COMPILATION | {"constexprs": 7}, "/base/constexprs"),
        (COMPILATION | {"options": [1]}, "/base/options"),
        (COMPILATION | {"target": {}}, "/base/target"),
        (COMPILATION | {"triton": [[1]]}, "/base/triton"),
        (LAUNCH | {"compilation": 7}, "/base/compilation"),
        (LAUNCH | {"compilation": {"options": 7}}, "/base/compilation/options"),
        (LAUNCH | {"compilation": {"triton": {"n": {}}}}, "/base/compilation/triton"),
        (LAUNCH | {"arguments": 7}, "/base/arguments"),
        ({"grid": [1]}, "/base"),
    ],
)
def test_a_base_that_no_value_could_be_merged_into_is_refused(
    base: dict[str, Any], pointer: str
) -> None:
    assert refused_at(base) == pointer


@pytest.mark.parametrize(
    ("base", "said"),
    [
        ({}, "neither a compilation"),
        ({"source": "x", "grid": [1]}, "has `grid` of a launch and `source` of a compilation"),
    ],
)
def test_a_base_is_a_compilation_or_a_launch(base: dict[str, Any], said: str) -> None:
    with pytest.raises(RequestRejected, match=said):
        kind_of_base(base)


def test_a_null_in_the_base_is_as_good_as_a_member_left_out() -> None:
    base = {"source": None, "compilation": {"source": "x", "target": None}, "grid": [1]}

    request = read(SweepRequest, {"base": base, "space": {}}, "")

    assert request.base == {"compilation": {"source": "x"}, "grid": [1]}
    assert kind_of_base(request.base) == "launches"


@pytest.mark.parametrize(
    ("base", "axis"),
    [
        ({"compilation_key": "0" * 64, "grid": [1]}, "options.num_warps"),
        ({"ir": {"language": "ttir", "text": "x"}, "target": "cuda:90"}, "constexprs.B"),
        ({"source": "x", "specialization_data": {}, "target": "cuda:90"}, "constexprs.B"),
    ],
)
def test_an_axis_of_what_the_base_says_itself_is_refused(base: dict[str, Any], axis: str) -> None:
    kind = kind_of_base(base)
    axes = list(read_axes({axis: [1]}, "/space", kind))

    with pytest.raises(RequestRejected) as caught:
        check_axes(base, kind, axes)
    assert [error.pointer for error in caught.value.errors] == [f"/space/{axis}"]

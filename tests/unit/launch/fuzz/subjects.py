"""Launch requests to fuzz."""

from __future__ import annotations

from typing import Any

from launch.fuzz.fuzz_case import FuzzCase, written
from launch.fuzz.fuzz_plan import FuzzPlan, plan_of
from launch.fuzz.subject import Subject, subject_of
from launch.request.argument_binding import bind_arguments
from launch.request.grid import parse_grid


def given(*shape: int, kind: str = "uniform", dtype: str = "fp32", **more: Any) -> dict[str, Any]:
    init = {"kind": kind, **({"seed": 1} if kind in {"uniform", "normal"} else {})}
    return {"shape": list(shape), "dtype": dtype, "init": init, **more}


def integers(*shape: int, high: int, low: int = 0) -> dict[str, Any]:
    init = {"kind": "randint", "low": low, "high": high, "seed": 1}
    return {"shape": list(shape), "dtype": "i32", "init": init}


def out(*shape: int, **more: Any) -> dict[str, Any]:
    return {"shape": list(shape), "dtype": "fp32", "output": True, **more}


def subject(
    arguments: dict[str, Any],
    grid: list[Any],
    equal_nan: bool = False,
    fixed: str = "",
    **constexprs: Any,
) -> Subject:
    tagged = {
        name: {"int": str(value)} if type(value) is int else value
        for name, value in constexprs.items()
    }
    bound = bind_arguments(arguments)
    names = frozenset(fixed.split())
    return subject_of(arguments, bound, tagged, parse_grid(grid), names, equal_nan=equal_nan)


def plan(arguments: dict[str, Any], grid: list[Any], seed: int = 1, **more: Any) -> FuzzPlan:
    return plan_of(subject(arguments, grid, **more), seed)


def lengths(made: FuzzPlan) -> dict[int, set[int]]:
    """Return the lengths that the plan tries for each extent."""
    return {each.extent: set(each.lengths) for each in made.extents}


def changed(made: FuzzPlan, *extents: tuple[int, int], **more: Any) -> dict[str, Any]:
    """Return the changes of a case in the form of a request."""
    return written(FuzzCase(extents=extents, **more), made.subject, made.links)


N = 1000
ADD = {"x_ptr": given(N), "y_ptr": given(N), "z_ptr": out(N), "n": N}
BLOCKS = ["cdiv(n, BLOCK)"]
M, K, COLUMNS = 100, 80, 72
MATMUL = {
    "a_ptr": given(M, K), "b_ptr": given(K, COLUMNS), "c_ptr": out(M, COLUMNS),
    "M": M, "N": COLUMNS, "K": K, "stride_am": K, "stride_ak": 1, "stride_bk": COLUMNS,
    "stride_bn": 1, "stride_cm": COLUMNS, "stride_cn": 1,
}  # fmt: skip
TILES = ["cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N)"]

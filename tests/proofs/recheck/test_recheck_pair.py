"""Two kernels run at the same sizes, and every byte that they store is compared."""

from dataclasses import replace
from typing import Any

import pytest

from launch.recheck.recheck_by_running import recheck
from launch.recheck.recheck_messages import CheckRecheck, RecheckedKernel, RecheckReport
from tests.proofs.compiled_ttir import ttir_of
from tests.proofs.recheck.running import recheck_order

FLAT = """def kernel(x_ptr, y_ptr, z_ptr, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    m = o < n
    x = tl.load(x_ptr + o, mask=m)
    y = tl.load(y_ptr + o, mask=m)
    tl.store(z_ptr + o, VALUE, mask=m)
"""
STRIDED = """def kernel(x_ptr, y_ptr, z_ptr, n, B: tl.constexpr):
    for s in range(tl.program_id(0) * B, n, tl.num_programs(0) * B):
        o = s + tl.arange(0, B)
        m = o < n
        x = tl.load(x_ptr + o, mask=m)
        y = tl.load(y_ptr + o, mask=m)
        tl.store(z_ptr + o, VALUE, mask=m)
"""
ENDLESS = """def kernel(x_ptr, y_ptr, z_ptr, n, B: tl.constexpr):
    i = n
    while i > 0:
        i = tl.maximum(i, 1)
    o = tl.program_id(0) * B + tl.arange(0, B)
    m = (o < n) & ((i < 1) | (i > 0))
    tl.store(z_ptr + o, tl.load(x_ptr + o, mask=m), mask=m)
"""
TYPES = {"x_ptr": "*fp32", "y_ptr": "*fp32", "z_ptr": "*fp32", "n": "i32"}
EXTENTS = "x_ptr: n\ny_ptr: n\nz_ptr: n\n"
GRID = f"{EXTENTS}grid: cdiv(n, B)\n"


def report_of(
    first: str, second: str, contracts: tuple[str, str] = (GRID, GRID),
    blocks: tuple[int, int] = (32, 64), *, fuses: tuple[bool, bool] = (True, True),
    types: dict[str, Any] = TYPES, names: list[str] | None = None,
) -> RecheckReport:  # fmt: skip
    texts = [
        ttir_of(body, types, {"B": block})
        for body, block in zip((first, second), blocks, strict=True)
    ]
    kernels = [
        RecheckedKernel(
            ttir_bytes=len(text.encode()), contract=contract, constants={"B": block},
            fp_fusion=is_fused, parameters=names,
        )
        for text, contract, block, is_fused in zip(texts, contracts, blocks, fuses, strict=True)
    ]  # fmt: skip
    order = replace(recheck_order(texts[0], GRID), kernel=kernels[0], other=kernels[1])
    return recheck(order, "".join(texts).encode(), lambda *_: None)


def compared(*arguments: Any, **members: Any) -> CheckRecheck:
    report = report_of(*arguments, **members)
    assert not report.refused
    assert report.equivalent is not None
    return report.equivalent


@pytest.mark.parametrize(
    "value", ["x * y + x", "tl.exp(x) / (1 + tl.exp(y))", "tl.where(x > y, x, tl.sqrt(y))"]
)
def test_two_forms_of_one_operation_agree_in_all_runs(value: str) -> None:
    contracts = GRID, f"sizes g\n{EXTENTS}grid: g\n"
    found = compared(FLAT.replace("VALUE", value), STRIDED.replace("VALUE", value), contracts)
    assert found.outcome == "agrees", found.message
    assert found.runs > 20


def test_another_value_at_one_element_is_a_difference() -> None:
    other = FLAT.replace("VALUE", "tl.where(o == 3, x, x + y)")
    found = compared(FLAT.replace("VALUE", "x + y"), other)
    assert found.outcome == "violated"
    assert found.message == "z_ptr[3] differs"
    assert found.sizes["n"] > 3


def test_an_empty_grid_stores_nothing() -> None:
    plain = FLAT.replace("VALUE", "x + y")
    found = compared(plain, plain, (GRID, f"{EXTENTS}grid: n // B\n"))
    assert found.outcome == "violated"
    assert found.sizes["second grid.x"] < found.sizes["grid.x"]


def test_products_that_are_fused_in_one_kernel_only_are_a_difference() -> None:
    plain = FLAT.replace("VALUE", "x * y + x")
    assert compared(plain, plain, fuses=(True, False)).outcome == "violated"
    assert compared(plain, plain, fuses=(False, False)).outcome == "agrees"


def test_a_kernel_that_does_not_end_is_a_difference() -> None:
    found = compared(FLAT.replace("VALUE", "x"), ENDLESS)
    assert found.outcome == "violated"
    assert found.message.startswith("the second kernel does not end")


def test_items_of_a_tuple_are_different_arguments() -> None:
    body = """def kernel(x_ptr, z_ptr, t, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    m = o < n
    tl.store(z_ptr + o, tl.load(x_ptr + o, mask=m) * t[ITEM], mask=m)
"""
    types = {"x_ptr": "*fp32", "z_ptr": "*fp32", "t": ("fp32", "fp32"), "n": "i32"}
    contract = "x_ptr: n\nz_ptr: n\ngrid: cdiv(n, B)\n"
    names = ["x_ptr", "z_ptr", "t.0", "t.1", "n"]
    first, second = (body.replace("ITEM", number) for number in "01")
    members: dict[str, Any] = {"types": types, "names": names}
    assert compared(first, second, (contract, contract), **members).outcome == "violated"
    assert compared(first, first, (contract, contract), **members).outcome == "agrees"


def test_atomic_operations_are_refused() -> None:
    body = """def kernel(x_ptr, y_ptr, z_ptr, n, B: tl.constexpr):
    tl.atomic_add(z_ptr, 1.0)
"""
    assert "atomic" in report_of(body, body).refused

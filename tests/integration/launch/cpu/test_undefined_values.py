"""A lane without a value is a finding if the kernel's result depends on it, and only then."""

import pytest

from tests.integration.launch.child_runs import KERNELS, Buffer, out, run_kernel, uniform

pytestmark = pytest.mark.asyncio(loop_scope="session")


def numbers(*values, dtype="i32"):
    return Buffer((len(values),), dtype, {"kind": "values", "values": list(values)})


async def findings_of(device, kernel, arguments, *, grid=(1,), checks=(), **constexprs):
    ran = await run_kernel(
        device, "undefined.py", kernel, arguments, grid=grid, constexprs=constexprs, checks=checks
    )
    return ran.findings


def line_of(text, number=0):
    lines = (KERNELS / "undefined.py").read_text().splitlines()
    return [at for at, line in enumerate(lines, 1) if text in line][number]


def rows(n):
    return {"x_ptr": uniform(4, n), "out_ptr": out(4), "n": n}


async def test_a_sum_over_lanes_without_a_value_names_load_mask_and_sum(device):
    (found,) = await findings_of(device, "sums_rows", rows(12), grid=(4,), BLOCK=16)
    assert (found["kind"], found["access"]) == ("undefined_value", "read")
    assert found["line"] == line_of("x = tl.load(x_ptr + row * n + columns, mask=mask)")
    assert found["program"] == [0, 0, 0]
    for words in ("lane 12 of x", "its mask `mask` is false", "tl.sum at line", "other=0.0"):
        assert words in found["message"]


async def test_it_is_uninitialized_where_the_launch_asks(device):
    (found,) = await findings_of(
        device, "sums_rows", rows(12), grid=(4,), BLOCK=16, checks=["initcheck"]
    )
    assert found["kind"] == "uninitialized"


async def test_without_masked_lanes_there_is_no_finding(device):
    assert await findings_of(device, "sums_rows", rows(16), grid=(4,), BLOCK=16) == []


@pytest.mark.parametrize("n", [12, 15])
async def test_a_maximum_that_zeros_do_not_change_is_found(device, n):
    (found,) = await findings_of(device, "largest_of_rows", rows(n), grid=(4,), BLOCK=16)
    assert f"lane {n} of x has no value, as its mask is false there" in found["message"]
    assert "tl.max" in found["message"]
    assert "other=float('-inf')" in found["message"]


async def test_lanes_that_a_selection_leaves_out_are_no_finding(device):
    assert await findings_of(device, "sums_selected_rows", rows(12), grid=(4,), BLOCK=16) == []


async def test_lanes_that_only_a_masked_store_gets_are_no_finding(device):
    arguments = {"x_ptr": uniform(3, 5), "out_ptr": out(3, 5), "n": 3, "m": 5}
    assert await findings_of(device, "copies_rows", arguments, BLOCK=8) == []


async def test_an_assertion_about_lanes_that_are_not_stored_is_no_finding(device):
    arguments = {"x_ptr": uniform(12), "out_ptr": out(12), "n": 12}
    assert await findings_of(device, "asserts_of_all_lanes", arguments, BLOCK=16) == []


async def test_only_the_load_without_other_is_named(device):
    arguments = {"x_ptr": uniform(12), "y_ptr": uniform(12), "out_ptr": out(1), "n": 12}
    (found,) = await findings_of(device, "sums_products", arguments, BLOCK=16)
    assert found["line"] == line_of("x = tl.load(x_ptr + offsets, mask=offsets < n)")


async def test_an_active_address_from_a_lane_without_a_value_is_found(device):
    arguments = {
        "x_ptr": uniform(4), "indices_ptr": numbers(0, 1, 2), "out_ptr": out(4), "n": 3
    }  # fmt: skip
    (found,) = await findings_of(device, "follows_indices", arguments, BLOCK=4)
    assert (found["kind"], found["line"]) == ("undefined_value", line_of("index = tl.load(ind"))


async def test_a_loop_over_a_number_without_a_value_is_found(device):
    zeros = Buffer((1,), "i32", {"kind": "zeros"}, output=True)
    arguments = {"count_ptr": numbers(1), "out_ptr": zeros, "n": 0}
    (found,) = await findings_of(device, "turns_while", arguments)
    assert (found["kind"], found["line"]) == ("undefined_value", line_of("count = tl.load"))
    assert "does not end" in found["message"]


async def test_an_index_of_gather_out_of_range_is_out_of_bounds(device):
    arguments = {"x_ptr": uniform(4), "indices_ptr": numbers(0, 4, -1, 2), "out_ptr": out(4)}
    (found,) = await findings_of(device, "gathers", arguments, SIZE=4, COUNT=4)
    assert (found["kind"], found["line"]) == ("out_of_bounds", line_of("found = tl.load"))
    assert "lane 1" in found["message"]


async def test_an_index_of_gather_that_is_not_used_is_no_finding(device):
    arguments = {"x_ptr": uniform(8), "out_ptr": out(8)}
    assert await findings_of(device, "shifts", arguments, SIZE=8) == []


async def test_a_number_beyond_the_bins_of_histogram_is_out_of_bounds(device):
    arguments = {"x_ptr": numbers(0, 1, 3, 9), "out_ptr": out(4, dtype="i32")}
    (found,) = await findings_of(device, "counts", arguments, SIZE=4, BINS=4)
    assert (found["kind"], found["line"]) == ("out_of_bounds", line_of("tl.histogram"))
    inside = arguments | {"x_ptr": numbers(0, 1, 3, 3)}
    assert await findings_of(device, "counts", inside, SIZE=4, BINS=4) == []

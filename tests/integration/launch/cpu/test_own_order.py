"""Accesses of one program to one element: races where its threads keep no order."""

import pytest

from tests.integration.launch.child_runs import KERNELS, Buffer, out, run_kernel

pytestmark = pytest.mark.asyncio(loop_scope="session")

ZEROS = {"kind": "zeros"}
TAILS = {"x_ptr": Buffer((4, 16), "i32", {"kind": "arange"}), "out_ptr": out(4, 16, dtype="i32")}


async def findings(device, kernel, arguments, grid=(1,), **constexprs):
    ran = await run_kernel(
        device, "own_order.py", kernel, arguments, grid=grid, constexprs=constexprs,
        checks=["racecheck"],
    )  # fmt: skip
    assert ran.result["finished"] is True
    return ran.findings


def line_of(text):
    lines = (KERNELS / "own_order.py").read_text().splitlines()
    return next(n for n, line in enumerate(lines, 1) if text in line)


async def test_two_stores_of_one_program_at_different_positions(device):
    (found,) = await findings(
        device, "stores_the_tail_again", TAILS, grid=(4,), WIDE=16, TAIL=4
    )  # fmt: skip
    assert (found["kind"], found["scope"]) == ("race", "within_program")
    assert (found["argument"], found["index"]) == ("out_ptr", [0, 12])
    assert found["line"] == line_of("tl.load(x_ptr + tail) + 1")
    assert f"which line {line_of('tl.load(x_ptr + lanes))')} wrote" in found["message"]


async def test_a_barrier_orders_them(device):
    kernel = "stores_the_tail_after_a_barrier"
    assert await findings(device, kernel, TAILS, grid=(4,), WIDE=16, TAIL=4) == []


async def test_a_sum_between_them_orders_them_only_today(device):
    kernel = "stores_the_tail_after_a_sum"
    (found,) = await findings(device, kernel, TAILS, grid=(4,), WIDE=16, TAIL=4)
    assert (found["kind"], found["scope"]) == ("warning", "within_program")
    assert "in what Triton compiles today" in found["message"]


@pytest.mark.parametrize(("step", "kinds"), [(8, []), (4, ["race"])])
async def test_rounds_of_a_loop_that_overlap(device, step, kinds):
    arguments = {"out_ptr": Buffer((32,), "i32", ZEROS, output=True)}
    met = await findings(device, "stores_each_round", arguments, STEP=step, BLOCK=8)
    assert [found["kind"] for found in met] == kinds


async def test_the_same_positions_belong_to_the_same_threads(device):
    arguments = {"x_ptr": Buffer((64,), "i32", {"kind": "arange"}, output=True)}
    assert await findings(device, "stores_in_place_twice", arguments, grid=(4,), BLOCK=16) == []


async def test_a_store_that_is_read_at_another_position(device):
    arguments = {"scratch_ptr": out(16, dtype="i32"), "out_ptr": out(16, dtype="i32")}
    (found,) = await findings(device, "reads_reversed", arguments, BLOCK=16)
    assert (found["kind"], found["access"], found["scope"]) == (
        "warning", "read", "within_program",
    )  # fmt: skip
    assert "tl.debug_barrier()" in found["message"]


async def test_a_store_and_an_atomic_at_another_position(device):
    arguments = {"out_ptr": Buffer((16,), "i32", {"kind": "full", "value": 3}, output=True)}
    (found,) = await findings(device, "zeroes_then_adds", arguments, BLOCK=16)
    assert (found["kind"], found["line"]) == ("race", line_of("lanes // 2, 1"))


@pytest.mark.parametrize(
    ("back", "stages", "kinds"),
    [(0, 2, ["race"]), (0, 1, []), (-1, 2, ["race"]), (-2, 2, []), (-2, 3, ["race"]), (-3, 3, [])],
)
async def test_a_pipelined_loop_that_loads_what_it_stores(device, back, stages, kinds):
    x = Buffer((11, 16), "i32", ZEROS, output=True)
    arguments = {"x_ptr": x, "out_ptr": out(8, 16, dtype="i32")}
    sizes = {"BACK": -back, "STAGES": stages}
    met = await findings(device, "loads_what_it_stored", arguments, **sizes)
    assert [found["kind"] for found in met] == kinds
    for found in met:
        line = line_of("tl.load(x_ptr + i * 16 + lanes))")
        assert (found["line"], found["access"]) == (line, "read")
        assert f"(num_stages={stages})" in found["message"]


async def test_a_loop_with_a_barrier_is_not_pipelined(device):
    x = Buffer((8, 16), "i32", ZEROS, output=True)
    arguments = {"x_ptr": x, "out_ptr": out(8, 16, dtype="i32")}
    assert await findings(device, "loads_what_it_stored_after_a_barrier", arguments) == []

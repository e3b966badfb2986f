"""Conflicting programs are reported as a race; ordered or agreeing ones are not."""

import numpy as np
import pytest

from tests.integration.launch.child_runs import (
    KERNELS,
    Buffer,
    View,
    out,
    run_kernel,
)

pytestmark = pytest.mark.asyncio(loop_scope="session")

ZEROS = {"kind": "zeros"}
NUMBERS = Buffer((16,), "i32", {"kind": "arange"})


def zeros(*shape, dtype="i32", **more):
    return Buffer(shape, dtype, ZEROS, output=True, **more)


async def run(device, kernel, arguments, *, grid=(4,), check="racecheck", **constexprs):
    return await run_kernel(
        device, "racing.py", kernel, arguments, grid=grid, constexprs=constexprs, checks=[check]
    )


def line_of(text, number=0):
    lines = (KERNELS / "racing.py").read_text().splitlines()
    return [n for n, line in enumerate(lines, 1) if text in line][number]


async def test_two_programs_write_different_values_to_one_element(device):
    ran = await run(device, "writes_its_number", {"out_ptr": out(2, 2, dtype="i32")})
    (found,) = ran.findings
    line = line_of("tl.store(out_ptr + 2")
    assert (found["kind"], found["access"], found["line"]) == ("race", "write", line)
    assert (found["argument"], found["index"]) == ("out_ptr", [1, 0])
    assert found["program"] == [1, 0, 0]
    assert found["message"].startswith(
        "program (1, 0, 0) writes out_ptr[1, 0], which program (0, 0, 0) writes at line "
        f"{line}: programs run in any order, so either write may come last."
    )
    assert ran.result["finished"] is True


async def test_programs_that_add_to_an_element_that_nothing_filled(device):
    """NaN plus one is the same NaN, so the value does not show the write."""
    ran = await run(device, "adds_without_atomics", {"out_ptr": out(1)}, grid=(16,))
    assert [found["kind"] for found in ran.findings] == ["undefined_value", "race"]
    unwritten, race = ran.findings
    assert (unwritten["line"], unwritten["program"]) == (
        line_of("old = tl.load(out_ptr)"),
        [0, 0, 0],
    )
    assert "reads out_ptr[0] before it is written" in unwritten["message"]
    assert (race["line"], race["program"]) == (line_of("old = tl.load(out_ptr)"), [1, 0, 0])


@pytest.mark.parametrize("grid", [1, 16])
async def test_programs_that_read_elements_of_their_own_before_they_are_written(device, grid):
    arguments = {"out_ptr": out(64)}
    ran = await run(device, "adds_in_place", arguments, grid=(grid,), BLOCK=4)
    (found,) = ran.findings
    assert (found["kind"], found["index"]) == ("undefined_value", [0])
    assert ran.result["finished"] is True
    checked = await run(device, "adds_in_place", arguments, check="initcheck", BLOCK=4)
    assert [found["kind"] for found in checked.findings] == ["uninitialized"]
    filled = await run(device, "adds_in_place", {"out_ptr": zeros(64, dtype="fp32")}, BLOCK=4)
    assert filled.findings == []


async def test_blocks_that_overlap_by_one_element(device):
    arguments = {"x_ptr": NUMBERS, "out_ptr": out(16, dtype="i32")}
    ran = await run(device, "overlaps", arguments, STEP=3, BLOCK=4)
    assert [(found["kind"], found["index"]) for found in ran.findings] == [("race", [3])]
    assert (await run(device, "overlaps", arguments, STEP=4, BLOCK=4)).findings == []


async def test_an_element_that_is_read_before_another_program_writes_it(device):
    ran = await run(device, "shifts_in_place", {"x_ptr": zeros(17)}, BLOCK=4)
    assert ran.findings == []  # it writes the value that was there
    numbers = Buffer((17,), "i32", {"kind": "arange"}, output=True)
    ran = await run(device, "shifts_in_place", {"x_ptr": numbers}, BLOCK=4)
    (found,) = ran.findings
    assert (found["access"], found["index"], found["program"]) == ("write", [4], [1, 0, 0])
    assert "which program (0, 0, 0) reads at line" in found["message"]


async def test_an_element_that_is_read_after_another_program_wrote_it(device):
    arguments = {"x_ptr": zeros(16), "out_ptr": out(16, dtype="i32")}
    ran = await run(device, "reads_its_neighbour", arguments, BLOCK=4)
    within, found = ran.findings
    assert (within["kind"], within["scope"]) == ("warning", "within_program")
    assert (found["access"], found["argument"], found["index"]) == ("read", "x_ptr", [3])
    assert found["line"] == line_of("before = tl.load")
    assert f"which program (0, 0, 0) writes at line {found['line'] - 1}" in found["message"]
    assert "the read may come before or after the write" in found["message"]


async def test_a_sum_over_programs_without_atomics(device):
    ran = await run(device, "adds_up", {"x_ptr": NUMBERS, "out_ptr": zeros(1)}, BLOCK=4)
    assert {found["kind"] for found in ran.findings} == {"race"}
    assert "tl.atomic_add" in ran.findings[0]["message"]


async def test_lanes_of_one_store_that_meet(device):
    arguments = {"x_ptr": NUMBERS, "out_ptr": out(8, dtype="i32")}
    ran = await run(device, "lanes_meet", arguments, grid=(1,), BLOCK=16)
    (found,) = ran.findings
    assert (found["kind"], found["index"]) == ("race", [0])
    assert "writes different values to out_ptr[0] in one store" in found["message"]


async def test_a_plain_read_beside_atomic_additions(device):
    arguments = {"count_ptr": zeros(1), "out_ptr": out(4, dtype="i32")}
    ran = await run(device, "adds_atomically_and_reads", arguments)
    assert [(found["access"], found["argument"]) for found in ran.findings] == [
        ("write", "count_ptr"), ("read", "count_ptr"),
    ]  # fmt: skip


async def test_aliases_are_one_memory(device):
    arguments = {
        "x_ptr": Buffer((16,), "i32", {"kind": "arange"}, output=True),
        "out_ptr": View("x_ptr", (8,), offset=8, output=True),
    }
    assert (await run(device, "overlaps", arguments, STEP=2, BLOCK=2)).findings == []
    ran = await run(device, "overlaps", arguments, grid=(5,), STEP=2, BLOCK=2)
    assert (ran.findings[0]["argument"], ran.findings[0]["index"]) == ("x_ptr", [8])
    assert ran.findings[0]["program"] == [4, 0, 0]


async def test_bytes_of_one_element_are_apart(device):
    ran = await run(device, "writes_bytes", {"out_ptr": zeros(1)})
    assert ran.findings == []
    assert ran.output("out_ptr").view(np.uint8).tolist() == [0, 1, 2, 3]


GOOD = {
    "writes_the_same": {"out_ptr": out(4, dtype="i32")},
    "adds_up_atomically": {"x_ptr": NUMBERS, "out_ptr": zeros(1)},
    "adds_up_under_a_lock": {"x_ptr": NUMBERS, "out_ptr": zeros(1), "lock_ptr": zeros(1)},
    "the_last_one_adds_up": {
        "x_ptr": NUMBERS, "parts_ptr": zeros(4), "count_ptr": zeros(1), "out_ptr": zeros(1),
    },
}  # fmt: skip


@pytest.mark.parametrize("kernel", GOOD)
async def test_what_is_ordered_or_agrees_is_no_race(device, kernel):
    constexprs = {} if kernel == "writes_the_same" else {"BLOCK": 4}
    ran = await run(device, kernel, GOOD[kernel], **constexprs)
    assert ran.findings == []
    if "x_ptr" in GOOD[kernel]:
        assert ran.output("out_ptr").tolist() == [120]


async def test_the_second_run_of_determinism_takes_programs_in_the_opposite_order(device):
    arguments = {"out_ptr": out(2, 2, dtype="i32")}
    ran = await run(device, "writes_its_number", arguments, check="determinism")
    assert ran.result["deterministic"] is False
    (found,) = ran.findings
    assert (found["kind"], found["argument"], found["index"]) == (
        "nondeterministic", "out_ptr", [1, 0],
    )  # fmt: skip
    assert "programs in the opposite order" in found["message"]


async def test_integers_that_are_added_in_any_order_are_deterministic(device):
    arguments = {"x_ptr": NUMBERS, "out_ptr": zeros(1)}
    ran = await run(device, "adds_up_atomically", arguments, check="determinism", BLOCK=4)
    assert ran.result["deterministic"] is True


async def test_programs_that_wait_for_those_before_them_run_twice_in_order(device):
    arguments = {"flags_ptr": zeros(4), "out_ptr": out(4, dtype="i32")}
    ran = await run(device, "waits_for_its_predecessor", arguments, check="determinism")
    assert ran.result["deterministic"] is True
    assert ran.output("out_ptr").tolist() == [0, 1, 2, 3]


async def test_an_atomic_whose_value_is_unused_orders_nothing(device):
    arguments = {"count_ptr": zeros(1)}
    ran = await run(device, "overwrites_what_others_count", arguments, LAST=3)
    (found,) = ran.findings
    line = line_of("tl.store(count_ptr, 5)")
    assert (found["kind"], found["scope"], found["line"]) == ("race", "between_programs", line)


async def test_an_atomic_whose_value_decides_nothing_orders_nothing(device):
    arguments = {"flag_ptr": zeros(1), "data_ptr": zeros(1), "out_ptr": zeros(1)}
    ran = await run(device, "publishes_without_asking", arguments)
    assert [(found["kind"], found["argument"]) for found in ran.findings] == [("race", "data_ptr")]


async def test_a_race_that_only_another_order_of_programs_shows(device):
    arguments = {"count_ptr": zeros(1), "out_ptr": zeros(1)}
    ran = await run(device, "writes_if_overtaken", arguments)
    (found,) = ran.findings
    assert (found["kind"], found["argument"], found["program"]) == ("race", "out_ptr", [2, 0, 0])
    assert found["message"].endswith("(Seen with the programs in the opposite order.)")
    assert ran.output("out_ptr").tolist() == [0]  # as in the first run


async def test_a_ticket_that_masks_the_accesses_orders_them(device):
    arguments = {"count_ptr": zeros(1), "data_ptr": zeros(4), "out_ptr": zeros(1)}
    ran = await run(device, "masks_by_ticket", arguments)
    assert ran.findings == []
    assert ran.output("out_ptr").tolist() == [6]


async def test_atomics_within_a_program_that_two_programs_make(device):
    arguments = {"count_ptr": zeros(16)}
    sizes = {"STEP": 2, "BLOCK": 4}
    ran = await run(device, "counts_within_its_program", arguments, **sizes)
    (found,) = ran.findings
    assert (found["kind"], found["scope"], found["index"]) == ("warning", "between_programs", [2])
    assert "Leave out scope" in found["message"]


async def test_atomics_within_a_program_on_its_own_elements(device):
    arguments = {"count_ptr": zeros(16)}
    ran = await run(device, "counts_within_its_program", arguments, STEP=4, BLOCK=4)
    assert ran.findings == []
    assert ran.output("count_ptr").tolist() == [1] * 16

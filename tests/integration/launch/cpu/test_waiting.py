"""Programs that wait for each other go on in turns; a deadlock is a finding at its lines."""

import numpy as np
import pytest

from tests.integration.launch.child_runs import KERNELS, Buffer, out, run_kernel

pytestmark = pytest.mark.asyncio(loop_scope="session")


def zeros(count, dtype="i32", **more):
    return Buffer((count,), dtype, {"kind": "zeros"}, **more)


def ones(count):
    return Buffer((count,), "fp32", {"kind": "ones"})


async def run(device, kernel, arguments, *, grid, checks=(), **constexprs):
    return await run_kernel(
        device, "waiting.py", kernel, arguments, grid=grid, checks=checks, constexprs=constexprs
    )


def lines_of(text):
    lines = (KERNELS / "waiting.py").read_text().splitlines()
    return [number for number, line in enumerate(lines, 1) if text in line]


@pytest.mark.parametrize("checks", [(), ("racecheck", "initcheck")])
async def test_programs_wait_for_later_ones(device, checks):
    arguments = {"x_ptr": ones(40), "flags_ptr": zeros(40), "z_ptr": out(40)}
    ran = await run(device, "waits_for_the_next", arguments, grid=(40,), checks=checks)
    assert ran.findings == []
    assert ran.output("z_ptr").tolist() == list(range(40, 0, -1))


async def test_all_programs_meet_at_a_barrier(device):
    rising = Buffer((8 * 16,), "fp32", {"kind": "arange"})
    arguments = {"x_ptr": rising, "count_ptr": zeros(1), "z_ptr": out(8 * 16)}
    ran = await run(
        device, "meets_at_a_barrier", arguments, grid=(8,), checks=("racecheck",), BLOCK=16
    )
    assert ran.findings == []
    expected = 2 * np.arange(8 * 16).reshape(8, 16)[::-1]
    assert np.array_equal(ran.output("z_ptr").reshape(8, 16), expected)


async def test_programs_that_wait_for_each_other_are_a_deadlock_at_both_lines(device):
    arguments = {"flags_ptr": zeros(2), "z_ptr": out(2)}
    (found,) = (await run(device, "wait_for_each_other", arguments, grid=(2,))).findings
    first, second = lines_of("while tl.atomic_add(flags_ptr")[-2:]
    assert (found["kind"], found["line"], found["argument"]) == ("deadlock", first, "flags_ptr")
    assert (
        f"program (0, 0, 0) waits at line {first} for a value of flags_ptr[1]" in found["message"]
    )
    assert (
        f"program (1, 0, 0) waits at line {second} for a value of flags_ptr[0]" in found["message"]
    )


async def test_a_lock_that_is_never_released_is_a_deadlock(device):
    arguments = {"lock_ptr": zeros(1), "z_ptr": zeros(1, "fp32", output=True)}
    (found,) = (await run(device, "keeps_its_lock", arguments, grid=(3,))).findings
    assert (found["kind"], found["line"]) == ("deadlock", lines_of("atomic_cas(lock_ptr")[0])


async def test_a_loop_that_reads_nothing_is_endless_and_no_deadlock(device):
    (found,) = (await run(device, "never_counts", {"z_ptr": out(1)}, grid=(2,))).findings
    assert (found["kind"], found["line"]) == ("endless_loop", lines_of("while i < 2")[0])
    assert "does not end in program (0, 0, 0)" in found["message"]


async def test_a_program_that_gives_up_is_no_deadlock(device):
    arguments = {"flags_ptr": zeros(1), "z_ptr": out(2)}
    ran = await run(device, "gives_up", arguments, grid=(2,))
    assert ran.findings == []
    assert ran.output("z_ptr").tolist() == [3000, 3000]


async def test_a_program_that_polls_lets_the_others_go_on(device):
    ran = await run(device, "polls", {"flags_ptr": zeros(1), "z_ptr": out(2)}, grid=(2,))
    assert (ran.findings, ran.output("z_ptr").tolist()) == ([], [1, 1])

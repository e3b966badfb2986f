"""Findings of compute-sanitizer and ncu have an argument, an element and a line."""

import asyncio
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.gpu.bound import ONES, Bound, vector_add
from tests.gpu.builds import SOURCE
from tests.gpu.conftest import a_command
from worker.gpu.supervisor.launchers import Launchers, LauncherSettings
from worker.gpu.tools.installed_tools import find_tools

LIMIT_S = 60.0


@pytest.fixture
def examine(figure):
    """Return a function that runs a job under a tool; afterwards the GPU must be healthy."""

    def run(job, tool, limit_s=LIMIT_S, environment=None):
        async def examined():
            command = a_command()
            command = replace(command, environment={**command.environment, **(environment or {})})
            launchers = Launchers([0], command, LauncherSettings(spares=1))
            await launchers.start()
            try:
                started = asyncio.get_running_loop().time()
                found = await launchers.run_under_tool(0, job, tool, limit_s=limit_s)
                figure(f"{tool}: {asyncio.get_running_loop().time() - started:.2f} s")
                await launchers.run(0, vector_add(elements=1000), caller="ada", deadline_s=30)
                assert launchers.devices[0].cordoned is None
                return found
            finally:
                await launchers.close()

        return asyncio.run(examined())

    return run


def line_of(kernel, text):
    """Return the first line with `text` at or after the definition of `kernel`."""
    lines = SOURCE.read_text().splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith(f"def {kernel}("))
    return next(index + 1 for index, line in enumerate(lines) if index >= start and text in line)


def store_at(index):
    bound = Bound().buffer("output_ptr", "fp32", [8], output=True)
    return bound.scalar("index", index, "i32").job("store_at")


def test_the_tools_of_this_machine_are_found(figure):
    tools = find_tools(a_command().environ())
    figure(f"{tools}")

    assert tools.names == ["memcheck", "racecheck", "initcheck", "profile"]


@pytest.mark.parametrize("index", [8, -1, 1 << 18, 1 << 23])
def test_memcheck_names_the_element_outside(examine, index):
    (found,) = examine(store_at(index), "memcheck").findings

    assert (found["kind"], found["access"]) == ("out_of_bounds", "write")
    assert (found["argument"], found["index"]) == ("output_ptr", [index])
    assert (found["file"], found["line"]) == ("user.py", line_of("store_at", "tl.store"))
    assert found["program"] == [0, 0, 0]


def test_memcheck_names_the_argument_that_is_read_past_its_end(examine):
    bound = Bound().buffer("x_ptr", "fp32", [1000], ONES).buffer("y_ptr", "fp32", [1024], ONES)
    bound.buffer("output_ptr", "fp32", [1024], output=True).scalar("n_elements", 1024, "i32")

    (found,) = examine(bound.job("add"), "memcheck").findings

    assert (found["access"], found["argument"], found["index"]) == ("read", "x_ptr", [1000])


def test_memcheck_finds_an_access_near_no_argument(examine):
    bound = Bound().buffer("output_ptr", "fp32", [8], output=True)
    (found,) = examine(bound.scalar("distance", 1 << 40, "i64").job("store_far"),
                       "memcheck").findings  # fmt: skip

    assert (found["kind"], found["argument"]) == ("illegal_access", None)
    assert found["line"] == line_of("store_far", "tl.store")


def test_memcheck_finds_a_misaligned_store(examine):
    job = Bound().buffer("output_ptr", "fp32", [8], output=True).job("misaligned")
    (found,) = examine(job, "memcheck").findings

    assert found["kind"] == "misaligned_access"
    assert "byte 1 of output_ptr" in found["message"]


def test_initcheck_finds_reads_of_unwritten_memory(examine):
    bound = Bound().buffer("x_ptr", "fp32", [8], output=True)
    job = bound.buffer("output_ptr", "fp32", [1], output=True).job("read_unwritten")
    (found,) = examine(job, "initcheck").findings

    assert (found["kind"], found["argument"], found["index"]) == ("uninitialized", "x_ptr", [3])


def test_racecheck_finds_races_in_shared_memory(examine):
    job = Bound().buffer("output_ptr", "i32", [128], output=True).job("race_in_shared")
    (found,) = examine(job, "racecheck").findings

    begin = line_of("race_in_shared", "inline_asm")
    end = line_of("race_in_shared", "dtype=tl.int32")
    assert (found["kind"], found["access"]) == ("race", "write")
    assert begin <= found["line"] <= end  # the compiler decides where in the assembly
    assert "the read in line" in found["message"]


@pytest.mark.parametrize("tool", ["memcheck", "racecheck", "initcheck"])
def test_a_good_kernel_is_accused_of_nothing(examine, tool):
    examined = examine(vector_add(), tool)

    assert (examined.findings, examined.incomplete) == ([], None)


@pytest.mark.parametrize("tool", ["memcheck", "racecheck"])
def test_a_pipelined_matmul_is_accused_of_nothing(examine, tool):
    bound = Bound().buffer("a_ptr", "fp16", [128, 256], ONES)
    bound.buffer("b_ptr", "fp16", [256, 128], ONES)
    bound.buffer("c_ptr", "fp32", [128, 128], output=True).scalar("K", 256, "i32")
    examined = examine(bound.job("matmul_much_shared"), tool)

    assert (examined.findings, examined.incomplete) == ([], None)


@pytest.mark.parametrize("build", ["add_cluster", "add_cooperative", "add_pdl"])
def test_every_way_to_launch_can_be_watched(examine, build):
    examined = examine(vector_add(build), "memcheck")

    assert (examined.findings, examined.incomplete) == ([], None)


@pytest.mark.parametrize("tool", ["memcheck", "racecheck", "initcheck"])
def test_tensor_maps_can_be_watched(examine, tool):
    bound = Bound().descriptor("source", "fp16", [128, 64], [64, 32], ONES)
    bound.buffer("output_ptr", "fp16", [64, 32], output=True)
    bound.scalar("row", 32, "i32").scalar("column", 16, "i32")
    examined = examine(bound.job("copy_tile_fp16"), tool)

    assert (examined.findings, examined.incomplete) == ([], None)


def test_scratch_can_be_watched(examine):
    bound = Bound().buffer("x_ptr", "fp16", [128, 32], ONES)
    bound.buffer("output_ptr", "fp16", [128, 32], output=True)
    bound.scalar("rows", 128, "i32").scalar("columns", 32, "i32")
    examined = examine(bound.job("device_descriptor", (2, 1, 1)), "memcheck")

    assert (examined.findings, examined.incomplete) == ([], None)


def test_an_endless_kernel_is_ended_with_its_tool(examine):
    bound = Bound().buffer("x_ptr", "i32", [1], {"kind": "zeros"})
    job = bound.buffer("output_ptr", "i32", [1], output=True).job("endless")
    mark = f"TRITOND_TEST_MARK={os.urandom(8).hex()}"

    examined = examine(job, "memcheck", limit_s=4, environment=dict([mark.split("=")]))

    assert "within 4 s" in examined.incomplete
    until = time.monotonic() + 5
    while left := [path for path in Path("/proc").glob("[0-9]*/environ") if has(path, mark)]:
        assert time.monotonic() < until, left
        time.sleep(0.05)


def has(environ, mark):
    """Return whether a process exists and has `mark` in its environment."""
    try:
        return mark.encode() in environ.read_bytes()
    except OSError:
        return False


@pytest.mark.usefixtures("counters")
def test_a_profile_has_the_numbers_of_the_run(examine, figure):
    profile = examine(vector_add(), "profile").profile
    figure(f"{profile}")

    assert profile["dram_read_bytes"] > 0.9 * 2 * 4 * 98_432
    assert 1 < profile["duration_us"] < 100
    assert 0 < profile["achieved_occupancy_percent"] <= 100
    assert profile["registers"] > 0
    assert profile["l2_hit_percent"] is not None
    assert len(profile["stalls"]) == 3

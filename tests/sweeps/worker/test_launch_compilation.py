"""Launches that are equal to a GPU, beyond their machine code."""

from compiler.specialization import Specialization
from launch.request.launch_request import LaunchRequest
from launch.request.launch_resolution import resolve_launch
from sweeps.worker.launch_compilation import launching
from worker.launch.run import PreparedRun

BUFFER = {"shape": [1000], "dtype": "fp32", "init": {"kind": "uniform", "seed": 1}}


def launched(grid, block=64, **arguments):
    """Return the launch parameters of a kernel with a constexpr BLOCK."""
    arguments = {"x": BUFFER, "n": 1000} | arguments
    body = {"compilation_key": "0" * 64, "grid": grid, "arguments": arguments}
    [case] = resolve_launch(LaunchRequest.model_validate(body)).cases
    run = PreparedRun("kernel", case.bound, [1, 1, 1], {"BLOCK": block}, Specialization())
    return launching(run, case)


def test_equal_grids_are_equal_however_they_are_written():
    assert launched(["cdiv(n, BLOCK)"]) == launched([16])


def test_a_constexpr_that_changes_the_grid_alone_makes_another_launch():
    assert launched(["cdiv(n, BLOCK)"], block=64) != launched(["cdiv(n, BLOCK)"], block=128)


def test_a_constexpr_that_the_grid_does_not_hang_on_makes_none():
    assert launched([16], block=64) == launched([16], block=128)


def test_grids_are_not_equal_for_being_equal_on_one_multiprocessor():
    grid = ["min(NUM_SMS, cdiv(n, BLOCK))"]

    assert launched(grid, block=64) != launched(grid, block=512)
    assert launched(grid, block=64) == launched(grid, block=64)


def test_a_grid_that_is_negative_on_one_multiprocessor_is_no_fault():
    assert launched(["NUM_SMS - 4"]) == launched(["NUM_SMS - 4"])


def test_other_arguments_make_another_launch():
    assert launched([16]) != launched([16], n=999)
    assert launched([16]) != launched([16], x=BUFFER | {"init": {"kind": "ones"}})

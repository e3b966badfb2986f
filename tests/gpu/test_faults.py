"""Faulty kernels: every fault has a name, is found at once, and does not affect the next launch."""

import time

import numpy as np
import pytest

from tests.gpu.bound import ONES, Bound, vector_add
from tests.gpu.builds import read_build
from worker.gpu.launcher.launcher_order import LauncherOrder
from worker.gpu.supervisor.launcher_protocol import LaunchEnding


def store_at(index, elements=8, dtype="fp32"):
    bound = Bound().buffer("output_ptr", dtype, [elements], output=True)
    build = "store_at" if dtype == "fp32" else "store_at_fp16"
    return bound.scalar("index", index, "i32").job(build)


def fault(outcome):
    assert outcome.ending is LaunchEnding.FAULT, outcome
    return outcome.fault["kind"]


def findings(outcome):
    assert outcome.ending is LaunchEnding.OK, outcome
    return [(one["kind"], one["argument"], one["index"]) for one in outcome.result["findings"]]


def test_a_store_one_element_past_the_end_faults(launch, figure):
    started = time.monotonic()
    outcome = launch(store_at(8), after=False)
    figure(f"{time.monotonic() - started:.2f} s with a launcher's start")

    assert fault(outcome) == "illegal_access"
    assert outcome.fault["error"] == "CUDA_ERROR_ILLEGAL_ADDRESS"
    assert not outcome.clean


def test_the_next_launch_after_a_fault_is_fine(launch):
    assert fault(launch(store_at(8))) == "illegal_access"


def test_the_last_element_is_not_past_the_end(launch):
    assert findings(launch(store_at(7))) == []


def test_a_load_past_the_end_faults(launch):
    bound = Bound().buffer("x_ptr", "fp32", [1024], ONES).buffer("output_ptr", "fp32", [1],
                                                                 output=True)  # fmt: skip

    assert fault(launch(bound.scalar("index", 1024, "i32").job("load_at"))) == "illegal_access"


@pytest.mark.parametrize("distance", [1 << 22, -(1 << 22), 1 << 40])
def test_a_store_far_away_faults(launch, distance):
    bound = Bound().buffer("output_ptr", "fp32", [8], output=True)

    outcome = launch(bound.scalar("distance", distance, "i64").job("store_far"))

    assert fault(outcome) == "illegal_access"


def test_a_store_into_the_slack_behind_an_odd_size_is_found(launch):
    # 5 elements of fp16 are 10 bytes; the hint of 16 leaves 6 bytes before the unmapped page
    assert findings(launch(store_at(5, 5, "fp16"))) == [("out_of_bounds", "output_ptr", [5])]


def test_a_store_before_the_start_is_found(launch):
    assert findings(launch(store_at(-1))) == [("out_of_bounds", "output_ptr", [-1])]


def test_a_misaligned_store_has_its_name(launch):
    job = Bound().buffer("output_ptr", "fp32", [8], output=True).job("misaligned")

    assert fault(launch(job)) == "misaligned_access"


def test_a_trap_is_a_crash(launch):
    outcome = launch(Bound().buffer("output_ptr", "i32", [1], output=True).job("trapped"))

    assert fault(outcome) == "crashed"
    assert "CUDA_ERROR" in outcome.fault["message"]


def test_an_assertion_has_its_name_and_its_text(launch):
    outcome = launch(Bound().buffer("x_ptr", "fp32", [1], {"kind": "zeros"}).job("assertion"))

    assert fault(outcome) == "assertion_failed"
    assert b"x must be positive" in outcome.stdout


def test_an_assertion_that_holds_is_none(launch):
    outcome = launch(Bound().buffer("x_ptr", "fp32", [1], ONES).job("assertion"))

    assert outcome.ending is LaunchEnding.OK


def endless():
    bound = Bound().buffer("x_ptr", "i32", [1], {"kind": "zeros"})
    return bound.buffer("output_ptr", "i32", [1], output=True).job("endless")


def test_an_endless_kernel_is_killed_at_its_deadline(launch, figure):
    started = time.monotonic()
    outcome = launch(endless(), deadline_s=1.0)
    figure(f"{time.monotonic() - started:.2f} s with two launchers' starts, health and a next one")

    assert outcome.ending is LaunchEnding.DEADLINE
    assert outcome.stages[-1] == "run"


def test_too_much_shared_memory_does_not_fit(launch):
    bound = Bound().buffer("a_ptr", "fp16", [256, 256], ONES)
    bound.buffer("b_ptr", "fp16", [256, 128], ONES)
    bound.buffer("c_ptr", "fp32", [256, 128], output=True).scalar("K", 256, "i32")

    outcome = launch(bound.job("matmul_too_much_shared"))

    assert fault(outcome) == "does_not_fit"
    assert "393216 bytes of shared memory" in outcome.fault["message"]
    assert outcome.clean


def test_a_grid_beyond_the_limits_does_not_fit(launch):
    bound = Bound().buffer("output_ptr", "fp32", [1], output=True).scalar("index", 0, "i32")

    assert fault(launch(bound.job("store_at", (1, 70_000, 1)))) == "does_not_fit"


def test_a_cooperative_grid_that_cannot_be_resident_does_not_fit(launch):
    assert fault(launch(vector_add("add_cooperative", elements=20_000_000))) == "does_not_fit"


def test_arguments_that_are_larger_than_the_memory_are_out_of_memory(launch):
    bound = Bound().buffer("output_ptr", "fp32", [10**12], output=True).scalar("index", 0, "i32")

    outcome = launch(bound.job("store_at"))

    assert fault(outcome) == "out_of_memory"
    assert outcome.clean


def test_bytes_that_are_no_cubin_are_not_loadable(launch):
    _, abi = read_build("add")
    good = vector_add()

    outcome = launch(LauncherOrder(b"\x7fELF nonsense" * 50, abi, good.grid, good.allocations,
                               good.arguments))  # fmt: skip

    assert outcome.ending is LaunchEnding.FAILURE
    assert outcome.failure["slug"] == "module_not_loadable"


def test_arguments_that_the_kernel_does_not_take_are_refused(launch):
    outcome = launch(Bound().buffer("x_ptr", "fp32", [8], ONES).job("add"))

    assert outcome.ending is LaunchEnding.FAILURE
    assert outcome.failure["slug"] == "malformed_job"
    assert "y_ptr" in outcome.failure["message"]


def test_memory_of_an_earlier_launch_is_not_seen(launch):
    secret = Bound().buffer("x_ptr", "fp32", [500_000], {"kind": "full", "value": 7.0})
    secret.buffer("output_ptr", "fp32", [1], output=True).scalar("index", 0, "i32")
    curious = Bound().buffer("x_ptr", "fp32", [16], ONES)
    curious.buffer("output_ptr", "fp32", [1024], output=True).scalar("distance", 8192, "i32")

    outcome = launch(secret.job("load_at"), curious.job("peek_before"))

    assert outcome.ending is LaunchEnding.OK
    assert not (np.frombuffer(bytes(outcome.outputs["output_ptr"]), np.float32) == 7.0).any()

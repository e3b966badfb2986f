"""Findings from comparing a timing with the device's peak."""

from launch.checks.roofline import Ceilings
from launch.request.bound_arguments import BoundArguments
from launch.request.launch_record import Timing
from tests.unit.worker.launch.gpu.test_gpu_findings import launched
from worker.launch.gpu.gpu_run import check_roofline
from worker.launch.run import RunResult

CEILINGS = Ceilings(memory_bytes_per_s=4e12, l2_bytes_per_s=2e13, launch_us=2.6996,
                    l2_bytes=60 << 20, flops_per_s={})  # fmt: skip
TIMING = Timing(median_us=8.0, mean_us=8.0, min_us=7.0, p20_us=7.5, p80_us=8.5, std_us=0.2,
                repeats=50, noisy=False)  # fmt: skip


def seen(ceilings):
    result = RunResult(timing=TIMING)
    bound = BoundArguments(allocations=[], arguments={})
    check_roofline(result, launched(), bound, ceilings)
    return result.timing


def test_what_events_add_is_reported_and_subtracted_from_nothing():
    timing = seen(CEILINGS)

    assert timing.overhead_us == 2.7
    assert timing.median_us == TIMING.median_us


def test_nothing_is_reported_where_a_device_was_not_measured():
    assert seen(None) == TIMING

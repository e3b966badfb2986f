"""Reports of ncu's raw page, parsed."""

import pytest

from worker.gpu.tools.profile_report import METRICS, NoProfile, read

NAMES = [
    "ID", "gpu__time_duration.sum", "dram__bytes_read.sum", "launch__registers_per_thread",
    "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio",
]  # fmt: skip
VALUES = ["0", "2,464", "790,784", "26", "15.88", "1.15"]


def table(*rows):
    return "\n".join(",".join(f'"{cell}"' for cell in row) for row in rows)


REPORT = "==PROF== Connected to process 1\n" + table(NAMES, [""] * len(NAMES), VALUES)


def test_numbers_are_read_in_our_units():
    profile = read(REPORT)

    assert profile["duration_us"] == 2.464
    assert profile["dram_read_bytes"] == 790_784
    assert profile["registers"] == 26


def test_the_worst_stalls_come_first():
    assert list(read(REPORT)["stalls"].items()) == [("long_scoreboard", 15.88), ("wait", 1.15)]


def test_values_that_ncu_does_not_report_are_null():
    assert read(REPORT)["l2_hit_percent"] is None


def test_counters_that_only_administrators_read_are_said_to_be_that():
    with pytest.raises(NoProfile, match="NVreg_RestrictProfilingToAdminUsers"):
        read("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission")


def test_counters_that_another_program_reads_are_said_to_be_that():
    with pytest.raises(NoProfile, match="another program reads this GPU's performance counters"):
        read(
            "==ERROR== Profiling failed because a driver resource was unavailable. Ensure that no "
            "other tool (like DCGM) is concurrently collecting profiling data.\n"
            "==ERROR== The application returned an error code (9).\n"
        )


def test_a_report_without_a_kernel_says_what_ncu_said():
    with pytest.raises(NoProfile, match="No kernels were profiled"):
        read("==PROF== Connected\n==WARNING== No kernels were profiled.\n")


def test_every_metric_is_asked_for_once():
    asked = METRICS.split(",")

    assert len(asked) == len(set(asked))

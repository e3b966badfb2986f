"""ncu's counters per instruction, parsed from its source page."""

from pathlib import Path

import pytest

from worker.gpu.tools import source_counters
from worker.gpu.tools.profile_report import NoProfile
from worker.gpu.tools.source_counters import read

REPORT = (Path(__file__).parent / "reports" / "source_page.csv").read_text()
"""The first instructions of a softmax, as ncu 2025.3.1 printed them on an H200."""
HEADER = '"Address","Source","# Samples","Instructions Executed","stall_lg","stall_lg (Not Issued)"'


def page(*rows: str) -> str:
    return "\n".join(['"Kernel Name","k",', HEADER, *rows])


def test_instructions_lie_where_they_lie_in_the_kernel():
    counted = read(REPORT)

    assert [one.offset_bytes for one in counted] == [16 * n for n in range(36)]
    assert counted[0].text == "LDC R1, c[0x0][0x28]"


def test_samples_have_reasons_in_the_words_of_the_profile():
    first = read(REPORT)[0]

    assert (first.samples, first.instructions) == (14, 4096)
    assert first.stalls == {"no_instruction": 14}


def test_samples_of_cycles_without_an_issue_are_not_counted_twice():
    (one,) = read(page('"0x10","NOP","5","8","5","3"'))

    assert one.stalls == {"lg_throttle": 5}


def test_large_numbers_may_have_separators():
    (one,) = read(page('"0x10","NOP","1,005","8,192","0","0"'))

    assert (one.samples, one.instructions) == (1005, 8192)


def test_a_cell_that_is_no_number_counts_as_nothing():
    (one,) = read(page('"0x10","NOP","-","1e9","\u0663","9999999999999999999"'))

    assert (one.samples, one.instructions, one.stalls) == (0, 0, {})


def test_a_row_that_was_cut_off_is_left_out():
    assert len(read(page('"0x10","NOP","5","8","5","3"', '"0x20","NOP","5"'))) == 1


def test_another_function_behind_the_kernel_is_not_the_kernel():
    row = '"0x10","NOP","5","8","5","3"'

    assert len(read(page(row) + "\n" + page(row))) == 1


def test_addresses_in_disorder_are_no_kernel():
    rows = '"0x20","NOP","5","8","5","3"', '"0x10","NOP","5","8","5","3"'
    with pytest.raises(NoProfile, match="order"):
        read(page(*rows))


def test_no_more_instructions_are_kept_than_there_may_be(monkeypatch):
    monkeypatch.setattr(source_counters, "MAX_INSTRUCTIONS", 10)

    assert len(read(REPORT)) == 10


def test_without_counters_it_says_who_may_read_them():
    with pytest.raises(NoProfile, match="NVreg_RestrictProfilingToAdminUsers"):
        read("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission")


def test_a_field_without_an_end_is_no_report():
    with pytest.raises(NoProfile):
        read('"Address","' + "x" * 200_000)

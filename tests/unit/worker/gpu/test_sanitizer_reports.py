"""Output of compute-sanitizer 2025.3 on an H200, parsed."""

from dataclasses import asdict

from hypothesis import given
from hypothesis import strategies as st

from worker.gpu.tools.sanitizer_findings import Map, findings_of
from worker.gpu.tools.sanitizer_report import read

PAST_THE_END = """========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 16 bytes
=========     at add_kernel+0x1a0 in /kernel/user.py:15
=========     by thread (122,0,0) in block (6,0,0)
=========     Access to 0x10000fa0 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x10000000 of size 4,000 bytes
=========
========= Invalid __global__ read of size 16 bytes
=========     at add_kernel+0x1a0 in /kernel/user.py:15
=========     by thread (123,0,0) in block (6,0,0)
=========     Access to 0x10000fb0 is out of bounds
=========     and is 17 bytes after the nearest allocation at 0x10000000 of size 4,000 bytes
=========
========= Program hit CUDA_ERROR_LAUNCH_FAILED (error 719) due to "unspecified launch failure".
=========
========= ERROR SUMMARY: 3 errors
"""
MISALIGNED = """========= Invalid __global__ write of size 4 bytes
=========     at misaligned+0x70 in /kernel/user.py:48
=========     by thread (0,0,0) in block (0,0,0)
=========     Access to 0x10000005 is misaligned
=========     and is inside the nearest allocation at 0x10000000 of size 4,000 bytes
"""
UNINITIALIZED = """========= Uninitialized __global__ memory read of size 4 bytes
=========     at read_unwritten+0x60 in /kernel/user.py:156
=========     by thread (0,0,0) in block (0,0,0)
=========     Address 0x1000000c
"""
RACE = """========= Error: Race reported between Write access at race+0xa0 in /kernel/user.py:169
=========     and Read access at race+0xc0 in /kernel/user.py:173 [1,512 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""
X = {"name": "x_ptr", "start": 0x10000000, "elements": 1000, "dtype": "fp32", "shape": [10, 100],
     "strides": [100, 1], "offset": 0}  # fmt: skip


def findings(report, *places, cluster=1):
    return [asdict(one) for one in findings_of(read(report), Map.of(places or [X], cluster))]


def test_a_read_past_the_end_names_argument_index_line_and_program():
    (found,) = findings(PAST_THE_END)

    assert found["kind"] == "out_of_bounds"
    assert (found["access"], found["argument"], found["index"]) == ("read", "x_ptr", [10, 0])
    assert (found["file"], found["line"], found["program"]) == ("user.py", 15, [6, 0, 0])
    assert "1 element past its end" in found["message"]


def test_threads_of_one_line_and_argument_are_one_finding():
    assert len(read(PAST_THE_END)) == 2
    assert len(findings(PAST_THE_END)) == 1


def test_a_wide_access_that_begins_inside_is_charged_with_the_first_element_outside():
    short = X | {"elements": 998, "shape": [998], "strides": [1]}
    begins_inside = PAST_THE_END.replace("0x10000fa0", "0x10000f90")

    assert findings(begins_inside, short)[0]["index"] == [998]


def test_a_program_of_two_blocks_is_counted_once():
    assert findings(PAST_THE_END, cluster=2)[0]["program"] == [3, 0, 0]


def test_an_access_that_is_near_no_argument_is_an_illegal_one():
    (found,) = findings(PAST_THE_END, X | {"start": 0x70000000})

    assert (found["kind"], found["argument"], found["line"]) == ("illegal_access", None, 15)


def test_the_nearest_argument_is_blamed():
    other = X | {"name": "y_ptr", "start": 0x10020000}

    assert findings(PAST_THE_END, other, X)[0]["argument"] == "x_ptr"


def test_far_behind_one_argument_is_past_its_end_and_not_before_the_next():
    behind = X | {"name": "behind", "start": 0x10000FA0 - (40 << 20) - 4000}
    ahead = X | {"name": "ahead", "start": 0x10000FA0 + (24 << 20)}

    assert findings(PAST_THE_END, ahead, behind)[0]["argument"] == "behind"


def test_just_before_one_argument_is_before_its_start():
    behind = X | {"name": "behind", "start": 0x10000FA0 - (64 << 20)}
    ahead = X | {"name": "ahead", "start": 0x10000FA4, "shape": [1000], "strides": [1]}

    (found,) = findings(PAST_THE_END, ahead, behind)

    assert (found["argument"], found["index"]) == ("ahead", [-1])


def test_a_misaligned_store_has_its_kind():
    (found,) = findings(MISALIGNED)

    assert (found["kind"], found["access"], found["line"]) == ("misaligned_access", "write", 48)
    assert "byte 5 of x_ptr" in found["message"]


def test_a_read_of_unwritten_memory_names_its_element():
    (found,) = findings(UNINITIALIZED)

    assert (found["kind"], found["argument"], found["index"]) == ("uninitialized", "x_ptr", [0, 3])


def test_a_race_names_both_lines():
    (found,) = findings(RACE)

    assert (found["kind"], found["access"], found["line"]) == ("race", "write", 169)
    assert "line 173" in found["message"]
    assert "1512 hazards" in found["message"]


@given(st.text(st.sampled_from("=\n (),:[]0x19afInvalidReadWriteaccess__global__"), max_size=300))
def test_no_text_is_too_odd_to_be_read(text):
    assert isinstance(read(text.replace("\n", "\n========= ")), list)


def test_a_clean_report_has_no_findings():
    assert read("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n") == []

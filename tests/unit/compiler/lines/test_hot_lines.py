"""A profiler's counts per instruction, summed by source line."""

from compiler.lines import hot_lines
from compiler.lines.hot_lines import CountedInstruction, counters_json, read_counters

SASS = """\
	.section	.text.other,"ax",@progbits
	//## File "/kernel/user.py", line 99
        /*0000*/                   NOP ;
	.section	.text.k,"ax",@progbits
k:
.text.k:
	//## File "/kernel/user.py", line 10
        /*0000*/                   LDC R1, c[0x0][0x28] ;
	//## File "/kernel/helpers.py", line 3 inlined at "/kernel/user.py", line 12
	//## File "/kernel/user.py", line 12
        /*0010*/                   MUFU.EX2 R2, R2 ;
	//## File "/triton/standard.py", line 7 inlined at "/kernel/user.py", line 12
	//## File "/kernel/user.py", line 12
        /*0020*/              @!P0 BRA `(.L_x_0) ;
        /*0030*/                   NOP ;
"""


def counted(offset, text, samples=0, instructions=4, **stalls):
    return CountedInstruction(offset, text, samples, instructions, stalls)


def fold(*rows, sass=SASS):
    return hot_lines.hot_lines(rows, sass, "k")


LOAD = counted(0, "LDC R1, c[0x0][0x28]", 1, wait=1)
EXP = counted(16, "MUFU.EX2 R2, R2", 6, math_pipe_throttle=2, selected=4)
JUMP = counted(32, "@!P0 BRA 0x7f20", 3, 8, wait=2, barrier=1)


def by_line(found):
    return {(row["file"], row["line"]): row for row in found["lines"]}


def test_samples_are_those_of_the_innermost_line_of_the_users():
    rows = by_line(fold(LOAD, EXP, JUMP))

    assert {place: row["samples"] for place, row in rows.items()} == {
        ("user.py", 10): 1,
        ("helpers.py", 3): 6,
        ("user.py", 12): 3,
    }
    assert sum(row["samples_percent"] for row in rows.values()) == 100


def test_the_line_that_calls_a_helper_has_its_samples_too():
    rows = by_line(fold(LOAD, EXP, JUMP))

    assert rows["user.py", 12]["inclusive_samples"] == 9
    assert rows["helpers.py", 3]["inclusive_samples"] == 6


def test_the_hottest_line_comes_first_and_says_what_it_waits_for():
    first, second, _ = fold(LOAD, EXP, JUMP)["lines"]

    assert (first["line"], first["top_stall"]) == (3, "math_pipe_throttle")
    assert (second["line"], second["instructions"], second["top_stall"]) == (12, 8, "wait")


def test_instructions_stay_in_the_order_of_the_kernel():
    found = fold(LOAD, EXP, JUMP)["sass"]

    assert [(row["address"], row["line"], row["samples"]) for row in found] == [
        (0, 10, 1), (16, 3, 6), (32, 12, 3),
    ]  # fmt: skip


def test_where_the_disassembly_has_another_instruction_there_is_no_line():
    (row,) = fold(counted(0, "FADD R1, R1, R2", 5))["lines"]

    assert (row["file"], row["line"], row["samples"]) == (None, None, 5)


def test_without_a_disassembly_the_instructions_are_answered_all_the_same():
    found = fold(LOAD, EXP, sass=None)

    assert [row["line"] for row in found["lines"]] == [None]
    assert len(found["sass"]) == 2


def test_of_a_large_kernel_the_hottest_instructions_are_answered(monkeypatch):
    monkeypatch.setattr(hot_lines, "MAX_INSTRUCTIONS", 2)
    found = fold(LOAD, EXP, JUMP)

    assert [row["samples"] for row in found["sass"]] == [6, 3]
    assert found["sass_left_out"] == 1
    assert found["samples"] == 10


def test_a_kernel_without_samples_has_instructions_still():
    (row,) = fold(counted(0, "LDC R1, c[0x0][0x28]"))["lines"]

    assert (row["samples_percent"], row["instructions"], row["top_stall"]) == (0.0, 4, None)


def test_counters_are_read_as_they_were_written():
    assert read_counters(counters_json([LOAD, EXP])) == [LOAD, EXP]

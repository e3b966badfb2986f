"""Instructions without a line get the line of the next instruction that reads their result."""

from __future__ import annotations

from compiler.lines.assembly import with_next_reads
from compiler.lines.source_location import SourceLine

FIRST, SECOND = (SourceLine("/kernel/user.py", 1),), (SourceLine("/kernel/user.py", 2),)


def test_a_constant_stands_where_it_is_used() -> None:
    lines = ["\tmov.b32 \t%r1, 0;", "\tadd.s32 \t%r2, %r3, %r1;"]

    assert with_next_reads(lines, {2: FIRST}, frozenset({1, 2})) == {1: FIRST, 2: FIRST}


def test_what_led_to_it_stands_there_too() -> None:
    lines = ["\tmov.b32 %r1, 0;", "\tshl.b32 %r2, %r1, 2;", "\tst.global.b32 [%rd1], %r2;"]

    assert with_next_reads(lines, {3: FIRST}, frozenset({1, 2, 3}))[1] == FIRST


def test_a_register_that_is_written_again_is_another_value() -> None:
    lines = ["\tv_mov_b32_e32 v1, 0", "\tv_mov_b32_e32 v1, 1", "\tv_add_u32_e32 v2, v1, v1"]

    found = with_next_reads(lines, {3: FIRST}, frozenset({1, 2, 3}))

    assert found == {2: FIRST, 3: FIRST}


def test_what_has_a_line_keeps_it() -> None:
    lines = ["\tmov.b32 %r1, 0;", "\tadd.s32 %r2, %r1, 1;"]

    assert with_next_reads(lines, {1: SECOND, 2: FIRST}, frozenset({1, 2}))[1] == SECOND


def test_ranges_of_registers_are_taken_apart() -> None:
    lines = ["\tv_mov_b32_e32 v3, 0", "\tglobal_store_dwordx4 v[8:9], v[2:5], s[0:1]"]

    assert with_next_reads(lines, {2: FIRST}, frozenset({1, 2}))[1] == FIRST


def test_vectors_of_ptx_are_written_as_a_whole() -> None:
    lines = ["\t@%p1 ld.global.v2.b32 { %r1, %r2 }, [%rd1];", "\tneg.s32 %r3, %r2;"]

    assert with_next_reads(lines, {2: FIRST}, frozenset({1, 2}))[1] == FIRST


def test_accumulators_are_read_by_what_adds_to_them() -> None:
    lines = ["\tmov.b32 %r1, 0f00000000;", "\twgmma.mma_async.sync {%r1,%r2}, %rd1, %rd2, 1, 1;"]

    assert with_next_reads(lines, {2: FIRST}, frozenset({1, 2}))[1] == FIRST


def test_the_address_that_is_copied_to_is_read() -> None:
    lines = ["\tadd.s32 %r1, %r2, 64;", "\t@%p1 cp.async.bulk.tensor.2d [%r1], [%rd1, {%r3,%r4}];"]

    assert with_next_reads(lines, {2: FIRST}, frozenset({1, 2}))[1] == FIRST


def test_a_guard_is_read() -> None:
    lines = ["\tand.pred %p1, %p2, %p3;", "\t@!%p1 bra $L__BB0_2;"]

    assert with_next_reads(lines, {2: FIRST}, frozenset({1, 2}))[1] == FIRST


def test_a_guarded_write_may_leave_the_value() -> None:
    lines = ["\tmov.b32 %r1, 0;", "\t@%p1 ld.global.b32 %r1, [%rd1];", "\tneg.s32 %r2, %r1;"]

    found = with_next_reads(lines, {2: FIRST, 3: SECOND}, frozenset({1, 2, 3}))

    assert found[1] == FIRST


def test_what_nothing_reads_stays_without_a_line() -> None:
    lines = ["\tv_mov_b32_e32 v1, 0", "\ts_endpgm"]

    assert with_next_reads(lines, {2: FIRST}, frozenset({1, 2})) == {2: FIRST}

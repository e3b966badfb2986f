"""Parsing of ptxas output."""

from __future__ import annotations

import pytest

from compiler.back.ptxas import diagnostics, resources, slug_of

VERBOSE = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_90a'
ptxas info    : Function properties for k
    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 1024 bytes smem, 560 bytes cmem[0]
"""
PTX = """.version 9.0
.file\t1 "/kernel" "user.py"
.file\t2 "/triton/language" "standard.py"
.loc\t1 3 9
\tshll.b32 %r1, %r2;
.loc\t2 40 5, function_name $L__info_string0, inlined_at 1 2 4
\tbad.op %r1;
"""
SOURCES = {"/kernel/user.py": "one\n    two\ny = asm(x, 3)\n"}


def test_resources_are_read_from_the_verbose_log() -> None:
    assert resources(VERBOSE) == {
        "registers": 255,
        "spill_store_bytes": 8,
        "spill_load_bytes": 12,
        "stack_bytes": 16,
        "static_shared_bytes": 1024,
    }


def test_too_few_registers_are_reported_with_the_number_that_is_enough() -> None:
    log = (
        "ptxas fatal   : (C7602) Insufficient registers (24) to compile instruction at line 5 in "
        "function k. Try to compile with register target of 58 or higher.\n"
    )

    (found,) = diagnostics(log, PTX, SOURCES)

    assert (found.file, found.line) == ("user.py", 3)
    assert "maxnreg" in found.hint
    assert "58 or more" in found.hint


def test_an_error_points_at_the_users_line_and_shows_the_ptx() -> None:
    log = "ptxas-blackwell /proc/self/fd/6, line 5; error   : Unknown symbol: 'shll'\n"

    (found,) = diagnostics(log, PTX, SOURCES)

    assert (found.file, found.line) == ("user.py", 3)
    assert "shll.b32 %r1, %r2;" in found.message
    assert "inline_asm" in found.hint


def test_inlined_library_code_is_followed_to_the_users_call() -> None:
    log = "ptxas /proc/self/fd/6, line 7; error   : Unknown symbol 'bad'\n"

    (found,) = diagnostics(log, PTX, SOURCES)

    assert (found.file, found.line, found.column) == ("user.py", 2, 4)


def test_calls_within_the_library_are_followed_to_the_users() -> None:
    ptx = (
        '.file\t1 "/kernel/user.py"\n.file\t2 "/triton/language/standard.py"\n'
        ".loc\t2 40 5, function_name $L__info_string0, inlined_at 1 2 4\n"
        ".loc\t1 3 9\n"
        ".loc\t2 30 7, function_name $L__info_string0, inlined_at 2 40 5\n"
        "\tbad.op %r1;\n"
    )

    (found,) = diagnostics("ptxas k.ptx, line 6; error   : Unknown 'bad'\n", ptx, SOURCES)

    assert (found.file, found.line, found.column) == ("user.py", 2, 4)


def test_inline_assembly_of_several_lines_is_at_the_line_that_it_was_written_for() -> None:
    ptx = (
        '.file\t1 "/kernel/user.py"\n'
        "\t.loc\t1 2 21\n\t// begin inline asm\n"
        "\t.loc\t1 2 21\n\tmov.u64 %rd3, 0x0;\n"
        "\t.loc\t1 3 21\n\tld.global.cg.L1::evict_first.b64 { %rd1 }, [ %rd2 + 0 ];\n"
        "\t// end inline asm\n"
    )

    (found,) = diagnostics("ptxas k.ptx, line 7; error   : '.cg'\n", ptx, SOURCES)

    assert (found.file, found.line) == ("user.py", 2)


def test_the_closing_line_of_ptxas_is_no_separate_error() -> None:
    assert diagnostics("ptxas fatal   : Ptx assembly aborted due to errors\n", PTX, SOURCES) == []


def test_a_fatal_error_without_a_line_is_kept() -> None:
    (found,) = diagnostics("ptxas fatal   : Value 'sm_999' is not defined\n", PTX, SOURCES)

    assert found.message == "Value 'sm_999' is not defined"
    assert found.line is None


@pytest.mark.parametrize(
    ("status", "log", "slug"),
    [
        (255, "ptxas k.ptx, line 3; error : Unknown symbol 'x'\n", "assembler_failed"),
        (255, "ptxas error : Entry function 'k' uses too much shared data", "out_of_resources"),
        (1, "ptxas fatal : Memory allocation failure", "memory_exceeded"),
        (-6, "terminate called after throwing an instance of 'std::bad_alloc'", "memory_exceeded"),
        (-11, "", "compiler_crashed"),
    ],
)
def test_each_way_in_which_ptxas_ends_has_a_name(status: int, log: str, slug: str) -> None:
    assert slug_of(status, log) == slug

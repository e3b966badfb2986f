"""Lines of PTX, AMD assembly and SASS."""

from __future__ import annotations

from compiler.lines.assembly import map_assembly
from compiler.lines.sass import map_sass, with_source_lines
from compiler.lines.source_location import SourceLine

USER, LIBRARY = "/kernel/user.py", "/triton/language/standard.py"
PTX = """\
.visible .entry add(
	.param .u64 add_param_0
)
.reqntid 128
{
	.reg .b32 	%r<3>;
	.loc	1 7 0                           // user.py:7:0
$L__func_begin0:
	mov.u32 	%r1, %ctaid.x;
	.loc	2 43 13, function_name $L__info_string0, inlined_at 1 16 9 // standard.py:43:13 @[ user.py:16:9 ]
	add.s32 	%r2, %r1, 1;
	.loc	1 11 9                          // user.py:11:9
	// begin inline asm
	.loc	1 11 9                          // user.py:11:9
	mov.u32 %r3, 0x0;
	.loc	1 12 9                          // user.py:12:9
	@%p1 ld.global.b32 { %r3 }, [ %rd1 + 0 ];
	{
	.reg .pred complete;
	mbarrier.init [%r1], 1;
}
	// end inline asm
	add.s32 	%r2, %r3, 1;
	.loc	1 0 9                           // user.py:0:9
	add.s32 	%r2, %r3, 1;
	ret;
$L__func_end0:
}
	.file	1 "/kernel/user.py"
	.file	2 "/triton/language" "standard.py"
	.section	.debug_abbrev
"""  # noqa: E501
OLD_PTX = """\
	.loc	2 43 17                         // standard.py:43:17 @[ user.py:16:9 ]
	add.s32 	%r2, %r1, 1;
	.file	1 "/kernel/user.py"
	.file	2 "/triton/language/standard.py"
"""
SASS = """\
	.section	.text.add,"ax",@progbits
.text.add:
	//## File "/kernel/user.py", line 7
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/                   S2R R0, SR_TID.X ;
	//## File "/triton/language/standard.py", line 43 inlined at "/kernel/user.py", line 16
	//## File "/kernel/user.py", line 16
        /*0020*/              @!P0 IADD3 R2, R0, 0x1, RZ ;
.L_x_0:
        /*0030*/                   BRA `(.L_x_0);
"""


def places(text: str, words: str, occurrence: int = 0) -> tuple[SourceLine, ...]:
    numbers = [n for n, line in enumerate(text.splitlines(), 1) if words in line]
    return map_assembly(text).chains.get(numbers[occurrence], ())


def test_a_location_holds_until_the_next() -> None:
    assert places(PTX, "mov.u32 	%r1") == (SourceLine(USER, 7),)


def test_an_inlined_call_is_followed() -> None:
    assert places(PTX, "add.s32", 0) == (SourceLine(LIBRARY, 43), SourceLine(USER, 16))


def test_an_inlined_call_is_followed_where_only_a_comment_shows_it() -> None:
    assert places(OLD_PTX, "add.s32") == (SourceLine(LIBRARY, 43), SourceLine(USER, 16))


def test_inline_assembly_has_the_line_that_it_was_written_for() -> None:
    # LLVM counts lines inside the assembly: line 12 is not the load's
    assert places(PTX, "ld.global") == (SourceLine(USER, 11),)
    assert places(PTX, "mbarrier.init") == (SourceLine(USER, 11),)
    assert places(PTX, "add.s32", 1) == (SourceLine(USER, 11),)


def test_inline_assembly_that_begins_with_a_comment_has_its_line_too() -> None:
    text = (
        "	.loc	1 18 13                         // user.py:18:13\n"
        "	// begin inline asm\n"
        "	// wait for regs: %r1\n"
        "	.loc	1 19 13                         // user.py:19:13\n"
        "	wgmma.wait_group.sync.aligned 0;\n"
        "	// end inline asm\n"
        "	mul.f32 	%r2, %r1, %r1;\n"
        '	.file	1 "/kernel/user.py"\n'
    )

    assert places(text, "wgmma") == (SourceLine(USER, 18),)
    assert places(text, "mul.f32") == (SourceLine(USER, 18),)


DEEP_PTX = """\
	.loc	2 202 13, function_name $L__info_string0, inlined_at 1 10 14 // standard.py:202:13
	.loc	2 189 16, function_name $L__info_string0, inlined_at 2 202 13 // standard.py:189:16
	add.s32 	%r2, %r1, 1;
	.loc	2 202 13, function_name $L__info_string0, inlined_at 1 20 14 // standard.py:202:13
	.loc	2 189 16, function_name $L__info_string0, inlined_at 2 202 13 // standard.py:189:16
	sub.s32 	%r2, %r1, 1;
	.loc	2 7 7, function_name $L__info_string0, inlined_at 2 7 7 // standard.py:7:7
	mul.s32 	%r2, %r1, 1;
	.file	1 "/kernel/user.py"
	.file	2 "/triton/language/standard.py"
"""


def test_calls_of_the_library_within_the_library_are_followed_to_the_user() -> None:
    at = SourceLine(LIBRARY, 189), SourceLine(LIBRARY, 202)

    assert places(DEEP_PTX, "add.s32") == (*at, SourceLine(USER, 10))
    assert places(DEEP_PTX, "sub.s32") == (*at, SourceLine(USER, 20))


def test_a_call_that_names_itself_ends() -> None:
    assert places(DEEP_PTX, "mul.s32") == (SourceLine(LIBRARY, 7), SourceLine(LIBRARY, 7))


def test_line_0_is_no_place() -> None:
    assert places(PTX, "add.s32", 2) == ()


def test_declarations_labels_and_braces_are_no_operations() -> None:
    lines = PTX.splitlines()

    operations = [lines[n - 1].split()[0] for n in sorted(map_assembly(PTX).operations)]

    assert operations == ["mov.u32", "add.s32", "mov.u32", "@%p1", "mbarrier.init", "add.s32",
                          "add.s32", "ret;"]  # fmt: skip


def test_amd_assembly_is_read_alike() -> None:
    text = (
        '	.file	1 "/kernel" "user.py"\n	.loc	1 8 9 ; user.py:8:9\n'
        "	v_add_f32 v0, v1, v2\n.Lfunc_end0:\n	s_endpgm\n"
    )

    mapped = map_assembly(text)

    assert mapped.chains == {3: (SourceLine(USER, 8),)}
    assert mapped.operations == {3, 5}


def test_sass_has_the_lines_of_the_comment_above() -> None:
    chains = map_sass(SASS).chains

    assert chains[4] == chains[5] == (SourceLine(USER, 7),)


def test_consecutive_comments_of_sass_are_one_chain() -> None:
    chains = map_sass(SASS).chains

    assert chains[8] == chains[10] == (SourceLine(LIBRARY, 43), SourceLine(USER, 16))


def test_only_instructions_of_sass_are_operations() -> None:
    assert map_sass(SASS).operations == {4, 5, 8, 10}


def disassembled(ptx_line: int, instruction: str) -> str:
    """Return the output of `nvdisasm -gp` for one instruction."""
    comment = f'	//## File ".nv_debug_ptx_txt", line {ptx_line}'
    return f"{comment}\n        /*0000*/                   {instruction} ;\n"


def ptx_line(words: str) -> int:
    return next(n for n, line in enumerate(PTX.splitlines(), 1) if words in line)


def test_sass_gets_the_lines_that_its_ptx_has() -> None:
    text = with_source_lines(disassembled(ptx_line("ld.global"), "LDG.E R0"), PTX)

    assert text.splitlines()[:2] == [
        f'	//## File "{USER}", line 11',
        f"	//## PTX, line {ptx_line('ld.global')}",
    ]
    assert list(map_sass(text).chains.values()) == [(SourceLine(USER, 11),)]


def test_sass_is_followed_through_inlined_calls() -> None:
    text = with_source_lines(disassembled(ptx_line("add.s32"), "IADD3 R0"), PTX)

    assert f'	//## File "{LIBRARY}", line 43 inlined at "{USER}", line 16' in text
    assert list(map_sass(text).chains.values()) == [(SourceLine(LIBRARY, 43), SourceLine(USER, 16))]


def test_the_prologue_of_sass_stands_where_the_kernel_begins() -> None:
    text = with_source_lines(disassembled(5, "LDC R1, c[0x0][0x28]"), PTX)

    assert list(map_sass(text).chains.values()) == [(SourceLine(USER, 7),)]


def test_an_instruction_that_no_line_gave_has_none() -> None:
    line_0 = [n for n, line in enumerate(PTX.splitlines(), 1) if "add.s32" in line][2]
    text = disassembled(ptx_line("ld.global"), "LDG.E R0") + disassembled(line_0, "IADD3 R0")

    mapped = map_sass(with_source_lines(text, PTX))

    assert len(mapped.chains) == 1
    assert len(mapped.operations) == 2

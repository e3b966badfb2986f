"""Lines of LLVM IR, from its debug metadata."""

from __future__ import annotations

from compiler.lines.line_map import map_llvm_ir
from compiler.lines.source_location import SourceLine

LLIR = """\
define ptx_kernel void @add(ptr addrspace(1) %0, i32 %1) !dbg !4 {
  %3 = tail call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x(), !dbg !7
  %4 = shl i32 %3, 10
  %5 = add i32 %4, %1, !dbg !9
  ret void, !dbg !12
}

declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()

!llvm.dbg.cu = !{!0}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, producer: "triton")
!1 = !DIFile(filename: "user.py", directory: "/kernel")
!2 = !DIFile(filename: "standard.py", directory: "/triton/language")
!4 = distinct !DISubprogram(name: "add", scope: !1, file: !1, line: 7, unit: !0)
!5 = distinct !DILexicalBlockFile(scope: !6, file: !2, discriminator: 0)
!6 = distinct !DISubprogram(name: "cdiv", scope: !2, file: !2, line: 40, unit: !0)
!7 = !DILocation(line: 8, column: 5, scope: !4)
!8 = distinct !DILocation(line: 16, column: 9, scope: !4)
!9 = !DILocation(line: 43, column: 13, scope: !5, inlinedAt: !8)
!12 = !DILocation(line: 0, scope: !4)
"""


def test_an_instruction_has_its_line_and_file() -> None:
    assert map_llvm_ir(LLIR).chains[2] == (SourceLine("/kernel/user.py", 8),)


def test_an_inlined_call_is_followed_innermost_first() -> None:
    inlined = (SourceLine("/triton/language/standard.py", 43), SourceLine("/kernel/user.py", 16))

    assert map_llvm_ir(LLIR).chains[4] == inlined


def test_a_function_has_the_line_of_its_definition() -> None:
    assert map_llvm_ir(LLIR).chains[1] == (SourceLine("/kernel/user.py", 7),)


def test_an_instruction_without_a_place_stands_where_it_is_first_used() -> None:
    mapped = map_llvm_ir(LLIR)

    assert mapped.chains[3] == mapped.chains[4]


def test_line_0_is_no_place() -> None:
    assert 5 not in map_llvm_ir(LLIR).chains


def test_only_bodies_hold_operations() -> None:
    assert map_llvm_ir(LLIR).operations == {1, 2, 3, 4, 5}


def test_metadata_in_circles_ends() -> None:
    circle = "define void @f() {\n  ret void, !dbg !1\n}\n!1 = !DILocation(line: 1, scope: !1)\n"

    assert map_llvm_ir(circle).chains == {}

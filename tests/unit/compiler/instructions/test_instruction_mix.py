"""Instruction counts by class, opcode and source line."""

from compiler.instructions.instruction_mix import instruction_mix
from compiler.instructions.opcode_classes import CLASSES

SASS = """\
	.section	.text.k,"ax",@progbits
k:
.text.k:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
	//## File "/kernel/user.py", line 10
        /*0010*/                   NOP ;
        /*0020*/                   LDG.E.128 R4, desc[UR4][R2.64] ;
	//## File "/kernel/helpers.py", line 3 inlined at "/kernel/user.py", line 12
	//## File "/kernel/user.py", line 12
        /*0030*/              @!P0 MUFU.EX2 R2, R2 ;
	//## File "/triton/standard.py", line 7 inlined at "/kernel/user.py", line 12
	//## File "/kernel/user.py", line 12
        /*0040*/                   FADD R2, R2, R3 ;
        /*0050*/               @P0 EXIT ;
.L_x_1:
        /*0060*/                   BRA `(.L_x_1);
        /*0070*/                   NOP;
        /*0080*/                   NOP;
.L_x_2:
"""
AMD = """\
\t.text
k:
\t.file\t1 "/kernel" "user.py"
\t.loc\t1 7 0 prologue_end              ; user.py:7:0
\ts_load_dwordx2 s[2:3], s[0:1], 0x0
\t.loc\t1 9 0
\tbuffer_store_dword v1, off, s[0:3], 0 offset:4 ; 4-byte Folded Spill
; %bb.1:
\ts_endpgm
\t.section\t.AMDGPU.csdata,"",@progbits
; codeLenInByte = 24
\t.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .name: x_ptr
\t.end_amdgpu_metadata
"""


def test_an_instruction_is_counted_at_the_innermost_line_of_the_users() -> None:
    found = instruction_mix("sass", SASS).as_json()

    lines = {(row["file"], row["line"]): row["by_class"] for row in found["by_line"]}
    assert lines == {
        ("helpers.py", 3): {"special": 1},
        ("user.py", 10): {"control": 1, "global_load": 1},
        ("user.py", 12): {"fp32": 1, "control": 2},
        (None, None): {"constant_load": 1},
    }


def test_what_fills_a_function_up_is_not_counted_but_what_waits_within_is() -> None:
    found = instruction_mix("sass", SASS).as_json()

    assert found["by_opcode"]["NOP"] == 1
    assert found["total"] == 7
    assert found["code_bytes"] == 7 * 16


def test_opcodes_keep_what_says_how_wide_they_are() -> None:
    assert instruction_mix("sass", SASS).by_opcode["LDG.E.128"] == 1


def test_all_classes_are_named_and_add_up() -> None:
    found = instruction_mix("sass", SASS).as_json()

    assert tuple(found["by_class"]) == CLASSES
    assert sum(found["by_class"].values()) == found["total"]
    assert sum(row["total"] for row in found["by_line"]) == found["total"]


def test_amd_assembly_has_its_instructions_and_no_line_of_its_metadata() -> None:
    found = instruction_mix("amdgcn", AMD).as_json()

    assert found["by_opcode"] == {"s_load_dwordx2": 1, "buffer_store_dword": 1, "s_endpgm": 1}
    assert found["code_bytes"] == 24
    assert [(row["line"], row["by_class"], row["local_bytes"]) for row in found["by_line"]] == [
        (7, {"constant_load": 1}, 0),
        (9, {"local": 1, "control": 1}, 4),
    ]

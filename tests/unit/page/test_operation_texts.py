"""The page's texts on operations: two sentences each, and one for all that real kernels use."""

from __future__ import annotations

import re

import pytest

from tests.unit.page.operation_texts import of_the_mix, operations_in, texts, without_text

SYNTAXES = ["mlir", "ptx", "sass", "amdgcn"]


@pytest.mark.parametrize("syntax", SYNTAXES)
def test_operations_of_real_kernels_have_texts(syntax: str) -> None:
    known = of_the_mix()[syntax]

    assert len(known) > 70
    assert without_text(syntax, known) == []


@pytest.mark.parametrize("syntax", SYNTAXES)
def test_a_text_has_two_sentences(syntax: str) -> None:
    for name, text in texts()[syntax].items():
        assert len(re.findall(r"[.!?](?= |$)", text)) == 2, name
        assert len(text) <= 250, name


def test_an_unknown_operation_has_no_text() -> None:
    assert without_text("ptx", ["ld.global.v4.b32", "ldx.global"]) == ["ldx.global"]
    assert without_text("amdgcn", ["v_cmp_lt_f32_e64", "v_cmpy_lt_f32"]) == ["v_cmpy_lt_f32"]


def test_operations_are_found_behind_predicates_and_results() -> None:
    assert operations_in("ptx", "\t@!%p1 bra $L__BB0_2;\n\t.loc\t1 2 3\n\tret;\n") == {"bra", "ret"}
    assert operations_in("mlir", '  %0:2 = "tt.reduce"(%x) ({\n#b = #ttg.blocked<{}>') == {
        "tt.reduce"
    }
    assert operations_in("sass", "        /*0010*/              @P0 LDG.E R2, [R4.64] ;\n") == {
        "LDG.E"
    }
    dual = "\tv_dual_mul_f32 v1, v2, v3 :: v_dual_mov_b32 v4, 0 ; both\n"
    assert operations_in("amdgcn", dual) == {"v_dual_mul_f32", "v_dual_mov_b32"}

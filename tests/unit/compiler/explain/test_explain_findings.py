"""Findings of an explanation in PTX and AMD assembly, as recorded from Triton 3.9."""

from __future__ import annotations

import pytest

from compiler.explain.explanation import narrow_accesses
from compiler.explain.stage_lines import places_of

HERE = {1: ("user.py", 7)}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("\tld.global.b32 { %r1 }, [ %rd1 + 0 ];", "1 load of 4 bytes"),
        ("\t@%p1 ld.global.L1::evict_last.b16 { %rs1 }, [ %rd1 + 0 ];", "1 load of 2 bytes"),
        ("\tst.global.b8 [ %rd3 + 0 ], { %r7 };", "1 store of 1 byte"),
        (
            "\tcp.async.ca.shared.global [ %r57 + 0 ], [ %rd107 + 0 ], 0x4, %r58;",
            "1 copy of 4 bytes",
        ),
    ],
)
def test_an_access_for_one_element_is_not_vectorised(line: str, said: str):
    [access] = narrow_accesses(line, "ptx", HERE)

    assert (access.place, str(access)) == (("user.py", 7), said)


@pytest.mark.parametrize(
    "line",
    [
        "\tld.global.v4.b32 { %r1, %r2, %r3, %r4 }, [ %rd1 + 0 ];",
        "\t@%p1 st.global.v2.b32 [ %rd3 + 0 ], { %r7, %r8 };",
        "\tld.global.b64 { %rd1 }, [ %rd2 + 0 ];",
        "\tld.param.b32 %r1, [kernel_param_0];",
        "\tst.shared.b32 [ %r1 + 0 ], %r2;",
        "\tcp.async.cg.shared.global [ %r57 + 0 ], [ %rd107 + 0 ], 0x10;",
    ],
)
def test_wide_and_other_accesses_are_not_reported(line: str):
    assert narrow_accesses(line, "ptx", HERE) == []


def test_amd_loads_of_a_dword_are_narrow_those_of_four_are_not():
    text = "\tglobal_load_dwordx4 v[0:3], v4, s[0:1]\n\tbuffer_load_dword v1, v2, s[0:3], 0 offen\n"

    [access] = narrow_accesses(text, "amdgcn", {2: ("user.py", 9)})
    assert (access.place, str(access)) == (("user.py", 9), "1 load of 4 bytes")


def test_a_stage_line_has_its_first_source_line():
    rows = [
        {"file": "user.py", "line": 7, "ptx": [3, 4]},
        {"file": None, "line": None, "ptx": [5]},
        {"file": "user.py", "line": 9, "ptx": [4]},
    ]

    assert places_of({"lines": rows}, "ptx") == {3: ("user.py", 7), 4: ("user.py", 7)}

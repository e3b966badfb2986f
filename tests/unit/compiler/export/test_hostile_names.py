"""Names, texts and values from a user never become code in an exported file."""

from __future__ import annotations

import ast

import pytest

from compiler.back.triton_cache import installer
from compiler.export.c import c_header
from compiler.export.cuda_inline import cuda_inline_header
from compiler.export.exported_kernel import NotExportable, kernel_of
from compiler.export.header_comment import harmless
from compiler.export.ptx import read_entry
from compiler.export.python import python_module
from compiler.export.rust import rust_module
from tests.unit.compiler.export.kernels import CUBIN, PTX, RESERVED, VARIANTS, VECTOR_ADD, facts

ENTRIES = [
    'a"; system("id"); "',
    "a*/ int x; /*",
    "a\nint x;",
    "a\\",
    "größe",
    "",
    "1a",
    "a b",
    "%s",
]
CODE = '"""\nimport os; os.system("id")\n*/ int evil; /* \\" ??/ \u2028'

FAKE = """
\t// begin inline asm
.visible .entry add_kernel_2(
)
.reqntid 1 */ int evil; /*
{
\t// end inline asm
"""


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_that_is_no_name_is_refused(entry: str) -> None:
    with pytest.raises(NotExportable, match="not a name in other languages"):
        kernel_of(facts(VECTOR_ADD, name=entry))


def test_no_parameter_has_a_name_that_a_language_or_the_file_needs() -> None:
    names = {argument.identifier for argument in VARIANTS["reserved"].caller_arguments}

    assert len(names) == len(RESERVED)
    assert names.isdisjoint(RESERVED)


def test_the_value_of_a_constant_ends_no_comment_of_any_language() -> None:
    reported = facts(VECTOR_ADD)
    reported["parameters"][-1]["value"] = CODE
    reported["parameters"][0]["hints"] = [CODE]
    kernel = kernel_of(reported)

    texts = [c_header(kernel, CUBIN), rust_module(kernel, CUBIN), cuda_inline_header(kernel, PTX)]
    module = ast.parse(python_module(kernel, CUBIN))
    program = ast.parse(installer("FOLDER", "k", ["k.json"], reported | {"python": "3.11"}))

    assert all("evil" in text for text in texts)
    assert not any("*/ int evil" in text or "??/" in text for text in texts)
    for parsed in (module, program):
        assert "evil" in (ast.get_docstring(parsed) or "")
        assert not any(
            isinstance(node, ast.Attribute) and node.attr == "system" for node in ast.walk(parsed)
        )


@pytest.mark.parametrize("character", ["\n", "\r", "\u2028", "\x00", '"', "\\"])
def test_a_line_of_a_comment_stays_one_harmless_line(character: str) -> None:
    assert character not in harmless(f"a{character}b")
    assert len(harmless(f"a{character}b").splitlines()) == 1


def test_an_entry_in_inline_assembly_is_not_taken_for_the_kernel() -> None:
    ptx = PTX.replace("\tst.global.b32 \t[%rd1], %r2;\n", FAKE)
    assert ptx != PTX

    with pytest.raises(NotExportable, match="2 times"):
        read_entry(ptx, "add_kernel")


def test_only_the_entry_of_the_abi_is_exported() -> None:
    fake = PTX.replace("add_kernel", "other_kernel")

    with pytest.raises(NotExportable, match="no entry add_kernel"):
        read_entry(fake, "add_kernel")


@pytest.mark.parametrize(
    ("where", "instead"),
    [
        (".reqntid 128", ".reqntid 128 */ int evil; /*"),
        (".reqntid 128", "*/ int evil; /*"),
        ("\tst.global.b32 \t[%rd1], %r2;", "\t/* } */"),
        ("\tst.global.b32 \t[%rd1], %r2;", "\tadd.u32 é"),
        (".param .u64", ".param */ .u64"),
    ],
)
def test_what_triton_does_not_write_is_refused(where: str, instead: str) -> None:
    ptx = PTX.replace(where, instead, 1)
    assert ptx != PTX

    with pytest.raises(NotExportable):
        cuda_inline_header(kernel_of(facts(VECTOR_ADD)), ptx)


def test_assembly_text_stays_inside_its_string() -> None:
    hostile = '\tadd.u32 "); system(1); asm("??/" \\'
    ptx = PTX.replace("\tst.global.b32 \t[%rd1], %r2;", hostile)

    header = cuda_inline_header(kernel_of(facts(VECTOR_ADD)), ptx)

    assert r'"add.u32 \"); system(1); asm(\"\?\?/\" \\\n"' in header

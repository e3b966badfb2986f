"""Type names: one spelling inside, many outside."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.type_name import SCALARS, UnknownType, canonical_dtype, canonical_type, is_pointer

SPELLINGS = {
    "fp32": "fp32",
    " i32 ": "i32",
    "float32": "fp32",
    "float": "fp32",
    "double": "fp64",
    "half": "fp16",
    "bool": "i1",
    "u1": "i1",
    "uint1": "i1",
    "torch.bool": "i1",
    "torch.long": "i64",
    "int32_t": "i32",
    "int": "i32",
    "uint8": "u8",
    "tl.int64": "i64",
    "triton.language.bfloat16": "bf16",
    "torch.float16": "fp16",
    "np.float64": "fp64",
    "torch.float8_e4m3fn": "fp8e4nv",
    "torch.float8_e5m2": "fp8e5",
    "*fp32": "*fp32",
    "* fp32": "*fp32",
    "*float32": "*fp32",
    "*torch.bfloat16": "*bf16",
    "*kfp16": "*kfp16",
    "*kfloat16": "*kfp16",
    "*const fp16": "*kfp16",
    "**fp32": "**fp32",
    "float*": "*fp32",
    "fp32 *": "*fp32",
    "tl.float32*": "*fp32",
    "const float*": "*kfp32",
    "const *fp32": "*kfp32",
    "pointer<fp32>": "*fp32",
    "const_pointer<fp32>": "*kfp32",
    "*i1": "*i1",
    "tensordesc<fp16[64,64]>": "tensordesc<fp16[64,64]>",
    "tensordesc< float16 [ 64 , 0128 ] >": "tensordesc<fp16[64,128]>",
}


@pytest.mark.parametrize(("written", "canonical"), SPELLINGS.items())
def test_a_type_has_one_spelling(written: str, canonical: str):
    assert canonical_type(written) == canonical


@pytest.mark.parametrize("canonical", sorted({*SPELLINGS.values(), *SCALARS}))
def test_the_canonical_spelling_stays_as_it_is(canonical: str):
    assert canonical_type(canonical) == canonical


@pytest.mark.parametrize(
    "written",
    [
        *(
            "",
            "*",
            "fp31",
            "float33",
            "tl",
            "tl.",
            "*k",
            "const",
            "const fp32",
            "const **fp32",
            "fp32 i32",
        ),
        *("tensordesc", "tensordesc<fp16>", "tensordesc<fp16[]>", "tensordesc<fp16[64,]>"),
        *("pointer<>", "pointer<pointer<fp32>>", "const_pointer<*fp32>", "*pointer<fp32>", "_t"),
        *("tensordesc<*fp16[64]>", "*tensordesc<fp16[64]>", "tensordesc<fp16[6x]>"),
        *("tensordesc<fp16[\N{FULLWIDTH DIGIT SIX}]>", "*" * 100_000 + "fp32", "void", "constexpr"),
    ],
)
def test_what_names_no_type_is_unknown(written: str):
    with pytest.raises(UnknownType):
        canonical_type(written)


def test_an_unknown_type_is_answered_with_what_can_be_written():
    with pytest.raises(UnknownType) as unknown:
        canonical_type("*fp23")

    assert str(unknown.value) == (
        '"*fp23" is not a Triton type. Did you mean `*fp32`? Scalars are bf16 fp16 fp32 fp64 '
        "fp8e4b15 fp8e4b8 fp8e4nv fp8e5 fp8e5b16 i1 i16 i32 i64 i8 u16 u32 u64 u8; a pointer is "
        "written *fp32, a pointer to const *kfp32, a descriptor tensordesc<fp16[64,64]>."
    )


def test_a_block_whose_extents_are_no_powers_of_2_is_refused_by_extent():
    with pytest.raises(UnknownType) as unknown:
        canonical_type("tensordesc<fp16[64,48]>")

    assert str(unknown.value) == (
        '"tensordesc<fp16[64,48]>" has a block whose extents are not all powers of 2: 48 is not'
    )


def test_a_suggestion_does_not_depend_on_case():
    with pytest.raises(UnknownType, match="Did you mean `i32`"):
        canonical_type("I32")


def test_a_dtype_is_no_pointer():
    with pytest.raises(UnknownType, match="Did you mean `fp32`"):
        canonical_dtype("*fp32")


def test_only_pointers_are_pointers():
    assert is_pointer("*fp32")
    assert is_pointer("*kfp32")
    assert not is_pointer("fp32")
    assert not is_pointer("tensordesc<fp16[64,64]>")


@given(st.text(alphabet="*kfp32i16u tl.orchconst<>[],64", max_size=40) | st.text())
def test_any_text_is_a_type_or_unknown(written: str):
    try:
        canonical = canonical_type(written)
    except UnknownType:
        return

    assert canonical_type(canonical) == canonical


def test_a_gluon_descriptor_keeps_its_layout_in_one_spelling():
    layout = "NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, cga_layout=[])"

    assert canonical_type(f"tensordesc<tl.float16[64, 64], {layout}>") == (
        "tensordesc<fp16[64,64],NVMMASharedLayout(swizzle_byte_width=128,element_bitwidth=16,cga_layout=[])>"
    )


def test_a_layout_is_literals_only():
    with pytest.raises(UnknownType):
        canonical_type("tensordesc<fp16[64,64],NVMMASharedLayout(exit())>")


def test_what_was_meant_is_looked_for_once_and_only_to_be_shown(monkeypatch: pytest.MonkeyPatch):
    """The search is the slowest part, and a batch may hold 50,000 wrong types."""
    asked = []
    monkeypatch.setattr("compiler.type_name.closest", lambda name, *_: asked.append(name))

    with pytest.raises(UnknownType) as unknown:
        canonical_type("const *fp33")

    assert asked == []
    assert "is not a Triton type" in str(unknown.value)
    assert len(asked) == 1

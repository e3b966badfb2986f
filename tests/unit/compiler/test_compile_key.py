"""Requests that share a compilation, and requests that must not."""

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.compiler.vector_add import TOOLCHAIN, VECTOR_ADD, key

CONSTEXPRS = {"BLOCK_SIZE": 1024, "ACTIVATION": "relu", "EVEN": True}

EQUAL: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "order of signature": (
        {"signature": {"x_ptr": "*fp32", "n_elements": "i32"}},
        {"signature": {"n_elements": "i32", "x_ptr": "*fp32"}},
    ),
    "order of constexprs": (
        {"constexprs": CONSTEXPRS},
        {"constexprs": dict(reversed(CONSTEXPRS.items()))},
    ),
    "order of options": (
        {"options": {"num_warps": 8, "num_stages": 2}},
        {"options": {"num_stages": 2, "num_warps": 8}},
    ),
    "order of files": (
        {"files": {"a.py": "", "b.py": ""}},
        {"files": {"b.py": "", "a.py": ""}},
    ),
    "order of hints": (
        {"hints": {"x_ptr": ["divisible_by_16", "pointer_range_32"]}},
        {"hints": {"x_ptr": ["pointer_range_32", "divisible_by_16"]}},
    ),
    "suffix or hints": (
        {"signature": {"x_ptr": "*fp32:16"}},
        {"signature": {"x_ptr": "*fp32"}, "hints": {"x_ptr": ["divisible_by_16"]}},
    ),
    "suffix and hints": (
        {"signature": {"x_ptr": "*fp32:16"}},
        {"signature": {"x_ptr": "*fp32:16"}, "hints": {"x_ptr": ["divisible_by_16"]}},
    ),
    "spelling of a type": (
        {"signature": {"x_ptr": "*fp32", "n_elements": "i32"}},
        {"signature": {"x_ptr": "*torch.float32", "n_elements": "tl.int32"}},
    ),
    "spaces in a signature by position": (
        {"signature": "*fp32:16,i32", "constexprs": None},
        {"signature": " *fp32:16 , i32 ", "constexprs": None},
    ),
    "constexpr in signature": (
        {"signature": {"x_ptr": "*fp32"}},
        {"signature": {"x_ptr": "*fp32", "BLOCK_SIZE": "constexpr"}},
    ),
    "integer as JSON or tagged": (
        {"constexprs": {"BLOCK_SIZE": 1024}},
        {"constexprs": {"BLOCK_SIZE": {"int": "1024"}}},
    ),
    "float as JSON or tagged": (
        {"constexprs": {"EPS": 2.0}},
        {"constexprs": {"EPS": {"float": 2}}},
    ),
    "float in decimal or hexadecimal": (
        {"constexprs": {"EPS": {"float": "0.1"}}},
        {"constexprs": {"EPS": {"float": (0.1).hex()}}},
    ),
    "list or tagged tuple": (
        {"constexprs": {"SHAPE": [16, 32]}},
        {"constexprs": {"SHAPE": {"tuple": [16, 32]}}},
    ),
    "spelling of a dtype": (
        {"constexprs": {"OUT": {"dtype": "bf16"}}},
        {"constexprs": {"OUT": {"dtype": "tl.bfloat16"}}},
    ),
    "target with its warp size": ({"target": "cuda:90"}, {"target": "cuda:90:32"}),
    "default option written out": ({"options": {}}, {"options": {"num_warps": 4}}),
    "optional option written as null": ({"options": {}}, {"options": {"maxnreg": None}}),
    "default stop written out": ({}, {"stop_after": "cubin"}),
    "nothing or an empty object": (
        {"signature": None, "hints": None, "constexprs": None},
        {"signature": {}, "hints": {}, "constexprs": {}},
    ),
    "include": ({}, {"include": ["ptx", "ttir"]}),
    "priority": ({}, {"priority": "batch"}),
    "timeout_s": ({}, {"timeout_s": 5}),
    "refresh": ({}, {"refresh": True}),
    "triton version that is the default": ({}, {"triton": "3.9.0"}),
}


@pytest.mark.parametrize(("one", "other"), EQUAL.values(), ids=EQUAL)
def test_equal_meanings_have_equal_keys(one: dict[str, Any], other: dict[str, Any]):
    assert key(**one) == key(**other)


DIFFERENT: dict[str, dict[str, Any]] = {
    "source by a comment": {"source": VECTOR_ADD["source"] + "# faster\n"},
    "source by a blank": {"source": VECTOR_ADD["source"] + " "},
    "source by its line ends": {"source": VECTOR_ADD["source"].replace("\n", "\r\n")},
    "files": {"files": {"shapes.py": ""}},
    "text of a file": {"files": {"shapes.py": "N = 1"}},
    "path of a file": {"files": {"layouts.py": ""}},
    "kernel": {"kernel": "mul_kernel"},
    "kernel left out": {"kernel": None},
    "type": {"signature": {"x_ptr": "*fp16:16", "n_elements": "i32"}},
    "const": {"signature": {"x_ptr": "*kfp32:16", "n_elements": "i32"}},
    "signed or unsigned": {"signature": {"x_ptr": "*fp32:16", "n_elements": "u32"}},
    "parameter": {"signature": {"y_ptr": "*fp32:16", "n_elements": "i32"}},
    "tuple": {"signature": {"x_ptr": ["*fp32"], "n_elements": "i32"}},
    "hint left out": {"signature": {"x_ptr": "*fp32", "n_elements": "i32"}},
    "hint more": {"hints": {"x_ptr": ["pointer_range_32"]}},
    "equal to 1": {"signature": {"x_ptr": "*fp32:16", "n_elements": "i32:1"}},
    "divisible by 16": {"signature": {"x_ptr": "*fp32:16", "n_elements": "i32:16"}},
    "signature by position": {"signature": "*fp32:16, i32"},
    "constexpr value": {"constexprs": {"BLOCK_SIZE": 512}},
    "constexpr name": {"constexprs": {"BLOCK": 1024}},
    "target": {"target": "cuda:80"},
    "option": {"options": {"num_warps": 8}},
    "boolean option": {"options": {"enable_fp_fusion": False}},
    "optional option": {"options": {"maxnreg": 64}},
    "stop_after": {"stop_after": "ptx"},
    "namespace": {"namespace": "team-a"},
    "toolchain": {"toolchain": TOOLCHAIN.model_copy(update={"id": "fedcba9876543210"})},
}


def test_every_change_of_a_compilation_changes_its_key():
    keys = {what: key(**change) for what, change in DIFFERENT.items()}
    keys["nothing"] = key()
    same = [pair for pair in itertools.combinations(keys, 2) if keys[pair[0]] == keys[pair[1]]]

    assert same == []


def test_constexprs_that_python_would_call_equal_have_different_keys():
    values = [
        *(0, 0.0, -0.0, False, None, "", "0", []),
        *(1, 1.0, True, "1", "true", [1], [1.0], [[1]], {"float": "nan"}, "nan", "NaN"),
        *({"float": "inf"}, {"float": "-inf"}, {"dtype": "fp32"}, "fp32", {"function": "fp32"}),
        *(2**53, {"float": 2**53}, 2**53 + 1, 0.1, 0.1 + 2**-56, [1, [2]], [[1], 2], [1, 2]),
    ]
    keys = [key(constexprs={"VALUE": value}) for value in values]

    assert len(set(keys)) == len(values)


@given(st.permutations(list(CONSTEXPRS.items())))
@settings(max_examples=10)
def test_no_order_of_constexprs_changes_the_key(items: list[tuple[str, Any]]):
    assert key(constexprs=dict(items)) == key(constexprs=CONSTEXPRS)

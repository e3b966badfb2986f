"""Types by example: the client infers the same types from arguments as the service does."""

import itertools
from dataclasses import replace
from typing import Any

import pytest
from tritonc.signature_example import annotated, signature_of

from compiler.request.signature import parse_specialization
from launch.request.inference import annotated_type
from tests.unit.launch.request.test_inference_rules import ANNOTATED, fact, inferred

FACTS: dict[str, dict[str, Any]] = {
    "nothing said": {},
    "not specialized": {"do_not_specialize": True},
    "not on alignment": {"do_not_specialize_on_alignment": True},
    "a constexpr": {"annotation": "tl.constexpr"},
    "int64": {"annotation": "tl.int64"},
    "float": {"annotation": "float"},
    "bool": {"annotation": "bool"},
    "const": {"const": True},
    "a pointer": {"annotation": "*fp16"},
    "a const pointer": {"annotation": "const float*"},
}
NUMBERS = [True, False, 0, 1, 7, 16, 98432, 2**31, 2**63, 0.5, -16, {"value": 32, "dtype": "i64"}]
BUFFERS = [
    {"shape": [4096, 4096], "dtype": "fp32", "output": True},
    {"shape": [0], "dtype": "bf16", "offset": 4, "output": True},
    {"shape": [64], "dtype": "float16", "offset": 8, "output": True},
    {"shape": [64], "dtype": "i1", "align_bytes": 4, "output": True},
    {"shape": [3], "dtype": "fp8e4nv", "init": {"kind": "ones"}, "output": True},
]


def both(argument: Any, target: str = "cuda", **facts: Any) -> tuple[Any, Any]:
    """Return the types, hints and values that the client infers, and the service's."""
    known = fact("x", **facts)
    reported = signature_of({"x": argument}, {"x": known}, target=target)
    said = parse_specialization(reported.signature, reported.hints, reported.constexprs).named
    expected = inferred([known], x=argument).specialization.named
    # A request spells it i1, the JIT u1: both are bool to Triton.
    return said, {n: replace(p, type=_bool(p.type)) for n, p in expected.items()}


def _bool(kind: Any) -> Any:
    return kind.replace("u1", "i1") if isinstance(kind, str) else kind


def test_a_number_gives_the_type_that_a_launch_would_infer(subtests: pytest.Subtests):
    for known, number in itertools.product(FACTS, NUMBERS):
        with subtests.test(known=known, number=number):
            if known in {"a pointer", "a const pointer"}:
                refusal = r"x: it is annotated .*, and .* is not a buffer"
            elif known == "int64" and number in [0.5, 2**63]:
                refusal = r"x: .* is not a i64, the type of this"
            else:
                said, expected = both(number, **FACTS[known])
                assert said == expected
                continue
            with pytest.raises(ValueError, match=refusal):
                signature_of({"x": number}, {"x": fact("x", **FACTS[known])})


@pytest.mark.parametrize("known", ["nothing said", "not specialized", "not on alignment", "const"])
@pytest.mark.parametrize("buffer", BUFFERS, ids=str)
def test_a_buffer_gives_the_type_that_a_launch_would_infer(known: str, buffer: Any):
    said, expected = both(buffer, **FACTS[known])

    assert said == expected


def test_none_is_a_constant():
    assert signature_of({"x": None}).constexprs == {"x": None}


def test_a_small_buffer_has_another_hint_on_amd():
    large = {"shape": [2**30], "dtype": "fp32"}

    reported = signature_of({"x": BUFFERS[0], "y": large}, target="hip:gfx942")

    assert reported.signature == {"x": "*fp32", "y": "*fp32:16"}
    assert reported.hints == {"x": ["divisible_by_16", "pointer_range_32"]}


@pytest.mark.parametrize("text", ANNOTATED)
def test_annotations_are_read_as_the_service_reads_them(text: str | None):
    assert annotated(text) == annotated_type(text)


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("fp32", "x: 'fp32' does not give a type; write 4.0, 16 or fp32"),
        ({"view": {"of": "y"}}, "x: "),
        ({"shape": [4], "dtype": "fp33"}, "x: 'fp33' is not a dtype; write fp32"),
    ],
)
def test_an_invalid_example_is_named(argument: Any, message: str):
    with pytest.raises(ValueError, match=message):
        signature_of({"x": argument})

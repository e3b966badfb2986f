"""Specializations inferred from arguments equal those of Triton's own JIT."""

import os
from pathlib import Path
from typing import Any

import pytest

from compiler.parameter_binding import Binding, bind
from compiler.request.signature import parse_specialization
from launch.request.argument_binding import bind_arguments
from launch.request.inference import infer
from tests.integration.launch.request.generated import Launch, generate
from tests.integration.launch.request.triton_jit import TritonJit
from tests.shares import examples

POINTER_RANGE = ["tt.pointer_range", 32]
ATTRIBUTES = {"divisible_by_16": ["tt.divisibility", 16], "pointer_range_32": POINTER_RANGE}
GENERATED = examples(int(os.environ.get("TRITOND_FUZZ_SIGNATURES", "12")))
"""Number of kernels; `make test-slow` tries more."""


@pytest.mark.parametrize("target", [("cuda", 90, 32), ("hip", "gfx942", 64)], ids=["cuda", "hip"])
def test_inference_equals_the_jit(
    tmp_path: Path, triton_jit: TritonJit, target: tuple[Any, ...]
) -> None:
    source, launches = generate(seed=20, kernels=GENERATED, launches=8)

    expected = triton_jit.specialized(source, launches, target, tmp_path)

    for launch, answer in zip(launches, expected["answers"], strict=True):
        facts = expected["facts"][launch.kernel]
        binding = inferred(launch, facts, target[0])
        found = said(binding, facts)
        assert found == normal(answer), (launch, source_of(source, launch.kernel))


def inferred(launch: Launch, facts: list[dict[str, Any]], backend: str) -> Binding:
    constexprs = parse_specialization(None, None, launch.constexprs).named
    bound = bind_arguments(launch.request)
    made = infer(launch.kernel, facts, bound, constexprs, backend)
    return bind(launch.kernel, facts, made.specialization)


def said(binding: Binding, facts: list[dict[str, Any]]) -> dict[str, Any]:
    filled = {
        fact["name"]: fact["default"]["literal"]  # as the front child fills it in
        for fact in facts
        if fact["name"] not in binding.signature.keys() | binding.constexprs.keys()
    }
    return {
        "signature": binding.signature,
        "constants": binding.constexprs | filled,
        "attrs": {path: [ATTRIBUTES[h] for h in found] for path, found in binding.hints.items()},
    }


def normal(answer: dict[str, Any]) -> dict[str, Any]:
    signature = {name: plain(kind) for name, kind in answer["signature"].items()}
    attrs = {
        # No request can give the pointer range of tuple items; to leave it out is safe.
        path: [item for item in found if "." not in path or item != POINTER_RANGE]
        for path, found in answer["attrs"].items()
    }
    return {
        "signature": {name: kind for name, kind in signature.items() if kind != "constexpr"},
        "constants": answer["constants"],
        "attrs": {path: found for path, found in attrs.items() if found},
    }


def plain(kind: Any) -> Any:
    return [plain(item) for item in kind] if isinstance(kind, list) else kind.replace(", ", ",")


def source_of(source: str, kernel: str) -> str:
    return next(part for part in source.split("@triton") if f"def {kernel}(" in part)

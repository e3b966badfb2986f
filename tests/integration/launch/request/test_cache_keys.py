"""`triton-cache` names an export by the hash that Triton's own JIT computes."""

from pathlib import Path
from typing import Any

from tests.integration.compiler.children import Children
from tests.integration.launch.request.generated import Launch, generate
from tests.integration.launch.request.test_inference import (
    GENERATED,
    inferred,
    source_of,
)
from tests.integration.launch.request.triton_jit import TritonJit

CUDA = ("cuda", 90, 32)


def test_generated_launches_have_the_hash_of_the_jit(
    tmp_path: Path, triton_jit: TritonJit, children: Children
) -> None:
    source, launches = generate(seed=8, kernels=GENERATED, launches=3, plain=True)

    expected = triton_jit.specialized(source, launches, CUDA, tmp_path)

    wrong = []
    for launch, answer in zip(launches, expected["answers"], strict=True):
        facts = expected["facts"][launch.kernel]
        if answer["source_hash"] not in hashed(children, source, launch, facts):
            wrong.append((launch, answer, source_of(source, launch.kernel)))
    assert not wrong


def hashed(
    children: Children, source: str, launch: Launch, facts: list[dict[str, Any]]
) -> list[str]:
    binding = inferred(launch, facts, "cuda")
    front = {
        "kernel": launch.kernel,
        "files": {},
        "signature": binding.signature,
        "constexprs": binding.constexprs,
        "hints": binding.hints,
        "options": {},
        "target": dict(zip(("backend", "arch", "warp_size"), CUDA, strict=True)),
    }
    header = {"task": "cache_key", "front": front}
    found: list[str] = children.run(header, source.encode()).result["source_hashes"]
    return found

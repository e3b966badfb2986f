"""Every operation of the benchmarks' kernels, for each common target, has a text on the page."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from benchmarks.mix import Mix
from compiler.stages import pipeline
from compiler.target import ARCHITECTURES
from tests.integration.service.conftest import Post
from tests.integration.service.derived.compiled import get
from tests.unit.page.operation_texts import of_the_mix, operations_in, without_text

TARGETS = [row.name for row in ARCHITECTURES if row.is_common]
TEXTS = {"source": "mlir", "ttir": "mlir", "ttgir": "mlir", "ptx": "ptx", "amdgcn": "amdgcn"}
HAS_NO_FP8 = ("quantize_kernel", "cuda:80")


def kernels() -> list[dict[str, Any]]:
    """Return one request of the mix for each of its kernels."""
    return list({request["kernel"]: request for request in Mix().real()}.values())


@pytest.mark.parametrize("target", TARGETS)
def test_operations_have_texts(http: httpx.Client, post: Post, target: str) -> None:
    found: dict[str, set[str]] = {"mlir": set(), "ptx": set(), "sass": set(), "amdgcn": set()}
    shown = [stage for stage in TEXTS if stage in pipeline(target.partition(":")[0])]
    for request in kernels():
        made = post({**request, "target": target, "include": shown}).json()
        if (request["kernel"], target) == HAS_NO_FP8:
            assert made["state"] == "failed"
            continue
        assert made["state"] == "succeeded", made["problem"]
        for stage, text in made["included"].items():
            found[TEXTS[stage]] |= operations_in(TEXTS[stage], text)
        if target.startswith("cuda"):
            found["sass"] |= operations_in("sass", get(http, made, "artifacts/sass").text)

    for syntax, operations in found.items():
        assert without_text(syntax, operations) == []
        assert operations <= set(of_the_mix()[syntax]), "add it to operations_of_the_mix.json"

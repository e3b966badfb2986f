"""An edit outside the slice costs nothing, unless it moves the slice's lines."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.service.conftest import Post

SOURCE = """import torch, triton
import triton.language as tl

SIZE = tl.constexpr(64)


@triton.jit
def kernel(x_ptr):
    tl.static_print("compiling for", SIZE)
    tl.store(x_ptr + tl.arange(0, SIZE), 2.0)


kernel[(1,)](torch.empty(64))
"""


def compiled(post: Post, source: str) -> dict[str, Any]:
    body = {"source": source, "signature": {"x_ptr": "*fp32"}, "target": "cuda:90"}
    made: dict[str, Any] = post(body | {"include": ["source"], "stop_after": "ttir"}).json()
    assert made["state"] == "succeeded", made["problem"]
    assert made["diagnostics"] == []
    return made


def test_an_edit_outside_of_the_slice_compiles_nothing(post: Post) -> None:
    first = compiled(post, SOURCE)
    # A compile's results enter the cache a moment after its answer.
    times_ms = {first["timings_ms"]["frontend"]}
    for number in range(20):
        edited = compiled(post, SOURCE.replace("empty(64)", f"rand({number})") + "\nprint('new')\n")
        # The times are those of the first compile, to the microsecond.
        if edited["timings_ms"]["frontend"] in times_ms:
            break
        times_ms.add(edited["timings_ms"]["frontend"])
    else:
        pytest.fail(f"each of 20 edits was compiled, in {sorted(times_ms)} ms")

    assert edited["cache"] == "miss"
    assert edited["key"] != first["key"]
    assert edited["artifacts"]["source"]["digest"] == first["artifacts"]["source"]["digest"]
    assert edited["stdout"] == first["stdout"] == "compiling for 64\n"


def test_an_edit_that_moves_lines_moves_those_of_the_artifacts(post: Post) -> None:
    first = compiled(post, SOURCE)

    moved = compiled(post, "# one line more\n" + SOURCE)

    assert '"/kernel/user.py":10:' in first["included"]["source"]
    assert '"/kernel/user.py":11:' in moved["included"]["source"]


def test_an_edit_of_what_the_kernel_reaches_is_another_kernel(post: Post) -> None:
    first = compiled(post, SOURCE)

    smaller = compiled(post, SOURCE.replace("constexpr(64)", "constexpr(32)"))

    assert "tensor<32xi32>" in smaller["included"]["source"]
    assert "tensor<64xi32>" in first["included"]["source"]

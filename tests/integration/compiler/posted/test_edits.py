"""An edit executes the source again; what comes after an equal TTIR is shared."""

from __future__ import annotations

from typing import Any

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


def test_an_edit_that_leaves_the_ttir_alone_shares_the_back_end(post: Post) -> None:
    body = {"signature": {"x_ptr": "*fp32"}, "target": "cuda:90", "stop_after": "ptx"}
    edited = SOURCE.replace("empty(64)", "rand(64)") + "\nprint('new')\n"

    first = post({"source": SOURCE, **body}).json()
    second = post({"source": edited, **body}).json()

    assert second["cache"] == "miss"
    assert second["key"] != first["key"]
    digests = [each["artifacts"]["ttir"]["digest"] for each in (first, second)]
    assert digests[0] == digests[1]
    assert second["timings_ms"]["ptx"] == first["timings_ms"]["ptx"]
    assert second["stdout"] == "new\ncompiling for 64\n"


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

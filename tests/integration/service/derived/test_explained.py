"""The explanation of a compilation's cost, over HTTP."""

from __future__ import annotations

import httpx

from tests.integration.service.conftest import Post
from tests.integration.service.derived.compiled import get

SOURCE = """import triton
import triton.language as tl


@triton.jit
def every_32nd(x_ptr, y_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(y_ptr + i, tl.load(x_ptr + 32 * i))
"""


def test_a_strided_load_is_uncoalesced_and_its_store_is_not(http: httpx.Client, post: Post) -> None:
    signature = {"x_ptr": "*fp32:16", "y_ptr": "*fp32:16"}
    body = {"source": SOURCE, "signature": signature, "constexprs": {"B": 128}, "target": "cuda:90"}
    made = post(body).json()

    (found,) = get(http, made, "explanation").json()["uncoalesced"]

    assert (found["kind"], found["line"], found["apart_bytes"]) == ("load", 8, 128)
    assert "32 pieces of 32 bytes, where 4" in found["message"]

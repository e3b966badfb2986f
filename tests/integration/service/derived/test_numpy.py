"""The artifact `numpy` is made on demand."""

from __future__ import annotations

import types
from typing import Any

import httpx
import numpy as np
from tritonc import Client

from tests.integration.service import bodies
from tests.integration.service.conftest import Post
from tests.integration.service.derived.compiled import compiled, get
from tests.integration.service.running import Deployment

ADD = """
module {
  tt.func public @add(%x: !tt.ptr<f32>, %n: i32) {
    %i = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
    %all = tt.splat %x : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
    %at = tt.addptr %all, %i : tensor<4x!tt.ptr<f32>>, tensor<4xi32>
    %v = tt.load %at : tensor<4x!tt.ptr<f32>>
    %w = arith.addf %v, %v : tensor<4xf32>
    tt.store %at, %w : tensor<4x!tt.ptr<f32>>
    tt.return
  }
}
"""
ASSEMBLY = """
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    y = tl.inline_asm_elementwise("add.f32 $0, $1, 1.0;", "=f,f", [x], tl.float32, True, 1)
    tl.store(x_ptr + tl.arange(0, 64), y)
"""


def module(text: str) -> Any:
    made = types.ModuleType("kernel")
    exec(compile(text, "kernel.py", "exec"), made.__dict__)
    return made


def test_it_adds_two_vectors(http: httpx.Client, post: Post) -> None:
    compilation = compiled(post, "vector_add")
    x, y = np.random.default_rng(0).random((2, 1000), np.float32)
    output = np.zeros(1000, np.float32)

    answer = get(http, compilation, "artifacts/numpy")

    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/x-python")
    assert 'filename="add_kernel.py"' in answer.headers["content-disposition"]
    numpy = module(answer.text)
    numpy.launch(numpy.add_kernel, (1,), x, y, output, 1000)
    np.testing.assert_array_equal(output, x + y)


def test_the_user_s_line_stands_beside_what_was_made_of_it(http: httpx.Client, post: Post) -> None:
    compilation = compiled(post, "vector_add")
    source = bodies.good("vector_add")["source"]
    lines = {f"{n}: {line.strip()}" for n, line in enumerate(source.splitlines(), 1)}

    text = get(http, compilation, "artifacts/numpy").text

    comments = [line.split("  # ")[1] for line in text.splitlines() if "tl.load" in line]
    assert len(comments) == 2
    assert set(comments) <= lines


def test_posted_ttir_is_reported_as_it_was_posted(http: httpx.Client, post: Post) -> None:
    body = {"ir": {"language": "ttir", "text": ADD}, "target": "cuda:90", "stop_after": "ttir"}
    made = post(body).json()
    assert made["state"] == "succeeded", made

    numpy = module(get(http, made, "artifacts/numpy").text)

    x = np.arange(4, dtype=np.float32)
    numpy.launch(numpy.add, (1,), x, 4)
    assert list(x) == [0, 2, 4, 6]


def test_inline_assembly_is_refused_with_its_line(http: httpx.Client, post: Post) -> None:
    body = {"source": ASSEMBLY, "signature": {"x_ptr": "*fp32"}, "target": "cuda:90"}
    made = post(body | {"stop_after": "ttir"}).json()

    answer = get(http, made, "artifacts/numpy")

    assert (answer.status_code, answer.json()["slug"]) == (422, "not_derivable")
    assert "user.py, line 8: inline assembly" in answer.json()["detail"]


def test_the_client_has_it_too(system: Deployment, post: Post) -> None:
    compilation = compiled(post, "vector_add")

    with Client(system.url) as client:
        text = client.numpy(compilation["key"])

    assert "def add_kernel(x_ptr" in text

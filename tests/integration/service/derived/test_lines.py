"""Line maps from the user's lines to the lines of every artifact, and back."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from compiler.lines.line_map import MAPS
from tests.integration.service import bodies
from tests.integration.service.conftest import Post
from tests.integration.service.derived.compiled import compiled, get, line_of

STAGES = ("ttir", "ttgir", "llir", "ptx", "sass")


@pytest.fixture(scope="module")
def matmul(http: httpx.Client, post: Post) -> dict[str, Any]:
    compilation = compiled(post, "matmul")
    answer = get(http, compilation, "lines")
    assert answer.status_code == 200, answer.text
    texts = {stage: http.get(f"{compilation['url']}/artifacts/{stage}").text for stage in STAGES}
    return {
        "source": bodies.good("matmul")["source"],
        "lines": {(row["file"], row["line"]): row for row in answer.json()["lines"]},
        "texts": {stage: text.splitlines() for stage, text in texts.items()},
    }


def words_of(matmul: dict[str, Any], words: str, stage: str) -> str:
    """Return the lines of `stage` that come from the source line with `words`."""
    row = matmul["lines"]["user.py", line_of(matmul["source"], words)]
    return "\n".join(matmul["texts"][stage][number - 1] for number in row[stage])


@pytest.mark.parametrize("stage", ["ttir", "ttgir", "llir"])
def test_a_kernel_that_is_not_compiled_to_the_end_has_lines_too(
    http: httpx.Client, post: Post, stage: str
) -> None:
    compilation = post(bodies.good("vector_add", stop_after=stage)).json()

    answer = http.get(f"{compilation['url']}/lines", params={"wait": 60})

    assert answer.status_code == 200, answer.text
    assert any(row[stage] for row in answer.json()["lines"])
    assert compilation["abi"] is None  # nothing can launch it


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_is_mapped(matmul: dict[str, Any], stage: str) -> None:
    assert sum(len(row[stage]) for row in matmul["lines"].values()) > 50


@pytest.mark.parametrize("stage", STAGES)
def test_nearly_every_operation_has_a_line_of_the_user(matmul: dict[str, Any], stage: str) -> None:
    mapped = {number for row in matmul["lines"].values() for number in row[stage]}
    operations = MAPS[stage]("\n".join(matmul["texts"][stage])).operations

    assert len(mapped & operations) >= 0.9 * len(operations)


@pytest.mark.parametrize(
    ("stage", "words"),
    [
        ("ttir", "tt.dot"),
        ("ttgir", "ttng.warp_group_dot"),
        ("llir", "wgmma"),
        ("ptx", "wgmma.mma_async"),
        ("sass", "HGMMA"),
    ],
)
def test_the_dot_stands_under_its_line(matmul: dict[str, Any], stage: str, words: str) -> None:
    assert words in words_of(matmul, "tl.dot(a, b", stage)


@pytest.mark.parametrize(("stage", "words"), [("ttir", "scf.for"), ("ttgir", "scf.for")])
def test_a_loop_stands_under_its_line(matmul: dict[str, Any], stage: str, words: str) -> None:
    assert words in words_of(matmul, "for k in range(", stage)


@pytest.mark.parametrize("stage", ["ttir", "ttgir", "ptx"])
def test_a_helper_stands_under_its_own_line_and_the_call(
    matmul: dict[str, Any], stage: str
) -> None:
    within = words_of(matmul, "return tl.where(x >= 0", stage)
    call = words_of(matmul, "accumulator = leaky_relu(accumulator)", stage)

    assert within
    assert set(within.splitlines()) <= set(call.splitlines())


def test_the_library_stands_under_the_line_that_calls_it(matmul: dict[str, Any]) -> None:
    assert "arith.divsi" in words_of(matmul, "num_pid_m = tl.cdiv(M, BLOCK_M)", "ttir")
    assert {file for file, _ in matmul["lines"]} == {"user.py"}


PERSISTENT = """import triton
import triton.language as tl

@triton.jit
def k(a, b, c, M, N, K, BLOCK: tl.constexpr, STEP: tl.constexpr):
    columns = tl.cdiv(N, BLOCK)
    tiles = tl.cdiv(M, BLOCK) * columns
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0)):
        row, column = tile // columns * BLOCK, tile % columns * BLOCK
        total = tl.zeros((BLOCK, BLOCK), tl.float32)
        for step in range(tl.cdiv(K, STEP)):
            x = a.load([row, step * STEP])
            y = b.load([column, step * STEP])
            total = tl.dot(x, y.T, total)
        c.store([row, column], total.to(tl.float16))
"""


def test_copies_and_accumulators_of_hopper_have_lines(http: httpx.Client, post: Post) -> None:
    """Copies name an address first; warp group dots read what they write."""
    loaded, stored = "tensordesc<fp16[128,64]>", "tensordesc<fp16[128,128]>"
    body = {
        "source": PERSISTENT,
        "signature": {"a": loaded, "b": loaded, "c": stored, "M": "i32", "N": "i32", "K": "i32"},
        "constexprs": {"BLOCK": 128, "STEP": 64},
        "target": "cuda:90",
        "stop_after": "ptx",
    }
    compilation = post(body).json()
    rows = get(http, compilation, "lines").json()["lines"]
    text = http.get(f"{compilation['url']}/artifacts/ptx").text
    operations = MAPS["ptx"](text).operations

    assert "wgmma.mma_async" in text
    assert "cp.async.bulk.tensor" in text
    mapped = {number for row in rows for number in row["ptx"]}
    assert len(mapped & operations) > 0.99 * len(operations)


def test_no_line_is_one_that_the_source_does_not_have(matmul: dict[str, Any]) -> None:
    last = len(matmul["source"].splitlines())

    assert all(1 <= line <= last for _, line in matmul["lines"])
    for row in matmul["lines"].values():
        for stage in STAGES:
            assert all(1 <= number <= len(matmul["texts"][stage]) for number in row[stage])


def test_a_compilation_that_stopped_early_has_the_lines_it_reached(
    http: httpx.Client, post: Post
) -> None:
    compilation = compiled(post, "vector_add", stop_after="ttgir")

    lines = get(http, compilation, "lines").json()["lines"]

    assert any(row["ttgir"] for row in lines)
    assert not any(row["ptx"] or row["sass"] for row in lines)


def test_a_failed_compilation_has_the_lines_it_reached(http: httpx.Client, post: Post) -> None:
    failed = post(bodies.broken("ptxas_error")).json()

    lines = get(http, failed, "lines").json()["lines"]

    ptx = http.get(failed["artifacts"]["ptx"]["url"]).text.splitlines()
    (row,) = [row for row in lines if any("shll.b32" in ptx[n - 1] for n in row["ptx"])]
    assert row["line"] == failed["diagnostics"][0]["line"]
    assert row["sass"] == []


def test_other_files_are_named(http: httpx.Client, post: Post) -> None:
    helper = "import triton\n\n\n@triton.jit\ndef twice(x):\n    return x + x\n"
    source = (
        "import triton\nimport triton.language as tl\nfrom helper import twice\n\n\n"
        "@triton.jit\ndef kernel(x_ptr):\n    tl.store(x_ptr, twice(tl.load(x_ptr)))\n"
    )
    body = {"source": source, "files": {"helper.py": helper}, "signature": {"x_ptr": "*fp32"}}
    made = post(body | {"target": "cuda:90"}).json()
    assert made["state"] == "succeeded", made["problem"]

    lines = get(http, made, "lines").json()["lines"]

    (row,) = [row for row in lines if row["file"] == "helper.py"]
    assert row["line"] == 6
    assert row["ptx"]


def test_amd_assembly_is_mapped(http: httpx.Client, post: Post) -> None:
    compilation = compiled(post, "vector_add", target="hip:gfx942")

    lines = get(http, compilation, "lines").json()["lines"]

    source = bodies.good("vector_add")["source"]
    assembly = http.get(f"{compilation['url']}/artifacts/amdgcn").text.splitlines()
    (row,) = [row for row in lines if row["line"] == line_of(source, "tl.load(x_ptr")]
    assert any("buffer_load" in assembly[n - 1] or "global_load" in assembly[n - 1]
               for n in row["amdgcn"])  # fmt: skip
    assert row["sass"] == []


def test_nearly_all_of_amd_assembly_has_a_line(http: httpx.Client, post: Post) -> None:
    compilation = compiled(post, "matmul", target="hip:gfx942")

    lines = get(http, compilation, "lines").json()["lines"]

    assembly = http.get(f"{compilation['url']}/artifacts/amdgcn").text
    operations = MAPS["amdgcn"](assembly).operations
    mapped = {number for row in lines for number in row["amdgcn"]}
    assert len(mapped & operations) >= 0.9 * len(operations)

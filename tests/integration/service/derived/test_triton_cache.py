"""With the export `triton-cache` installed, Triton's own JIT does not compile the kernel."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.compiler.triton_compile import TritonProcess
from tests.integration.service import bodies
from tests.integration.service.conftest import Post
from tests.integration.service.derived.compiled import compiled, get

HERE = Path(__file__).parent
VECTOR_ADD = {
    "x_ptr": {"tensor": "float32"},
    "y_ptr": {"tensor": "float32"},
    "output_ptr": {"tensor": "float32"},
    "n_elements": 4096,
    "BLOCK_SIZE": 1024,
}
AMD = ("hip", "gfx942", 64)
HINTS_OF_AMD = ["divisible_by_16", "pointer_range_32"]
MATMUL = {name: {"tensor": "float16"} for name in ("a_ptr", "b_ptr", "c_ptr")} | {
    **dict.fromkeys(("M", "N", "K", "stride_am", "stride_bk", "stride_cm"), 512),
    **dict.fromkeys(("stride_ak", "stride_bn", "stride_cn"), 1),
    "BLOCK_M": 64,
    "BLOCK_N": 64,
    "BLOCK_K": 32,
    "GROUP_M": 8,
    "ACTIVATION": "leaky_relu",
}


def installed(http: httpx.Client, compilation: dict[str, Any], folder: Path) -> Path:
    """Unpack and install the export like a user; return Triton's cache folder."""
    answer = get(http, compilation, "exports/triton-cache")
    assert answer.status_code == 200, answer.text
    with tarfile.open(fileobj=io.BytesIO(answer.content)) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    environment = {"TRITON_CACHE_DIR": str(folder / "cache"), "PATH": os.environ["PATH"]}
    program = [sys.executable, folder / "unpacked" / "install.py"]
    helped = subprocess.run([*program, "--help"], env=environment, check=True, capture_output=True)
    assert b"Puts this kernel into Triton's cache" in helped.stdout
    assert not (folder / "cache").exists()
    subprocess.run(program, env=environment, check=True, capture_output=True)
    return folder / "cache"


class Jit(TritonProcess):
    """A process of `jit_hit.py`: what Triton's own JIT does with a folder of its cache."""

    def __init__(self, python: str | Path = sys.executable) -> None:
        path = str(HERE.parents[1] / "compiler")
        super().__init__(HERE / "jit_hit.py", python, PYTHONPATH=path, PYTHONWARNINGS="ignore")

    def compiled(
        self,
        cache: Path,
        source: str,
        kernel: str,
        arguments: Any,
        target: tuple[str, int | str, int] = ("cuda", 90, 32),
        **options: Any,
    ) -> dict[str, Any]:
        request = {"source": source, "kernel": kernel, "arguments": arguments, "options": options}
        return self.answer({**request, "target": target, "cache": str(cache)})


def jit(
    cache: Path,
    source: str,
    kernel: str,
    arguments: Any,
    python: str | Path = sys.executable,
    **changes: Any,
) -> dict[str, Any]:
    """Say what one process of Triton's JIT does."""
    with Jit(python) as process:
        return process.compiled(cache, source, kernel, arguments, **changes)


@pytest.fixture(scope="module")
def triton_jit() -> Iterator[Jit]:
    with Jit() as process:
        yield process


@pytest.mark.parametrize(
    ("name", "kernel", "arguments"),
    [
        ("vector_add", "add_kernel", VECTOR_ADD),
        pytest.param("matmul", "matmul_kernel", MATMUL, marks=pytest.mark.slow),
    ],
)
def test_the_jit_finds_what_was_installed(
    http: httpx.Client,
    post: Post,
    tmp_path: Path,
    triton_jit: Jit,
    name: str,
    kernel: str,
    arguments: Any,
) -> None:
    compilation = compiled(post, name)
    cache = installed(http, compilation, tmp_path)

    answer = triton_jit.compiled(cache, bodies.good(name)["source"], kernel, arguments)

    assert answer["cache_hit"] == [True]
    assert answer["binary"] == compilation["artifacts"]["cubin"]["size_bytes"]


def test_other_constants_are_compiled(
    http: httpx.Client, post: Post, tmp_path: Path, triton_jit: Jit
) -> None:
    cache = installed(http, compiled(post, "vector_add"), tmp_path)
    source = bodies.good("vector_add")["source"]

    answer = triton_jit.compiled(cache, source, "add_kernel", VECTOR_ADD | {"BLOCK_SIZE": 512})

    assert answer["cache_hit"] == [False]


@pytest.mark.slow
def test_options_count(http: httpx.Client, post: Post, tmp_path: Path, triton_jit: Jit) -> None:
    cache = installed(http, compiled(post, "vector_add", options={"num_warps": 8}), tmp_path)
    source = bodies.good("vector_add")["source"]

    answer = triton_jit.compiled(cache, source, "add_kernel", VECTOR_ADD, num_warps=8)

    assert answer["cache_hit"] == [True]


@pytest.mark.slow
def test_an_amd_gpu_finds_its_own(
    http: httpx.Client, post: Post, tmp_path: Path, triton_jit: Jit
) -> None:
    # Triton's JIT also records that 32 bits reach all of a tensor.
    pointers = dict.fromkeys(("x_ptr", "y_ptr", "output_ptr"), HINTS_OF_AMD)
    hints = {**pointers, "n_elements": ["divisible_by_16"]}
    compilation = compiled(post, "vector_add", target="hip:gfx942", hints=hints)
    cache = installed(http, compilation, tmp_path)
    source = bodies.good("vector_add")["source"]

    answer = triton_jit.compiled(cache, source, "add_kernel", VECTOR_ADD, target=AMD)

    assert answer["cache_hit"] == [True]
    assert answer["binary"] == compilation["artifacts"]["hsaco"]["size_bytes"]


def test_posted_ir_is_refused(http: httpx.Client, post: Post) -> None:
    source = compiled(post, "vector_add", stop_after="ttir")
    text = http.get(f"{source['url']}/artifacts/ttir").text
    posted = post({"ir": {"language": "ttir", "text": text}, "target": "cuda:90"}).json()

    answer = get(http, posted, "exports/triton-cache")

    assert (answer.status_code, answer.json()["slug"]) == (422, "not_derivable")


DESCRIBED = """import triton
import triton.language as tl

@triton.jit
def copy(source, target, pair, stride: tl.int64, BLOCK: tl.constexpr):
    tile = source.load([0, 0])
    if pair[1] is None:
        tile += pair[0]
    target.store([0, 0], tile * stride.to(tl.float16))
"""


@pytest.mark.slow
def test_descriptors_tuples_with_constants_and_annotated_ones_are_found(
    http: httpx.Client, post: Post, tmp_path: Path, triton_jit: Jit
) -> None:
    described = "tensordesc<fp16[64,64]>"
    body = {
        "source": DESCRIBED,
        "signature": {
            "source": described,
            "target": described,
            "pair": ["i32:1", None],
            "stride": "i64",
        },
        "constexprs": {"BLOCK": 64},
        "target": "cuda:90",
    }
    compilation = post(body).json()
    assert compilation["state"] == "succeeded", compilation
    cache = installed(http, compilation, tmp_path)
    tile = {"descriptor": {"tensor": "float16"}, "block_shape": [64, 64]}
    arguments = {"source": tile, "target": tile, "pair": {"tuple": [1, None]}, "BLOCK": 64}

    for stride in (1, 48 + 1):
        answer = triton_jit.compiled(cache, DESCRIBED, "copy", arguments | {"stride": stride})
        assert answer["cache_hit"] == [True]


def test_a_source_that_runs_code_has_a_key(http: httpx.Client, post: Post) -> None:
    choice = "import triton\nSEEN = [name for name in dir(triton)]"
    compilation = post(bodies.running(choice, stop_after="cubin")).json()
    assert compilation["state"] == "succeeded", compilation["problem"]

    answer = get(http, compilation, "exports/triton-cache")

    assert answer.status_code == 200, answer.text

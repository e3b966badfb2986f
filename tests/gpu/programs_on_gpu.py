"""A tritond whose programs run on a GPU, and programs for the tests to post."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.gpu.serving import running

GPU = {"target": "cuda:90"}
WITHIN_S = 120
KERNELS = """import torch
import triton
import triton.language as tl

@triton.jit
def scale_kernel(x_ptr, output_ptr, n, factor, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(output_ptr + offsets, x * factor, mask=offsets < n)

def scaled(x, factor):
    output = torch.empty_like(x)
    scale_kernel[(triton.cdiv(x.numel(), 1024),)](x, output, x.numel(), factor, BLOCK=1024)
    return output
"""
MODEL = """
class {name}(torch.nn.Module):
    def __init__(self):
        super().__init__()
{made}
    def forward(self, x):
{forward}
"""


class ProgramsOnGpu(httpx.Client):
    """A client whose programs run on a GPU unless they name a device."""

    def post(self, url: Any, **more: Any) -> httpx.Response:
        """Post a program; one that runs gets a device."""
        body = more.get("json", {})
        if str(url).startswith("/v1/programs") and "stop_after" not in body:
            more["json"] = {"device": GPU, **body}
        return super().post(url, **more)


@contextmanager
def programs_on_gpu(data: Path) -> Iterator[httpx.Client]:
    """Yield a client of a new tritond once a program has run on its GPU."""
    with running(data) as serving, ProgramsOnGpu(base_url=serving.base_url, timeout=150) as client:
        _wait(client, data / "log")
        yield client


def _wait(client: httpx.Client, log: Path) -> None:
    end = time.monotonic() + WITHIN_S
    body = {"source": program("return scaled(x, 2.0)"), "inputs": inputs("torch.ones(8)")}
    while True:
        answer = client.post("/v1/programs", params={"wait": 60}, json=body)
        if answer.is_success:
            return
        if time.monotonic() > end:
            raise AssertionError(f"{answer.text}\n{log.read_text()[-3000:]}")
        time.sleep(0.3)


def program(forward: str, made: str = "pass", kernels: str = "", name: str = "ModelNew") -> str:
    """Return a module with kernels and a model with this `forward(self, x)`."""
    indented = {"made": made, "forward": forward}
    indented = {part: textwrap.indent(text, " " * 8) for part, text in indented.items()}
    return KERNELS + kernels + MODEL.format(name=name, **indented)


def reference(forward: str, x: str, made: str = "pass", kernels: str = "") -> str:
    """Return its reference, which makes `x` by an expression."""
    makes = f"\ndef get_inputs():\n    return [{x}]\n\ndef get_init_inputs():\n    return []\n"
    return program(forward, made, kernels, name="Model") + makes


def inputs(x: str) -> dict[str, str]:
    """Return inputs whose text neither program contains."""
    return {"source": f"import torch\n\ndef get_inputs():\n    return [{x}]\n"}


def line_of(source: str, words: str) -> int:
    """Return the first line with these words."""
    return next(at for at, line in enumerate(source.split("\n"), 1) if words in line)


def reported(answer: dict[str, Any]) -> str:
    """Return an answer, shortened for the report of a run."""
    findings = [(one["kind"], one["line"], one["message"][:80]) for one in answer["findings"] or []]
    flags = [flag["kind"] for flag in answer["flags"]]
    timing = answer["timing"] or {}
    problem = answer["problem"] and (answer["problem"]["slug"], answer["problem"]["detail"][:120])
    return (
        f"{answer['verdict'] or problem} {findings} {flags} median {timing.get('median_us')} "
        f"by {timing.get('method')}, speed-up {answer['speedup']}, coverage {answer['coverage']}"
    )

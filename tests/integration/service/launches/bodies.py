"""Bodies of launch requests: buffers, and the launches that most tests vary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

KERNELS = Path(__file__).parents[3] / "kernels"
HEADER = "import triton\nimport triton.language as tl\n"
SUM = "def reference(x_ptr, y_ptr, **_):\n    return x_ptr + y_ptr\n"


def source(name: str) -> str:
    """Return the text of tests/kernels/launch/<name>.py."""
    return (KERNELS / "launch" / f"{name}.py").read_text()


def uniform(*shape: int, seed: int = 1, dtype: str = "fp32", **more: Any) -> dict[str, Any]:
    """Return a buffer of random numbers."""
    init = {"kind": "uniform", "seed": seed}
    return {"shape": list(shape), "dtype": dtype, "init": init, **more}


def arange(*shape: int, dtype: str = "fp32", **more: Any) -> dict[str, Any]:
    """Return a buffer of 0, 1, 2, ..."""
    return {"shape": list(shape), "dtype": dtype, "init": {"kind": "arange"}, **more}


def output(*shape: int, dtype: str = "fp32", **more: Any) -> dict[str, Any]:
    """Return a poisoned output."""
    return {"shape": list(shape), "dtype": dtype, "output": True, **more}


def launch(
    text: str,
    kernel: str,
    arguments: Any,
    constexprs: dict[str, Any] | None = None,
    grid: list[Any] | None = None,
    **changes: Any,
) -> dict[str, Any]:
    """Return a launch on the CPU device; `reference` may be a source alone."""
    compilation = {"source": text, "kernel": kernel, "target": "cuda:90"}
    if constexprs:
        compilation["constexprs"] = constexprs
    if isinstance(changes.get("reference"), str):
        changes["reference"] = {"source": changes["reference"]}
    usual = {"compilation": compilation, "device": "cpu", "grid": grid or [1]}
    return {**usual, "arguments": arguments, **changes}


def written(code: str, arguments: Any, **changes: Any) -> dict[str, Any]:
    """Return a launch of the jit function `kernel` that `code` defines."""
    return launch(HEADER + code, "kernel", arguments, **changes)


def loading(code: str, **changes: Any) -> dict[str, Any]:
    """Return a launch whose source runs `code` when compiled, and whose kernel stores a 1."""
    lines = "".join(f"    {line}\n" for line in code.strip().splitlines())
    text = f"def act():\n{lines}    return 1\n\nHELD = act()\n\n@triton.jit\n"
    text += "def kernel(out_ptr, N: tl.constexpr = HELD):\n    tl.store(out_ptr, N)\n"
    return written(text, {"out_ptr": output(1)}, **changes)


def vector_add(elements: int = 100, **changes: Any) -> dict[str, Any]:
    """Return a correct vector add of any size, with its reference."""
    arguments = {
        "x_ptr": uniform(elements, seed=1),
        "y_ptr": uniform(elements, seed=2),
        "output_ptr": output(elements),
        "n_elements": elements,
    }
    usual: dict[str, Any] = {
        "arguments": arguments | changes.pop("arguments", {}),
        "constexprs": {"BLOCK_SIZE": 32},
        "grid": ["cdiv(n_elements, BLOCK_SIZE)"],
        "reference": SUM,
    }
    return launch(source("vector_add"), "add_kernel", **(usual | changes))


COPY = """
@triton.jit
def kernel(x_ptr, z_ptr, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(z_ptr + lanes, tl.load(x_ptr + lanes))
"""


def copy(elements: int = 8, dtype: str = "fp32", **changes: Any) -> dict[str, Any]:
    """Return a launch that copies 0, 1, 2, ... of a type."""
    arguments = {"x_ptr": arange(elements, dtype=dtype), "z_ptr": output(elements, dtype=dtype)}
    body = written(COPY, arguments | changes.pop("arguments", {}), **changes)
    body["compilation"]["constexprs"] = {"N": elements}
    return body

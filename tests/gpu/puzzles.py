"""Runs the puzzles, and a notebook's matmul, on a GPU: `python tests/gpu/puzzles.py`.

Starts its own `tritond up`, and prints each verdict with the expected one.
"""
# ruff: noqa: T201 - a script that reports

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.gpu.serving import running  # noqa: E402

PUZZLES = (ROOT / "tests" / "kernels" / "launch" / "puzzles.py").read_text()
MATMUL = (ROOT / "tests" / "kernels" / "good" / "matmul_notebook.py").read_text()
BLOCKS = {"B0": 32, "B1": 32}
CONVOLUTION = """import numpy as np


def reference(x_ptr, k_ptr, **_):
    padded = np.pad(x_ptr, ((0, 0), (0, 3), (0, 3)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (4, 4), axis=(1, 2))
    return (windows * k_ptr).sum(axis=(3, 4)).astype(np.float32)
"""


def given(*shape: int, seed: int = 1) -> dict[str, Any]:
    return {"shape": list(shape), "dtype": "fp32", "init": {"kind": "uniform", "seed": seed}}


def out(*shape: int) -> dict[str, Any]:
    return {"shape": list(shape), "dtype": "fp32", "output": True}


def function(expression: str) -> str:
    return (
        f"import numpy as np\n\n\ndef reference(x_ptr=0, y_ptr=0, **k):\n    return {expression}\n"
    )


def cases() -> list[tuple[str, str, dict[str, Any]]]:
    pair = {"x_ptr": given(100), "y_ptr": given(90, seed=2), "z_ptr": out(90, 100)}
    sizes = {"N0": 100, "N1": 90}
    gradient = {
        "x_ptr": given(90, 100),
        "y_ptr": given(90, seed=2),
        "dz_ptr": given(90, 100, seed=3),
        "dx_ptr": out(90, 100),
    }
    small = {"x_ptr": given(32), "y_ptr": given(32, seed=2), "z_ptr": out(32, 32)}
    images = {"x_ptr": given(4, 8, 8), "k_ptr": given(4, 4, seed=2), "z_ptr": out(4, 8, 8)}
    images |= {"N0": 4, "N1": 32, "H": 8, "W": 8}
    filters = {"KH": 4, "KW": 4, "B0": 1, "B1": 32}
    softmax = {"x_ptr": given(4, 200), "z_ptr": out(4, 200), "N0": 4, "N1": 32, "TN1": 200}
    add = "x_ptr[None, :] + y_ptr[:, None]"
    relu = "np.maximum(x_ptr[None, :] * y_ptr[:, None], 0)"
    back = "np.where(x_ptr * y_ptr[:, None] > 0, k['dz_ptr'], 0) * y_ptr[:, None]"
    soft = "np.exp(x_ptr) / np.exp(x_ptr).sum(1, keepdims=True)"
    one = {"x_ptr": given(32), "z_ptr": out(32), "N0": 32}
    many = {"x_ptr": given(200), "z_ptr": out(200), "N0": 200}
    asked = [
        ("1 add_ten", one, {"B0": 32}, [1], function("x_ptr + 10"), "passed"),
        ("2 add_ten_in_blocks", many, {"B0": 32}, [7], function("x_ptr + 10"), "passed"),
        ("3 outer_sum", small | {"N0": 32, "N1": 32}, BLOCKS, [1], function(add), "passed"),
        ("4 outer_sum_in_blocks", pair | sizes, BLOCKS, [4, 3], function(add), "passed"),
        ("5 outer_product_relu", pair | sizes, BLOCKS, [4, 3], function(relu), "passed"),
        ("6 product_relu_gradient", gradient | sizes, BLOCKS, [4, 3], function(back), "passed"),
        ("7 long_softmax", softmax, {"B0": 1, "B1": 32}, [4], function(soft), "passed"),
        ("8 convolution, stub spec", images, filters, [4], function("x_ptr"), "mismatch"),
        ("8 convolution", images, filters, [4], CONVOLUTION, "passed"),
    ]
    return [
        (name, wanted, launch(PUZZLES, name.split()[1].rstrip(","), *rest))
        for name, *rest, wanted in asked
    ] + matmuls()


def launch(
    source: str,
    kernel: str,
    arguments: dict[str, Any],
    constexprs: dict[str, Any],
    grid: list[Any],
    reference: str,
) -> dict[str, Any]:
    compilation = {"source": source, "kernel": kernel, "constexprs": constexprs}
    return {
        "compilation": compilation | {"target": "cuda:90"},
        "device": {"target": "cuda:90"},
        "grid": grid,
        "arguments": arguments,
        "reference": {"source": reference},
    }


def matmuls() -> list[tuple[str, str, dict[str, Any]]]:
    strides = {"stride_am": 128, "stride_ak": 1, "stride_bk": 128, "stride_bn": 1}
    strides |= {"stride_cm": 128, "stride_cn": 1}
    normal = {"shape": [128, 128], "dtype": "fp32"}
    arguments: dict[str, Any] = {
        "A_ptr": normal | {"init": {"kind": "normal", "seed": 1}},
        "B_ptr": normal | {"init": {"kind": "normal", "seed": 2}},
        "C_ptr": out(128, 128),
        "M": 128, "N": 128, "K": 128, **strides,
    }  # fmt: skip
    blocks = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64}
    product = "def reference(A_ptr, B_ptr, **_):\n    return A_ptr @ B_ptr\n"
    body = launch(MATMUL, "matmul_kernel", arguments, blocks, [2, 2], product)
    strict = body | {"reference": {"source": product, "rtol": 1e-5, "atol": 1e-8}}
    loose = body | {"reference": {"source": product, "rtol": 1e-2, "atol": 5e-2}}
    return [
        ("matmul, allclose's tolerance", "mismatch", strict),
        ("matmul, a tolerance for tf32", "passed", loose),
    ]


def ask_all(client: httpx.Client) -> int:
    wrong = 0
    for name, wanted, body in cases():
        started = time.perf_counter()
        answer = client.post("/v1/launches?wait=60", json=body).json()
        ms = (time.perf_counter() - started) * 1000
        problem = answer.get("problem") or {}
        said = answer.get("verdict") or problem.get("slug") or answer.get("detail")
        errors = [
            (output["comparison"]["max_abs_error"], output["comparison"]["mismatched"])
            for output in (answer.get("outputs") or {}).values()
            if output["comparison"]
        ]
        wrong += said != wanted
        mark = "ok   " if said == wanted else "WRONG"
        print(f"{mark} {name}: {said} in {ms:.0f} ms, (max error, mismatched) {errors}")
        for output in (answer.get("outputs") or {}).values():
            if output["comparison"] and output["comparison"]["note"]:
                print("      ", output["comparison"]["note"])
        if problem:
            print("      ", problem["detail"])
    return wrong


def main() -> int:
    with tempfile.TemporaryDirectory() as data, running(Path(data)) as client:
        return ask_all(client)


if __name__ == "__main__":
    sys.exit(main())

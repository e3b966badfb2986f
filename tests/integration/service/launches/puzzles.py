"""Exercises for learners of Triton, solved, each with a NumPy version of its specification."""

from __future__ import annotations

from typing import Any

from tests.integration.service.launches import bodies
from tests.integration.service.launches.bodies import output, uniform

BLOCKS = ["cdiv(N0, B0)", "cdiv(N1, B1)"]
SIZES = {"N0": 100, "N1": 90}
B = {"B0": 32, "B1": 32}
CONVOLUTION = """
import numpy as np

def reference(x_ptr, k_ptr, **_):
    padded = np.pad(x_ptr, ((0, 0), (0, 3), (0, 3)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (4, 4), axis=(1, 2))
    return np.einsum("nijkl,kl->nij", windows, k_ptr)
"""
PUZZLES: dict[str, dict[str, Any]] = {
    "1 constant add": {
        "kernel": "add_ten",
        "arguments": {"x_ptr": uniform(32), "z_ptr": output(32), "N0": 32},
        "constexprs": {"B0": 32},
        "reference": "def reference(x_ptr, **_):\n    return x_ptr + 10\n",
    },
    "2 constant add in blocks": {
        "kernel": "add_ten_in_blocks",
        "arguments": {"x_ptr": uniform(200), "z_ptr": output(200), "N0": 200},
        "constexprs": {"B0": 32},
        "grid": BLOCKS[:1],
        "reference": "def reference(x_ptr, **_):\n    return x_ptr + 10\n",
    },
    "3 outer vector add": {
        "kernel": "outer_sum",
        "arguments": {
            "x_ptr": uniform(32), "y_ptr": uniform(32), "z_ptr": output(32, 32),
            "N0": 32, "N1": 32,
        },
        "constexprs": B,
        "reference": "def reference(x_ptr, y_ptr, **_):\n    return x_ptr + y_ptr[:, None]\n",
    },
    "4 outer vector add in blocks": {
        "kernel": "outer_sum_in_blocks",
        "arguments": {
            "x_ptr": uniform(100), "y_ptr": uniform(90), "z_ptr": output(90, 100), **SIZES
        },
        "constexprs": B,
        "grid": BLOCKS,
        "reference": "def reference(x_ptr, y_ptr, **_):\n    return x_ptr + y_ptr[:, None]\n",
    },
    "5 fused multiply and relu": {
        "kernel": "outer_product_relu",
        "arguments": {
            "x_ptr": uniform(100), "y_ptr": uniform(90), "z_ptr": output(90, 100), **SIZES
        },
        "constexprs": B,
        "grid": BLOCKS,
        "reference": "import numpy as np\n\ndef reference(x_ptr, y_ptr, **_):\n"
        "    return np.maximum(x_ptr * y_ptr[:, None], 0)\n",
    },
    "6 its gradient": {
        "kernel": "product_relu_gradient",
        "arguments": {
            "x_ptr": uniform(90, 100), "y_ptr": uniform(90), "dz_ptr": uniform(90, 100, seed=3),
            "dx_ptr": output(90, 100), **SIZES,
        },
        "constexprs": B,
        "grid": BLOCKS,
        "reference": "def reference(x_ptr, y_ptr, dz_ptr, **_):\n    y = y_ptr[:, None]\n"
        "    return (x_ptr * y > 0) * dz_ptr * y\n",
    },
    "7 long softmax": {
        "kernel": "long_softmax",
        "arguments": {
            "x_ptr": uniform(4, 200), "z_ptr": output(4, 200), "N0": 4, "N1": 32, "TN1": 200,
        },
        "constexprs": {"B0": 1, "B1": 32},
        "grid": ["N0"],
        "reference": "import numpy as np\n\ndef reference(x_ptr, **_):\n"
        "    e = np.exp(x_ptr - x_ptr.max(1, keepdims=True))\n"
        "    return e / e.sum(1, keepdims=True)\n",
    },
    "8 convolution": {
        "kernel": "convolution",
        "arguments": {
            "x_ptr": uniform(4, 8, 8), "k_ptr": uniform(4, 4, seed=2), "z_ptr": output(4, 8, 8),
            "N0": 4, "N1": 32, "H": 8, "W": 8,
        },
        "constexprs": {"KH": 4, "KW": 4, "B0": 1, "B1": 32},
        "grid": ["N0"],
        "reference": CONVOLUTION,
    },
}  # fmt: skip


def puzzle(name: str, **changes: Any) -> dict[str, Any]:
    return bodies.launch(bodies.source("puzzles"), **(PUZZLES[name] | changes))


def matmul(reference: dict[str, Any]) -> dict[str, Any]:
    text = (bodies.KERNELS / "good" / "matmul_notebook.py").read_text()
    arguments = {
        "A_ptr": {"shape": [128, 128], "dtype": "fp32", "init": {"kind": "normal", "seed": 1}},
        "B_ptr": {"shape": [128, 128], "dtype": "fp32", "init": {"kind": "normal", "seed": 2}},
        "C_ptr": output(128, 128),
        **dict.fromkeys(("M", "N", "K", "stride_am", "stride_bk", "stride_cm"), 128),
        **dict.fromkeys(("stride_ak", "stride_bn", "stride_cn"), 1),
    }
    blocks = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64}
    grid = ["cdiv(M, BLOCK_M)", "cdiv(N, BLOCK_N)"]
    source = "def reference(A_ptr, B_ptr, **_):\n    return A_ptr @ B_ptr\n"
    reference = {"source": source, **reference}
    # without an explicit precision it multiplies in TF32, like on a GPU
    text = text.replace("tl.dot(a, b)", 'tl.dot(a, b, input_precision="ieee")')
    return bodies.launch(text, "matmul_kernel", arguments, blocks, grid, reference=reference)

"""Launches of correct kernels, large and small, in which fuzzing must find nothing."""

from __future__ import annotations

from typing import Any

from tests.integration.service.launches import bodies
from tests.integration.service.launches.bodies import output, uniform
from tests.integration.service.launches.right_in_use import IN_USE, NUMPY, normal


def everywhere(
    kernel: str, arguments: dict[str, Any], grid: list[Any], reference: str, **more: Any
) -> dict[str, Any]:
    """Return a launch of a kernel of tests/kernels/launch/right_everywhere.py, in blocks of 128."""
    text = bodies.source("right_everywhere")
    answer = {"source": NUMPY + reference, **more}
    return bodies.launch(text, kernel, arguments, {"BLOCK": 128}, grid, reference=answer)


def drawn(*shape: int, high: int) -> dict[str, Any]:
    """Return a buffer of random integers from 0."""
    init = {"kind": "randint", "high": high, "seed": 3}
    return {"shape": list(shape), "dtype": "i32", "init": init}


def _as_tensor(argument: dict[str, Any]) -> dict[str, Any]:
    return {"descriptor": {"base": argument, "block_shape": [16, 32]}}


IN_BLOCKS = ["cdiv(n, BLOCK)"]
ADAM = """def reference(p_ptr, g_ptr, m_ptr, v_ptr, rate, beta1, beta2, epsilon, **_):
    m = beta1 * m_ptr + (1 - beta1) * g_ptr
    v = beta2 * v_ptr + (1 - beta2) * g_ptr * g_ptr
    return {"p_ptr": p_ptr - rate * m / (np.sqrt(v) + epsilon), "m_ptr": m, "v_ptr": v}
"""
GROUP_NORM = """def reference(x_ptr, groups, epsilon, **_):
    x = x_ptr.reshape(len(x_ptr), groups, -1)
    y = (x - x.mean(2, keepdims=True)) / np.sqrt(x.var(2, keepdims=True) + epsilon)
    return y.reshape(x_ptr.shape)
"""
GELU = """def reference(x_ptr, **_):
    inner = 0.7978845608 * (x_ptr + 0.044715 * x_ptr**3)
    return 0.5 * x_ptr * (1 + np.tanh(inner))
"""
TO_INTEGERS = """def reference(x_ptr, **_):
    scale = np.maximum(np.abs(x_ptr).max(axis=1), 1e-6) / 127
    q = x_ptr / scale[:, None]
    return {"q_ptr": np.trunc(q + np.copysign(0.5, q)), "scale_ptr": scale}
"""
PARTIAL_SUMS = """def reference(x_ptr, BLOCK, **_):
    starts = range(0, len(x_ptr), BLOCK)
    return np.array([x_ptr[start : start + BLOCK].sum() for start in starts])
"""
_SMALL: dict[str, dict[str, Any]] = {
    "histogram": everywhere(
        "histogram",
        {
            "x_ptr": drawn(1000, high=50), "n": 1000,
            "counts_ptr": {
                "shape": [50], "dtype": "i32", "init": {"kind": "zeros"}, "output": True
            },
        },
        IN_BLOCKS,
        "def reference(x_ptr, counts_ptr, **_):\n"
        "    return counts_ptr + np.bincount(x_ptr, minlength=len(counts_ptr))\n",
    ),
    "embedding": everywhere(
        "embedding",
        {
            "ids_ptr": drawn(70, high=300), "table_ptr": normal(300, 100), "z_ptr": output(70, 100),
            "n": 70, "width": 100,
        },
        ["n"], "def reference(ids_ptr, table_ptr, **_):\n    return table_ptr[ids_ptr]\n",
    ),
    "transpose": everywhere(
        "transpose",
        {
            "x_ptr": normal(100, 70), "z_ptr": output(70, 100), "M": 100, "N": 70, "stride_xm": 70,
            "stride_xn": 1, "stride_zn": 100, "stride_zm": 1,
        },
        ["cdiv(M, BLOCK)", "cdiv(N, BLOCK)"], "def reference(x_ptr, **_):\n    return x_ptr.T\n",
    ),
    "partial sums": everywhere(
        "partial_sums", {"x_ptr": normal(1000), "z_ptr": output(8), "n": 1000}, IN_BLOCKS,
        PARTIAL_SUMS,
    ),
    "three neighbours": everywhere(
        "three_neighbours", {"x_ptr": normal(1002), "z_ptr": output(1000), "n": 1000}, IN_BLOCKS,
        "def reference(x_ptr, **_):\n    return (x_ptr[:-2] + x_ptr[1:-1] + x_ptr[2:]) / 3\n",
    ),
    "group norm": everywhere(
        "group_norm",
        {
            "x_ptr": normal(10, 96), "z_ptr": output(10, 96), "n_rows": 10, "channels": 96,
            "groups": 4, "epsilon": 1e-5,
        },
        ["n_rows * groups"], GROUP_NORM,
    ),
    "adam": everywhere(
        "adam",
        {
            "p_ptr": normal(1000, output=True), "g_ptr": normal(1000, seed=2),
            "m_ptr": normal(1000, seed=3, output=True), "v_ptr": uniform(1000, output=True),
            "n": 1000, "rate": 1e-3, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8,
        },
        IN_BLOCKS, ADAM,
    ),
    "gelu": everywhere(
        "gelu", {"x_ptr": normal(1000), "z_ptr": output(1000), "n": 1000}, IN_BLOCKS, GELU
    ),
    "gelu bf16": everywhere(
        "gelu",
        {"x_ptr": normal(1000, dtype="bf16"), "z_ptr": output(1000, dtype="bf16"), "n": 1000},
        IN_BLOCKS, GELU,
    ),
    "to integers": everywhere(
        "quantize",
        {
            "x_ptr": normal(20, 100), "q_ptr": output(20, 100, dtype="i8"),
            "scale_ptr": output(20), "n_rows": 20, "n_columns": 100,
        },
        ["n_rows"], TO_INTEGERS,
    ),
    "mean of rows": everywhere(
        "mean_of_rows",
        {
            "x_ptr": normal(20, 400), "z_ptr": output(20), "n_rows": 20, "n_columns": 400,
            "one_over_n": 1 / 400,
        },
        ["n_rows"], "def reference(x_ptr, **_):\n    return x_ptr.mean(axis=1)\n",
    ),
    "descriptors": bodies.launch(
        bodies.source("right_everywhere"), "add_with_descriptors",
        {
            "x_desc": _as_tensor(normal(64, 64)), "y_desc": _as_tensor(normal(64, 64, seed=2)),
            "z_desc": _as_tensor(output(64, 64)),
        },
        {"BLOCK_M": 16, "BLOCK_N": 32}, [4, 2],
        reference="def reference(x_desc, y_desc, **_):\n    return x_desc + y_desc\n",
    ),
}  # fmt: skip
RIGHT = IN_USE | _SMALL

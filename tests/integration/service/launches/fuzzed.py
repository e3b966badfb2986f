"""Launches to fuzz: kernels that are wrong for other inputs, and their requests."""

from __future__ import annotations

from typing import Any

from tests.integration.service.launches import bodies
from tests.integration.service.launches.bodies import output, uniform

ROWS = ["n_rows"]
TWICE = "def reference(x_ptr, **_):\n    return 2 * x_ptr\n"
SOFTMAX = """
import numpy as np

def reference(x_ptr, **_):
    e = np.exp(x_ptr - x_ptr.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
"""
ENTROPY = """
import numpy as np

def reference(x_ptr, **_):
    return np.where(x_ptr > 0, -x_ptr * np.log(np.where(x_ptr > 0, x_ptr, 1)), 0)
"""
KEPT = """
import numpy as np

def reference(x_ptr, y_ptr, **_):
    return np.where(y_ptr > 0, x_ptr, 0)
"""
QUOTIENT = """
import numpy as np

def reference(x_ptr, y_ptr, **_):
    return np.where(y_ptr == 0, 0, x_ptr / np.where(y_ptr == 0, 1, y_ptr))
"""


def fuzzed(body: dict[str, Any], seed: int = 1, **how: Any) -> dict[str, Any]:
    """Return the launch, fuzzed from a seed."""
    return body | {"checks": ["fuzz"], "fuzz": {"seed": seed, **how}}


def elements(kernel: str, reference: str, n: int = 4096, **more: Any) -> dict[str, Any]:
    """Return a launch of a kernel of one row in blocks of 128."""
    arguments = {"x_ptr": uniform(n), **more.pop("arguments", {}), "z_ptr": output(n), "n": n}
    text = bodies.source("wrong_elsewhere")
    grid = ["cdiv(n, BLOCK)"]
    return bodies.launch(text, kernel, arguments, {"BLOCK": 128}, grid, reference=reference, **more)


def rows(
    kernel: str,
    reference: str | dict[str, Any],
    n_rows: int = 16,
    n_columns: int = 256,
    **more: Any,
) -> dict[str, Any]:
    """Return a launch of a kernel with a program for each row, in blocks of 256."""
    arguments = {
        "x_ptr": uniform(n_rows, n_columns), "z_ptr": output(n_rows, n_columns),
        "n_rows": n_rows, "n_columns": n_columns, **more.pop("arguments", {}),
    }  # fmt: skip
    text = bodies.source("wrong_elsewhere")
    constexprs = {"BLOCK": more.pop("block", 256)}
    return bodies.launch(text, kernel, arguments, constexprs, ROWS, reference=reference, **more)


def of_rows(name: str) -> str:
    """Return a reference that applies a method of its input to each row."""
    return f"def reference(x_ptr, **_):\n    return x_ptr.{name}(axis=1)\n"


ONE_EACH = {"z_ptr": output(16)}
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no mask at the tail": (elements("no_mask_at_the_tail", TWICE), "out_of_bounds"),
    "contiguous rows": (
        rows(
            "assumes_contiguous_rows", TWICE, arguments={"x_stride": 240, "z_stride": 240},
            n_columns=240,
        ),
        "mismatch",
    ),
    "softmax without maximum": (
        rows("softmax_without_maximum", SOFTMAX, n_columns=200), "mismatch"
    ),
    "mean of the padded row": (
        rows(
            "mean_of_the_padded_row", of_rows("mean"), arguments=ONE_EACH, n_columns=512, block=512
        ),
        "mismatch",
    ),
    "sum in half precision": (
        rows(
            "sum_in_half_precision", {"source": of_rows("astype('f4').sum"), "rtol": 1e-2},
            n_columns=1000, block=128,
            arguments={"x_ptr": uniform(16, 1000, dtype="fp16"), "z_ptr": output(16)},
        ),
        "mismatch",
    ),
    "log of zero": (elements("entropy_of_positive_parts", ENTROPY), "mismatch"),
    "division by zero": (
        elements(
            "divides_by_what_may_be_zero", QUOTIENT, arguments={"y_ptr": uniform(4096, seed=2)}
        ),
        "mismatch",
    ),
    "ties": (
        rows(
            "last_of_the_largest", of_rows("argmax"), n_columns=200,
            arguments={"z_ptr": output(16, dtype="i32")},
        ),
        "mismatch",
    ),
    "clamps what is large": (elements("clamps_what_is_large", TWICE), "mismatch"),
    "drops by multiplying": (
        elements(
            "drops_by_multiplying", KEPT,
            arguments={
                "y_ptr": {
                    "shape": [4096], "dtype": "i32",
                    "init": {"kind": "randint", "low": 0, "high": 2, "seed": 1},
                }
            },
        ),
        "mismatch",
    ),
    "one size": (elements("right_for_one_size", TWICE, 98432), "mismatch"),
    "largest from zero": (
        rows("largest_from_zero", of_rows("max"), n_columns=200, arguments=ONE_EACH), "mismatch"
    ),
}  # fmt: skip

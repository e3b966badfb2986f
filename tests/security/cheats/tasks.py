"""Tasks for the cheats: small ones of the kind that models get.

Inputs have no seeds, so the service draws them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.security.cheats.cheat import Task

ELEMENTS = 98_432
COLUMNS = 16_384


def _given(*shape: int, kind: str = "normal", dtype: str = "fp32", **more: Any) -> dict[str, Any]:
    return {"shape": list(shape), "dtype": dtype, "init": {"kind": kind, **more}}


def _out(*shape: int, dtype: str = "fp32") -> dict[str, Any]:
    return {"shape": list(shape), "dtype": dtype, "output": True}


def _sum_of(elements: int, y: dict[str, Any] | None = None) -> dict[str, Any]:
    y = y or _given(elements)
    given = {"x_ptr": _given(elements), "y_ptr": y, "output_ptr": _out(elements)}
    return given | {"n_elements": elements}


def _add(arguments: dict[str, Any], **more: Any) -> Task:
    return Task(
        arguments=arguments,
        constexprs={"BLOCK": 1024},
        grid=("cdiv(n_elements, BLOCK)",),
        reference="def reference(x_ptr, y_ptr, **_):\n    return x_ptr + y_ptr\n",
        in_torch=lambda x_ptr, y_ptr, **_: x_ptr + y_ptr,
        **more,
    )


ADD = _add(_sum_of(ELEMENTS))
ADD_ODD = _add(_sum_of(ELEMENTS - 7))
"""The size is not a multiple of a block, nor of 16 bytes."""
ADD_WHOLE = _add(_sum_of(96 * 1024))
"""The size is a multiple of the block."""
ADD_ZEROS = _add(_sum_of(ELEMENTS, _given(ELEMENTS, kind="zeros")))
ADD_LARGE = _add(_sum_of(1 << 24))
"""192 MiB to read and write: far more than an L2 cache holds."""
ADD_IN_PLACE = _add(
    _sum_of(ELEMENTS) | {"output_ptr": _given(ELEMENTS, kind="zeros") | {"output": True}}
)
ADD_NAN = _add(_sum_of(ELEMENTS), tolerance={"equal_nan": True})
ADD_MOST = _add(_sum_of(ELEMENTS), tolerance={"max_mismatched_ratio": 0.01})
ADD_SINES = Task(
    arguments=_sum_of(ELEMENTS),
    constexprs={"BLOCK": 1024},
    grid=("cdiv(n_elements, BLOCK)",),
    reference="import numpy as np\n\n"
    "def reference(x_ptr, y_ptr, **_):\n    return np.sin(x_ptr) + np.sin(y_ptr)\n",
    in_torch=lambda x_ptr, y_ptr, **_: x_ptr.sin() + y_ptr.sin(),
)
BROKEN_ADD = Task(
    arguments=_sum_of(ELEMENTS),
    constexprs={"BLOCK": 1024},
    grid=("cdiv(n_elements, BLOCK)",),
    reference="def reference(x_ptr, y_ptr, **_):\n    return x_ptr[:-1] + y_ptr\n",
    in_torch=lambda x_ptr, y_ptr, **_: x_ptr[:-1] + y_ptr,
)
OTHERS_NUMBERS = Task(
    arguments=_sum_of(ELEMENTS),
    constexprs={"BLOCK": 1024},
    grid=("cdiv(n_elements, BLOCK)",),
    reference="import numpy as np\n\n"
    "def reference(x_ptr, **_):\n    return np.full_like(x_ptr, 7.0)\n",
    in_torch=lambda x_ptr, **_: x_ptr * 0 + 7.0,
)
"""Only a kernel that reads another caller's old memory, full of sevens, can be right."""
NO_FOREIGN_WORDS = Task(
    arguments={"output_ptr": _out(1024, dtype="i32")},
    constexprs={"BLOCK": 1024},
    grid=(1,),
    reference="import numpy as np\n\ndef reference(**_):\n    return np.zeros(1024, np.int32)\n",
    in_torch=lambda **_: None,
)
DOUBLE = Task(
    arguments={"x_ptr": _given(8, kind="uniform"), "output_ptr": _out(8)},
    constexprs={},
    grid=(1,),
    reference="def reference(x_ptr, **_):\n    return 2 * x_ptr\n",
    in_torch=lambda x_ptr, **_: 2 * x_ptr,
)
RELU = Task(
    arguments={
        "x_ptr": _given(ELEMENTS, kind="uniform"), "output_ptr": _out(ELEMENTS),
        "n_elements": ELEMENTS,
    },
    constexprs={"BLOCK": 1024},
    grid=("cdiv(n_elements, BLOCK)",),
    reference="import numpy as np\n\n"
    "def reference(x_ptr, **_):\n    return np.maximum(x_ptr, 0)\n",
    in_torch=lambda x_ptr, **_: x_ptr.relu(),
)  # fmt: skip
MEAN = Task(
    arguments={
        "x_ptr": _given(8, 8 * COLUMNS), "output_ptr": _out(8), "n_columns": 8 * COLUMNS
    },
    constexprs={"BLOCK": 1024},
    grid=(8,),
    reference="def reference(x_ptr, **_):\n    return x_ptr.mean(axis=1, dtype='f8')\n",
    in_torch=lambda x_ptr, **_: x_ptr.mean(1),
)  # fmt: skip
SOFTMAX = Task(
    arguments={
        "x_ptr": _given(8, COLUMNS), "output_ptr": _out(8, COLUMNS), "n_columns": COLUMNS
    },
    constexprs={"BLOCK": 1024},
    grid=(8,),
    reference="import numpy as np\n\n"
    "def reference(x_ptr, **_):\n"
    "    e = np.exp(x_ptr - x_ptr.max(axis=1, keepdims=True))\n"
    "    return e / e.sum(axis=1, keepdims=True)\n",
    in_torch=lambda x_ptr, **_: x_ptr.softmax(1),
)  # fmt: skip
WIDE = {"rtol": 1e-2, "atol": 1e-2}
"""As in benchmarks of kernels."""
SOFTMAX_WIDE = replace(SOFTMAX, tolerance=WIDE)
SOFTMAX_TO_SCALE = replace(SOFTMAX, tolerance=WIDE | {"atol_scale": "rms"})
MEAN_WIDE = replace(MEAN, tolerance=WIDE | {"atol": 2e-2})
MEAN_OF_SOFTMAX = replace(
    SOFTMAX,
    arguments=SOFTMAX.arguments | {"output_ptr": _out(8)},
    reference=SOFTMAX.reference.replace("return e / e.sum(axis=1, keepdims=True)",
                                        "return (e / e.sum(axis=1, keepdims=True)).mean(axis=1)"),
    in_torch=lambda x_ptr, **_: x_ptr.softmax(1).mean(1),
)  # fmt: skip
"""Equals one over the number of columns, for any input."""
NEIGHBOURS = Task(
    arguments={"x_ptr": _given(128), "output_ptr": _out(128)},
    constexprs={"BLOCK": 128},
    grid=(1,),
    reference="import numpy as np\n\n"
    "def reference(x_ptr, **_):\n    return x_ptr[np.arange(128) ^ 32]\n",
    in_torch=lambda x_ptr, **_: x_ptr.view(2, 2, 32).flip(1).reshape(128),
)
_MATRICES = {
    "x_ptr": _given(64, 512, std=0.1), "y_ptr": _given(512, 64, std=0.1),
    "output_ptr": _out(64, 64), "K": 512,
}  # fmt: skip
MATMUL = Task(
    arguments=_MATRICES,
    constexprs={"BLOCK": 64},
    grid=(1,),
    reference="def reference(x_ptr, y_ptr, **_):\n    return x_ptr @ y_ptr\n",
    in_torch=lambda x_ptr, y_ptr, **_: x_ptr @ y_ptr,
    tolerance=WIDE,
)
"""With a tolerance that half precision meets."""
MATMUL_EXACT = replace(MATMUL, tolerance={})
MATMUL_HALVES = replace(
    MATMUL_EXACT,
    arguments={
        "x_ptr": _given(64, 512, dtype="fp16", std=0.1),
        "y_ptr": _given(512, 64, dtype="fp16", std=0.1),
        "output_ptr": _out(64, 64, dtype="fp16"), "K": 512,
    },
    reference="def reference(x_ptr, y_ptr, **_):\n"
    "    return (x_ptr.astype('f4') @ y_ptr.astype('f4')).astype('f2')\n",
)  # fmt: skip

"""The recorder accepts the launch arguments that the binder of Triton's JIT accepts."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest
import triton.language as tl
from triton.backends.nvidia.compiler import CUDABackend
from triton.runtime.jit import KernelParam, create_function_from_signature

from tests.programs.with_torch.recording_process import RecordingProcess

TYPES = """import collections
import enum

import numpy as np
import torch
import triton
import triton.language as tl

class Three(enum.IntEnum):
    THREE = 3

class Float(float):
    pass

class Integer(int):
    pass

class Text(str):
    pass

Pair = collections.namedtuple("Pair", "a b")
"""
INTEGERS = ("1", "3", "16", "2**31", "2**40", "2**63", "2**64 - 1", "2**64", "-2**63", "-2**63 - 1")
NUMPY = tuple(
    f"np.{kind}(3)" for kind in (
        "bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
        "float16", "float32", "float64", "longdouble", "complex64", "array",
    )
)  # fmt: skip
VALUES = (
    *INTEGERS, *NUMPY, "True", "False", "0.5", "float('inf')", "float('nan')", "1j",
    "None", "'x'", "b'x'", "(1, 2.5)", "(1, (2, None))", "(np.int64(3),)", "Pair(1, 2)", "[1, 2]",
    "{}", "slice(1)", "range(3)",
    "Three.THREE", "Float(0.5)", "Integer(5)", "Text('x')", "torch.Size([2, 3])", "torch.float32",
    "tl.float32", "torch.device('cpu')", "object()", "int", "np.prod((2, 8))", "np.sum([1.5])",
    "tl.constexpr(3)", "...",
)  # fmt: skip
PARAMETERS = ("n", "n: tl.int32", "n: tl.int64", "n: tl.float32", "n: 'u1'")
KERNEL = """
@triton.jit{options}
def kernel(out, {parameter}):
    tl.store(out, 1.0)

out = torch.zeros(1, device="cuda")
kernel[(1,)](out, {value})
"""


@pytest.fixture(scope="module")
def recorder() -> Iterator[RecordingProcess]:
    process = RecordingProcess()
    yield process
    process.close()


def bound_by_triton(parameter: str, value: str, *, do_not_specialize: bool = False) -> str | None:
    """Return what Triton's binder raises for this argument of a kernel, or None."""
    scope: dict[str, Any] = {}
    exec(TYPES, scope)
    function = eval(f"lambda {parameter.partition(':')[0]}: None")
    annotation = parameter.partition(": ")[2]
    if annotation:
        function.__annotations__["n"] = str(eval(annotation, {"tl": tl}))
    signature = inspect.signature(function)
    kernel = [
        KernelParam(at, found, do_not_specialize, False)
        for at, found in enumerate(signature.parameters.values())
    ]
    bind = create_function_from_signature(signature, kernel, CUDABackend)
    try:
        bind(eval(value, scope))
    except (TypeError, OverflowError) as error:
        return f"{type(error).__name__}: {error}"
    return None


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_a_launch_takes_what_triton_takes_and_refuses_the_rest_in_its_words(
    recorder: RecordingProcess, parameter: str
) -> None:
    wrong = {}
    for value in VALUES:
        expected = bound_by_triton(parameter, value)
        found = recorder.record(TYPES + KERNEL.format(options="", parameter=parameter, value=value))
        refusal = found.get("not_recordable")
        if expected is None and parameter.endswith(("float32", "'u1'")):
            continue  # the launcher converts it, which needs a GPU
        if (expected is None) != (refusal is None) or (
            expected is not None and expected not in refusal["detail"]
        ):
            wrong[value] = (expected, refusal)
    assert wrong == {}


def test_a_parameter_that_is_not_specialized_takes_the_same(recorder: RecordingProcess) -> None:
    options = "(do_not_specialize=['n'])"
    wrong = {}
    for value in ("3", "np.int64(3)", "'x'", "2**64", "True", "(np.int64(3),)"):
        expected = bound_by_triton("n", value, do_not_specialize=True)
        text = TYPES + KERNEL.format(options=options, parameter="n", value=value)
        refusal = recorder.record(text).get("not_recordable")
        if (expected is None) != (refusal is None):
            wrong[value] = (expected, refusal)
    assert wrong == {}


@pytest.mark.parametrize("value", ["np.int64(16)", "np.float32(2)", "np.bool_(True)"])
def test_a_constexpr_of_numpy_is_refused_with_what_to_write(
    recorder: RecordingProcess, value: str
) -> None:
    text = KERNEL.format(options="", parameter="n: tl.constexpr", value=value)
    refusal = recorder.refusal(TYPES + text)
    assert refusal["reason"] == "unsupported_launch"
    assert "which Triton refuses nearly everywhere: pass int(n)" in refusal["detail"]
    assert refusal["line"] == len((TYPES + text).splitlines())


def test_a_float_of_numpy_is_a_float_of_python(recorder: RecordingProcess) -> None:
    text = KERNEL.format(options="", parameter="n: tl.constexpr", value="np.sqrt(4.0)")
    assert recorder.tape(TYPES + text).ops

"""The launch that the tests of this folder vary, and a helper that returns its errors."""

from collections.abc import Callable
from typing import Any

import pytest

from compiler.rejection import RequestRejected
from launch.request.case import Case
from launch.request.launch_request import LaunchRequest
from launch.request.launch_resolution import Resolved, resolve_launch

COMPILATION: dict[str, Any] = {
    "source": "@triton.jit\ndef add(x_ptr, output_ptr, n_elements, BLOCK: tl.constexpr): ...\n",
    "constexprs": {"BLOCK": 64},
    "target": "cuda:90",
}
SIGNATURE = {"x_ptr": "*fp32:16", "output_ptr": "*fp32:16", "n_elements": "i32:16"}
X = {"shape": [96], "dtype": "fp32", "init": {"kind": "uniform", "seed": 1}}
OUTPUT = {"shape": [96], "dtype": "fp32", "output": True}
LAUNCH: dict[str, Any] = {
    "compilation": COMPILATION,
    "grid": ["cdiv(n_elements, BLOCK)"],
    "arguments": {"x_ptr": X, "output_ptr": OUTPUT, "n_elements": 96},
}


def request(**changes: Any) -> LaunchRequest:
    """Return LAUNCH with some fields changed."""
    return LaunchRequest.model_validate(LAUNCH | changes)


def resolved(**changes: Any) -> Resolved:
    """Return LAUNCH with some fields changed, resolved."""
    return resolve_launch(request(**changes))


def only_case(**changes: Any) -> Case:
    """Return the only case of LAUNCH with some fields changed."""
    [case] = resolved(**changes).cases
    return case


def errors(act: Callable[[], Any]) -> list[tuple[str, str]]:
    """Return the pointer and message of every error that `act` raises."""
    with pytest.raises(RequestRejected) as rejected:
        act()
    return [(error.pointer, error.message) for error in rejected.value.errors]

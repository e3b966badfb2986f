"""Runs generated programs eagerly with torch on the CPU, from the seeds of a replay."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import torch

from programs.replay.program_run import seed_of
from tests.programs.generated.kernel_stand_ins import STAND_INS
from tests.programs.with_torch.eager_recording import SEED

FILE = "<generated program>"


@dataclass
class Call:
    """The inputs and outputs of one call: values by path, each tensor copied."""

    outputs: dict[str, Any] = field(default_factory=dict)
    copies: dict[str, torch.Tensor] = field(default_factory=dict)
    inputs: list[torch.Tensor] = field(default_factory=list)
    before: list[torch.Tensor] = field(default_factory=list)
    after: list[torch.Tensor] = field(default_factory=list)


@dataclass
class EagerRun:
    """The calls of a program, or its error and the line of it."""

    calls: list[Call] = field(default_factory=list)
    error: Exception | None = None
    line: int | None = None


def on_the_cpu(text: str) -> str:
    """Return the program with its tensors on the CPU."""
    return text.replace("'cuda'", "'cpu'")


@contextmanager
def _strides_of_cuda() -> Iterator[None]:
    """Give batch norm of a matrix the strides of CUDA; the CPU's result is contiguous.

    CUDA's own kernel returns `empty_like(x)`. cuDNN accepts no matrices.
    """
    real = torch.batch_norm

    def batch_norm(x: torch.Tensor, *more: Any) -> torch.Tensor:
        made = real(x, *more)
        # `where` keeps the strides of its first argument.
        return (
            torch.where(torch.ones_like(x, dtype=torch.bool), made, made) if x.ndim == 2 else made
        )

    with patch.object(torch, "batch_norm", batch_norm):
        yield


def run_eagerly(source: str, entry: dict[str, Any]) -> EagerRun:
    """Run a program: both calls of a model or a function, or a script once."""
    ran = EagerRun()
    before = torch.random.get_rng_state()
    try:
        with warnings.catch_warnings(), redirect_stdout(None), _strides_of_cuda():
            warnings.simplefilter("ignore")
            for call in _calls(source, entry):
                ran.calls.append(call)
    except Exception as error:  # noqa: BLE001 - what torch raises is the answer
        ran.error = error
        places = traceback.extract_tb(error.__traceback__)
        lines = [place.lineno for place in places if place.filename == FILE]
        ran.line = lines[-1] if lines else None
    finally:
        torch.random.set_rng_state(before)
    return ran


def _calls(source: str, entry: dict[str, Any]) -> Iterator[Call]:
    torch.manual_seed(SEED)
    scope: dict[str, Any] = {"__name__": "__main__"}
    text = on_the_cpu(source).replace("@triton.jit\ndef ", "@_stand_in\ndef ")
    scope["_stand_in"] = lambda function: STAND_INS[function.__name__]
    exec(compile(text, FILE, "exec"), scope)
    if entry["kind"] == "script":
        yield _taken(Call(), {name: scope[name] for name in entry["outputs"]})
        return
    called = scope["run"] if entry["kind"] == "function" else scope["ModelNew"]()
    torch.manual_seed(seed_of("inputs", SEED))
    inputs = [scope["get_inputs"](), scope["get_inputs"]()]
    for number, given in enumerate(inputs):
        torch.manual_seed(SEED + number)
        # The replay reports the final state of an input in its original shape.
        call = Call(inputs=[one.detach() for one in given], before=[one.clone() for one in given])
        with torch.set_grad_enabled(entry["kind"] == "function"):
            result = called(*given)
        yield _taken(call, result)


def _taken(call: Call, result: Any) -> Call:
    """Copy the results of a call before the next call can change them."""
    call.outputs = dict(_by_path(result, ""))
    call.copies = {
        path: one.detach().clone(memory_format=torch.contiguous_format)
        for path, one in call.outputs.items()
        if isinstance(one, torch.Tensor)
    }
    call.after = [one.clone() for one in call.inputs]
    return call


def _by_path(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, (list, tuple)):
        items = [(str(number), item) for number, item in enumerate(value)]
    else:
        yield path or "0", value
        return
    for name, item in items:
        yield from _by_path(item, f"{path}.{name}" if path else name)

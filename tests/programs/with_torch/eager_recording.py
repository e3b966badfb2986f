"""Tapes of torch's work on the CPU: programs run eagerly, and every ATen op is recorded.

Tests compare the result of a replay with the program's own, bit by bit.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from programs.replay.program_run import seed_of
from programs.replay.replay_order import CALLS
from programs.tape.schema import TRITON_NAMES, Phase

SEED = 42


class EagerRecording(TorchDispatchMode):
    """Records every op. On the tape, everything is on `cuda`."""

    def __init__(self) -> None:
        super().__init__()
        self.tensors: list[list[Any]] = []
        self.storages: list[int] = []
        self.constants: dict[str, str] = {}
        self.ops: list[dict[str, Any]] = []
        self.phase: Phase = "init"
        self._kept: list[torch.Tensor] = []
        self._by_object: dict[int, int] = {}
        self._by_place: dict[tuple[Any, ...], int] = {}
        self._storage_ids: dict[int, int] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = [self.reported(value) for value in args]
        named = {name: self.reported(value) for name, value in (kwargs or {}).items()}
        result = func(*args, **(kwargs or {}))
        outputs = [
            self._result(item, args) if isinstance(item, torch.Tensor) else None
            for item in tree_flatten(result)[0]
        ]
        line = f"user.py:{len(self.ops) + 1}"
        entry = {"op": str(func), "a": given, "k": named, "o": outputs}
        self.ops.append(entry | {"phase": self.phase, "line": line})
        return result

    @contextmanager
    def of(self, phase: Phase) -> Iterator[None]:
        """Record a phase, which begins from its seed."""
        self.phase = phase
        torch.manual_seed(seed_of(phase, SEED))
        with self:
            yield

    def index_of(self, tensor: torch.Tensor) -> int:
        """Return the index of a tensor; one that no op made is a constant."""
        known = self._by_object.get(id(tensor), self._by_place.get(_place(tensor)))
        if known is not None:
            return known
        index = self._add(tensor)
        data = bytes(tensor.contiguous().reshape(-1).view(torch.uint8).tolist())
        self.constants[str(index)] = base64.b64encode(data).decode()
        return index

    def _result(self, tensor: torch.Tensor, args: Any) -> int:
        is_argument = any(tensor is one for one in args)
        known = self._by_object.get(id(tensor)) if is_argument else None
        if known is not None and self._by_place.get(_place(tensor)) is not None:
            return known
        return self._add(tensor)

    def _add(self, tensor: torch.Tensor) -> int:
        storage, index = tensor.untyped_storage(), len(self.tensors)
        number = self._storage_ids.setdefault(storage._cdata, len(self.storages))
        if number == len(self.storages):
            self.storages.append(storage.nbytes())
        dtype = TRITON_NAMES[str(tensor.dtype).removeprefix("torch.")]
        shape, strides = [*tensor.shape], [*tensor.stride()]
        self.tensors.append([dtype, "cuda", shape, strides, tensor.storage_offset(), number])
        self._by_object[id(tensor)] = self._by_place[_place(tensor)] = index
        self._kept.append(tensor)
        return index

    def reported(self, value: Any) -> Any:
        """Return a value as a tape has it."""
        match value:
            case torch.Tensor():
                return {"t": self.index_of(value)}
            case list() | tuple():
                return {"list": [self.reported(item) for item in value]}
            case torch.dtype():
                return {"dtype": TRITON_NAMES[str(value).removeprefix("torch.")]}
            case torch.device():
                return {"device": "cuda"}
            case torch.layout():
                return {"layout": "strided"}
            case torch.memory_format():
                return {"memory_format": str(value).removeprefix("torch.")}
            case float() if value in (float("inf"), float("-inf")):
                return {"float": "inf" if value > 0 else "-inf"}
        return value

    def tape(self, **members: Any) -> dict[str, Any]:
        """Return the tape so far."""
        base = {
            "tape": 1, "torch": torch.__version__, "tensors": self.tensors,
            "storages": self.storages, "kernels": {}, "constants": self.constants, "seed": SEED,
            "inputs": [], "inputs2": [], "params": [], "outputs": {"tuple": []},
            "outputs2": {"tuple": []}, "ops": self.ops,
        }  # fmt: skip
        return base | members


def _place(tensor: torch.Tensor) -> tuple[Any, ...]:
    steps = (tuple(tensor.shape), tensor.stride(), tensor.storage_offset())
    return (tensor.untyped_storage()._cdata, tensor.dtype, *steps)


@dataclass(frozen=True)
class Eager:
    """A program that ran eagerly: its tape, and the results of its two calls."""

    tape: dict[str, Any]
    outputs: list[list[torch.Tensor]]


def recorded(
    make: Callable[[], Sequence[torch.Tensor]],
    program: Callable[..., Any],
    init: Callable[[], Any] | None = None,
) -> Eager:
    """Record two calls of a program on inputs from `make`, after the values from `init`."""
    recording = EagerRecording()
    results, outputs = [], []
    with torch.no_grad():
        with recording.of("init"):
            state = [] if init is None else [init()]
        with recording.of("inputs"):
            inputs = [list(make()), list(make())]
        for phase, given in zip(CALLS, inputs, strict=True):
            with recording.of(phase):
                result = program(*state, *given)
            found = list(result) if isinstance(result, (list, tuple)) else [result]
            results.append({"tuple": [{"t": recording.index_of(one)} for one in found]})
            outputs.append([one.clone() for one in found])
    taken = [[{"t": recording.index_of(one)} for one in every] for every in inputs]
    tape = recording.tape(
        inputs=taken[0], inputs2=taken[1], outputs=results[0], outputs2=results[1]
    )
    return Eager(tape, outputs)

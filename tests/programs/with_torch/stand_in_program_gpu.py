"""Runs orders of programs as on a GPU, with torch on the CPU and a fake CUDA.

Kernels are Python functions that get their parameters' addresses. "GPU memory" is torch's.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from compiler.abi import abi_of
from compiler.compilation import Parameter
from compiler.target import Target
from programs.gpu.program_order import (
    DeviceKernel,
    ProgramOrder,
)
from tests.gpu.program_tapes import t
from tests.programs.with_torch.timed_programs import FakeDevice
from tests.unit.worker.gpu import fake_cuda
from tests.unit.worker.gpu.fake_cuda import pointer

COUNT = 64


Sent = dict[str, bytes]


def kernel(name: str, **types: str) -> DeviceKernel:
    """Return a kernel with these parameters; the fake's function has its name."""
    parameters = [
        Parameter(name=one, type=kind, role="runtime", hints=[], value=None)
        for one, kind in types.items()
    ]
    metadata = {"name": name, "num_warps": 1, "shared": 0}
    abi = abi_of(Target("cuda", 90, 32), parameters, metadata)
    scalars = {one: kind for one, kind in types.items() if not kind.startswith("*")}
    return DeviceKernel(name.encode(), abi, scalars)


def floats(address: int, count: int = COUNT) -> Any:
    return np.frombuffer((ctypes.c_float * count).from_address(address), np.float32)


class Guards:
    """Red zones behind tensors, without unmapped pages."""

    page_bytes = ZONE_BYTES = 4096

    def __init__(self) -> None:
        self._wanted: frozenset[int] = frozenset()
        self.zones: dict[int, torch.Tensor] = {}

    def begin(self, storages: frozenset[int]) -> None:
        self._wanted = storages

    def wants(self, storage: int) -> bool:
        return storage in self._wanted

    def take(self, storage: int, size_bytes: int) -> torch.Tensor:
        whole = torch.full((size_bytes + self.ZONE_BYTES,), 0xA5, dtype=torch.uint8)
        self.zones[storage] = whole[size_bytes:]
        return whole[:size_bytes]

    def damaged(self, storages: Iterable[int] | None = None) -> list[int]:
        looked = list(self.zones) if storages is None else [s for s in storages if s in self.zones]
        found = [one for one in looked if bool((self.zones[one] != 0xA5).any())]
        for one in found:
            del self.zones[one]
        return found

    def end(self) -> None:
        self._wanted, self.zones = frozenset(), {}


class Gpu:
    """Runs orders in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.driver = fake_cuda.install(monkeypatch, {})
        self.driver._may = lambda *_: True
        stream = SimpleNamespace(cuda_stream=0)
        monkeypatch.setattr(torch.cuda, "current_stream", lambda: stream)
        self.stages: list[str] = []
        self.sent: Sent = {}

    def kernel(self, name: str, function: Callable[[Any], None]) -> None:
        """Register a kernel: the function gets the addresses of its parameters."""
        self.driver.kernels[name.encode()] = lambda _gpu, pointers, _grid: function(pointers)

    def run(self, order: ProgramOrder) -> dict[str, Any]:
        from programs.gpu.compared_replays import perform
        from worker.gpu.launcher.loaded_kernel import load

        device = SimpleNamespace(stream=0, shared_bytes=1 << 16, name="none", target="cuda:90")
        context = SimpleNamespace(
            device=device,
            torch_device=torch.device("cpu"),
            maps=SimpleNamespace(encode=None),
            free_cached_memory=lambda: 1 << 30,
            load=lambda cubin, abi, grid: load(device, cubin, abi, grid),
            wait=self._wait,
            timing=FakeDevice(),
            guards=Guards(),
            send_tensor=lambda send, stage, tensor: self.sent.update({stage: _bytes(tensor)}),
        )
        return perform(context, order, self._take)

    def _wait(self) -> None:
        from worker.gpu.launcher.device import check

        check(self.driver.cuStreamSynchronize(0), "waiting for the GPU")

    def _take(self, header: dict[str, Any], body: bytes) -> None:
        if ":" in header["stage"]:
            self.sent[header["stage"]] = body
        else:
            self.stages.append(header["stage"])


def _bytes(tensor: torch.Tensor) -> bytes:
    return bytes(tensor.contiguous().reshape(-1).view(torch.uint8).numpy())


def scaling(**types: str) -> Callable[[Any, list[int]], list[int]]:
    """Return a call that launches `scale(x, out, by)` and returns `out`, and its input."""

    def call(tape: Any, inputs: list[int]) -> list[int]:
        out = tape.empty([COUNT])
        scale = kernel("scale", x="*fp32", out="*fp32", by=types.get("by", "fp32"))
        tape.launch_kernel("scale", scale, {"x": t(inputs[0]), "out": t(out), "by": 3.0})
        return [out, inputs[0]]

    return call


def scale(pointers: Any) -> None:
    x, out = (floats(pointer(pointers, number)) for number in range(2))
    out[:] = x * ctypes.c_float.from_address(pointers[2]).value

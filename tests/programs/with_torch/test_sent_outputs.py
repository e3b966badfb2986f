"""A program launcher sends outputs and keeps none of them."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.unit.worker.gpu import fake_cuda

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.unit


@pytest.fixture
def context(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what sends outputs, without a GPU: tensors lie on the CPU."""
    fake_cuda.install(monkeypatch, {})
    from programs.gpu.program_context import GpuProgramContext
    from worker.gpu.launcher.output_memory import OutputMemory

    made = object.__new__(GpuProgramContext)
    made.device = SimpleNamespace(stream=0)  # type: ignore[assignment]
    made._outputs = OutputMemory()
    return made


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_memory_that_was_sent_is_let_go_of(context: Any) -> None:
    sent: list[bytes] = []
    tensor = torch.arange(1 << 16, dtype=torch.int32)
    before = descriptors()
    for _ in range(20):
        context.send_tensor(lambda _, shared: sent.append(read(shared)), "output:0:0", tensor)

    assert descriptors() == before
    assert sent == [tensor.numpy().tobytes()] * 20


def test_memory_is_let_go_of_where_the_worker_is_gone(context: Any) -> None:
    def send(header: dict[str, Any], body: Any) -> None:
        raise BrokenPipeError

    before = descriptors()
    with pytest.raises(BrokenPipeError):
        context.send_tensor(send, "output:0:0", torch.zeros(1 << 16))
    assert descriptors() == before


def read(shared: Any) -> bytes:
    return os.pread(shared.descriptor, shared.size_bytes, 0)

"""Replays tapes in this process like the child, and keeps what it sends."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from compiler.target import Target
from programs.replay.live_tensors import in_order
from programs.replay.operators import DTYPES
from programs.replay.replay_order import KernelText, ReplayOrder, ReplayReport
from programs.replay.replay_tasks import replay
from tests.programs.with_torch.eager_recording import SEED

GIB = 1 << 30


@dataclass(frozen=True)
class Replayed:
    """A replay's report, and everything that it sent, by name."""

    tape: Mapping[str, Any]
    report: ReplayReport
    sent: Mapping[str, bytes]

    @property
    def kinds(self) -> list[str]:
        """Return the kinds of its findings."""
        return [found.kind for found in self.report.findings]

    def outputs(self, call: int) -> list[torch.Tensor]:
        """Return the results of a call as tensors."""
        structure = self.tape["outputs2" if call else "outputs"]["tuple"]
        found = []
        for position, item in enumerate(structure):
            dtype, _, shape, *_ = self.tape["tensors"][item["t"]]
            data = bytearray(self.sent[f"output:{call}:{position}"])
            octets = torch.frombuffer(data, dtype=torch.uint8) if data else torch.empty(0).byte()
            found.append(octets.view(DTYPES[dtype]).reshape(shape))
        return found


def replayed(
    tape: Mapping[str, Any],
    kernels: Mapping[str, tuple[str, Sequence[str]]] | None = None,
    launches: Sequence[str] = (),
    inputs_tape: Mapping[str, Any] | None = None,
    **asked: Any,
) -> Replayed:
    """Replay a tape; `kernels` maps a name to its TTIR and the names of its parameters."""
    parts = [json.dumps(tape).encode()]
    parts += [] if inputs_tape is None else [json.dumps(inputs_tape).encode()]
    texts = {}
    for name, (text, parameters) in (kernels or {}).items():
        place = (sum(map(len, parts)), len(text.encode()))
        texts[name] = KernelText(ir=place, stage="source", parameters=parameters)
        parts.append(text.encode())
    order = ReplayOrder(
        tape=(0, len(parts[0])),
        inputs_tape=None if inputs_tape is None else (len(parts[0]), len(parts[1])),
        kernels=texts,
        launches=launches,
        target=Target("cuda", 90, 32),
        files=["user.py"],
        **{"seed": SEED, "memory_bytes": GIB, **asked},
    )
    sent: dict[str, bytes] = {}
    report = replay(
        order, b"".join(parts), lambda header, data: sent.update({header["stage"]: data})
    )
    return Replayed(tape, report, sent)


def same_bits(found: Sequence[torch.Tensor], expected: Sequence[torch.Tensor]) -> bool:
    """Return True if tensors have the same types, shapes and bits."""
    return len(found) == len(expected) and all(
        a.dtype == b.dtype and a.shape == b.shape and _bits(a) == _bits(b)
        for a, b in zip(found, expected, strict=True)
    )


def _bits(tensor: torch.Tensor) -> bytes:
    return bytes(in_order(tensor).view(torch.uint8).numpy()) if tensor.numel() else b""

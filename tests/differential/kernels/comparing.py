"""Holds every form of a generated kernel to the oracle, and reports where one differs."""

from __future__ import annotations

import math
import traceback
from dataclasses import dataclass

import numpy as np

from tests.differential.kernels.exact_numbers import Kind, from_bits, to_bits
from tests.differential.kernels.kernel import Buffer, Kernel
from tests.differential.kernels.running import Memory, compiled
from tests.differential.kernels.statements import Expected

STAGES = ("source", "ttir")


@dataclass(frozen=True)
class Disagreement:
    """One form that made something else of a kernel, or nothing."""

    kernel: Kernel
    stage: str
    way: str
    what: str

    @property
    def kind(self) -> str:
        """The failure that a smaller kernel must show: other numbers, or the same error type."""
        lines = self.what.strip().split("\n")
        return lines[-1].partition(":")[0] if len(lines) > 1 else ""

    def __str__(self) -> str:
        seed = self.kernel.seed
        shown = "\n".join(
            f"  {b.name}: {b.kind.name} of {len(b.values)}, {list(b.values)}"
            for b in self.kernel.buffers
            if not b.name.startswith("o")
        )
        scalars = {name: value for name, (_, value) in self.kernel.scalars.items()}
        return (
            f"{self.way}, from the stage {self.stage}: {self.what}\n"
            f"seed of kernel and inputs {seed}, grid {self.kernel.grid}, {scalars}\n{shown}\n"
            f"{self.kernel.source()}\n"
            f"Again: make fuzz-kernels SEED={seed} KERNELS=1"
        )


def disagreements(kernel: Kernel, wanted: Expected | None) -> list[Disagreement]:
    """Return each way of running that differs from the oracle. Raises `Refused`.

    Where nothing is `wanted`, what the first form makes is.
    """
    stage = STAGES[kernel.seed % 2]
    form, found = compiled(kernel, stage), []
    for way, run in form.ways().items():
        try:
            made = run()
            wanted = _numbers(kernel, made) if wanted is None else wanted
            what = _difference(kernel, wanted, made)
        except Exception:  # noqa: BLE001 - any error of the device is its answer
            what = "it raised\n" + "".join(traceback.format_exc(limit=-4))
        if what:
            found.append(Disagreement(kernel, stage, way, what))
    return found


def _numbers(kernel: Kernel, made: Memory) -> Expected:
    found = {}
    for buffer in kernel.buffers:
        bits = np.frombuffer(made[buffer.name], f"u{max(buffer.kind.bits, 8) // 8}").tolist()
        found[buffer.name] = [from_bits(buffer.kind, one) for one in bits]
    return found


def _difference(kernel: Kernel, wanted: Expected, found: Memory) -> str:
    for buffer in kernel.buffers:
        kind = buffer.kind
        given = np.frombuffer(found[buffer.name], f"u{max(kind.bits, 8) // 8}")
        for place, (right, bits) in enumerate(
            zip(wanted[buffer.name], given.tolist(), strict=True)
        ):
            if bits != to_bits(kind, right) and not _both_nan(kind, right, bits):
                return _shown(buffer, place, right, bits)
    return ""


def _both_nan(kind: Kind, right: float, bits: int) -> bool:
    return kind.is_float and math.isnan(right) and math.isnan(from_bits(kind, bits))


def _shown(buffer: Buffer, place: int, right: float, bits: int) -> str:
    value = from_bits(buffer.kind, bits)
    return f"{buffer.name}[{place}] is {value} ({bits:#x}), expected {right}"

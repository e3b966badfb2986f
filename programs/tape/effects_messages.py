"""The messages between a worker and a child that reads the effects of kernels.

Standard library only: a worker has no Triton.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from compiler.messages.orders import Order
from compiler.target import Target


@dataclass(frozen=True, kw_only=True)
class EffectsOrder(Order):
    """Read the effects of kernels: the body is their TTIRs, one after the other."""

    task = "effects"
    profile = "prove"
    sizes_bytes: Sequence[int]
    target: Target


@dataclass(frozen=True, kw_only=True)
class EffectsReport:
    """For each TTIR the names of parameters that are read, and written; null where unknown."""

    effects: list[list[list[str]] | None] = field(default_factory=list)

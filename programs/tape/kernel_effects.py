"""The parameters that a kernel may read and write."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KernelEffects:
    """The parameters whose memory a kernel may read, and may write, by name."""

    reads: frozenset[str]
    writes: frozenset[str]


NO_EFFECTS = KernelEffects(frozenset(), frozenset())


def united_effects(
    first: KernelEffects | None, second: KernelEffects | None
) -> KernelEffects | None:
    """Return the union of two effects; None if either is unknown."""
    if first is None or second is None:
        return None
    return KernelEffects(first.reads | second.reads, first.writes | second.writes)

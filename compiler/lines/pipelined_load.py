"""A load of a loop that Triton pipelines, for those who run the kernel."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PipelinedLoad:
    """A load that a pipelined loop issues `stages` - 1 rounds early; operations have numbers.

    `stores` are those of the same loop.
    """

    loop: int
    stages: int
    stores: frozenset[int]

"""Specified peak FLOPs per clock of GPUs: a table, since no kernel of ours reaches the peak.

Dense products, by type of the factors, whatever the type of the sums: for each architecture the
most that any of its GPUs does, so that it is a ceiling of all of them. Multiplied by the highest
clock that the driver names. Pure.
"""

from collections.abc import Mapping

_PER_CLOCK: Mapping[tuple[int, int], Mapping[str, int]] = {
    (7, 0): {"fp16": 1024, "fp32": 128, "fp64": 64},
    (7, 5): {"fp16": 1024, "int8": 2048, "fp32": 128, "fp64": 4},
    (8, 0): {"fp16": 2048, "tf32": 1024, "int8": 4096, "fp32": 128, "fp64": 128},
    (8, 6): {"fp16": 1024, "tf32": 512, "int8": 2048, "fp32": 256, "fp64": 4},
    (8, 7): {"fp16": 1024, "tf32": 512, "int8": 2048, "fp32": 256, "fp64": 4},
    (8, 9): {"fp16": 1024, "tf32": 512, "fp8": 2048, "int8": 2048, "fp32": 256, "fp64": 4},
    (9, 0): {"fp16": 4096, "tf32": 2048, "fp8": 8192, "int8": 8192, "fp32": 256, "fp64": 256},
    (10, 0): {"fp16": 8192, "tf32": 4096, "fp8": 16384, "int8": 16384, "fp32": 256, "fp64": 128},
    (12, 0): {"fp16": 1024, "tf32": 512, "fp8": 2048, "int8": 2048, "fp32": 256, "fp64": 4},
}
"""Operations of one multiprocessor, a product and its sum being two; from NVIDIA's white papers
(Volta, Turing, Ampere GA100 and GA102, Ada, Hopper, Blackwell). fp16 is bf16's number as well."""


def peak_flops(
    capability: tuple[int, int], multiprocessors: int, clock_hz: float
) -> dict[str, float]:
    """Return operations per second by type; empty for an architecture that is not in the table."""
    table = _PER_CLOCK.get(capability, {})
    return {kind: count * multiprocessors * clock_hz for kind, count in table.items()}

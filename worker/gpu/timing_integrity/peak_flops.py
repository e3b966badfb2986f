"""Specified peak FLOPs per clock of GPUs: a table, since none of our kernels reaches the peak.

Dense products, by type of the factors, whatever the type of the sums: for each architecture the
most that any of its GPUs does, so that it is a ceiling of all of them. Multiplied by the highest
clock that the driver names. Pure.
"""

from compiler.target import BY_NAME


def peak_flops(
    capability: tuple[int, int], multiprocessors: int, clock_hz: float
) -> dict[str, float]:
    """Return operations per second by type; empty for an architecture whose peak is not known."""
    major, minor = capability
    row = BY_NAME.get(f"cuda:{major}{minor}")
    table = {} if row is None else row.flops_per_clock
    return {kind: count * multiprocessors * clock_hz for kind, count in table.items()}

"""Sees a launch's times under what its device can do at most. Pure."""

from collections.abc import Mapping
from math import prod

from compiler.compilation import amended
from launch.checks.roofline import Ceilings, Work, seen_under
from launch.request.bound_arguments import BoundArguments
from launch.request.element import ITEM_BYTES
from launch.request.launch_job import LaunchJob
from worker.launch.run import RunResult
from worker.pool.shared_bytes import Body


def check_roofline(
    result: RunResult, launch: LaunchJob, bound: BoundArguments, ceilings: Ceilings | None
) -> None:
    """Add to the times of a run which share of the device they are, and whether they can be."""
    if result.timing is None or ceilings is None:
        return
    asked = launch.timing
    work = Work(
        written_bytes=written_bytes(bound, result.unwritten),
        stated_bytes=asked.bytes_ if asked is not None else None,
        stated_flops=asked.flops if asked is not None else None,
        dtypes=frozenset(one.dtype for one in bound.allocations),
    )
    seen = seen_under(ceilings, work, result.timing.median_us, result.timing.min_us)
    result.timing = amended(
        result.timing,
        overhead_us=round(ceilings.launch_us, 3),
        floor_us=seen.floor_us,
        plausible=seen.finding is None,
        bytes_share=seen.bytes_share,
        flops_share=seen.flops_share,
    )
    if seen.finding is not None:
        result.findings.append(seen.finding)


def written_bytes(bound: BoundArguments, unwritten: Mapping[str, Body]) -> int:
    """Return how many bytes a run wrote at least: of outputs that were poisoned before it.

    `unwritten` has a bit for each element that it did not write, for outputs with such. An
    allocation of several outputs counts for the largest of them.
    """
    written: dict[int, int] = {}
    for name, output in bound.outputs.items():
        if bound.allocations[output.allocation].init is not None:
            continue
        flags = unwritten.get(name, b"")
        if not isinstance(flags, bytes):
            continue  # so many that it is no use to count them
        missing = int.from_bytes(flags, "little").bit_count()
        size_bytes = max(0, prod(output.shape) - missing) * ITEM_BYTES[output.dtype]
        written[output.allocation] = max(written.get(output.allocation, 0), size_bytes)
    return sum(written.values())

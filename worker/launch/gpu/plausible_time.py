"""Compares a launch's times with the peak performance of its device. Pure."""

from collections.abc import Mapping
from math import prod

from compiler.compilation import amended
from launch.checks.roofline import Ceilings, Work, roofline_of
from launch.request.bound_arguments import BoundArguments
from launch.request.element import ITEM_BYTES
from launch.request.launch_job import LaunchJob
from worker.launch.run import RunResult
from worker.pool.shared_bytes import Body


def check_roofline(
    result: RunResult, launch: LaunchJob, bound: BoundArguments, ceilings: Ceilings | None
) -> None:
    """Add to a run's timing its share of the device's peak, and a finding if it is impossible."""
    if result.timing is None or ceilings is None:
        return
    asked = launch.timing
    work = Work(
        written_bytes=written_bytes(bound, result.unwritten),
        stated_bytes=asked.bytes_ if asked is not None else None,
        stated_flops=asked.flops if asked is not None else None,
        dtypes=frozenset(one.dtype for one in bound.allocations),
    )
    seen = roofline_of(ceilings, work, result.timing.median_us, result.timing.min_us)
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
    """Return the least number of bytes that a run wrote: those of initially poisoned outputs.

    `unwritten` holds a bit per unwritten element, for outputs that have some. An allocation with
    several outputs counts as the largest of them.
    """
    written: dict[int, int] = {}
    for name, output in bound.outputs.items():
        if bound.allocations[output.allocation].init is not None:
            continue
        flags = unwritten.get(name, b"")
        if not isinstance(flags, bytes):
            continue  # too many to count
        missing = int.from_bytes(flags, "little").bit_count()
        size_bytes = max(0, prod(output.shape) - missing) * ITEM_BYTES[output.dtype]
        written[output.allocation] = max(written.get(output.allocation, 0), size_bytes)
    return sum(written.values())

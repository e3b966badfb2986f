"""The memory behind the two pointers that Triton appends to every kernel. Knows no CUDA itself."""

from collections.abc import Callable
from math import prod

from worker.cuda.arguments import Scratch
from worker.cuda.job import LaunchJob

Take = Callable[[int, int], int]
"""Returns the address of new memory, of its size and alignment in bytes."""
Fill = Callable[[int, int, int], None]
"""Sets memory: address, size in bytes, and the byte."""
_LEAST_ALIGN_BYTES = 16


def scratch_of(job: LaunchJob, take: Take, fill: Fill) -> Scratch:
    """Return zeroed scratch for every program of `job`; address 0 where the kernel wants none."""
    addresses = []
    for name in ("global_scratch", "profile_scratch"):
        wanted = job.abi[name]
        size_bytes = wanted["size_bytes"] * prod(job.grid) * job.abi["cluster"][0]
        address = 0
        if size_bytes:
            address = take(size_bytes, max(int(wanted["align_bytes"]), _LEAST_ALIGN_BYTES))
            fill(address, size_bytes, 0)
        addresses.append(address)
    return Scratch(*addresses)

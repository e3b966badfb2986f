"""Scratch memory: sized for all programs and zeroed, or absent if the kernel needs none."""

from compiler.abi import abi_of
from compiler.target import Target
from worker.gpu.launcher.kernel_parameters import ScratchAddresses, scratch_of
from worker.gpu.launcher.launcher_order import LauncherOrder


def scratch(global_bytes, grid=(3, 2, 1), cluster=1):
    """Return the scratch of a job, and the allocations and fills for it."""
    metadata = {"name": "k", "num_warps": 4, "num_ctas": cluster, "shared": 0,
                "global_scratch_size": global_bytes, "global_scratch_align": 128}  # fmt: skip
    abi = abi_of(Target("cuda", 90, 32), [], metadata)
    taken, filled = [], []

    def take(size_bytes, align_bytes):
        taken.append((size_bytes, align_bytes))
        return 0x1000

    found = scratch_of(
        LauncherOrder(b"", abi, grid, [], {}), take, lambda *filling: filled.append(filling)
    )
    return found, taken, filled


def test_every_block_of_every_program_has_its_share():
    found, taken, filled = scratch(256, cluster=2)

    assert found == ScratchAddresses(0x1000, 0)
    assert taken == [(256 * 6 * 2, 128)]
    assert filled == [(0x1000, 256 * 6 * 2, 0)]


def test_a_kernel_without_scratch_gets_null_pointers():
    assert scratch(0) == (ScratchAddresses(0, 0), [], [])


def test_an_empty_grid_needs_no_scratch():
    assert scratch(256, grid=(0, 1, 1)) == (ScratchAddresses(0, 0), [], [])

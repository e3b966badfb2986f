"""Theoretical occupancy, against values worked out by hand from the limits and allocation units."""

from __future__ import annotations

import pytest

from compiler.occupancy import fits, occupancy
from compiler.target import Target

H100 = Target("cuda", 90, 32)
A100 = Target("cuda", 80, 32)
RTX_4090 = Target("cuda", 89, 32)


@pytest.mark.parametrize(
    ("target", "registers", "shared_bytes", "threads", "blocks", "limited_by"),
    [
        (H100, 32, 0, 128, 16, "warps"),
        (H100, 255, 0, 128, 2, "registers"),
        (H100, 64, 0, 256, 4, "registers"),
        (H100, 32, 100 * 1024, 128, 2, "shared_memory"),
        (H100, 16, 0, 32, 32, "blocks"),
        (A100, 128, 49152, 128, 3, "shared_memory"),
        (A100, 168, 0, 256, 1, "registers"),
        (RTX_4090, 32, 0, 128, 12, "warps"),
        (Target("cuda", 75, 32), 32, 0, 128, 8, "warps"),
    ],
)
def test_blocks_per_multiprocessor(
    target: Target, registers: int, shared_bytes: int, threads: int, blocks: int, limited_by: str
) -> None:
    found = occupancy(target, registers, shared_bytes, threads)

    assert found is not None
    assert found.blocks_per_sm == blocks
    assert found.warps_per_sm == blocks * threads // 32
    assert found.limited_by == limited_by


def test_the_ratio_is_of_warps() -> None:
    found = occupancy(H100, 255, 0, 128)

    assert found is not None
    assert found.ratio == 0.125


def test_a_block_that_needs_more_than_the_opt_in_limit_does_not_fit() -> None:
    assert fits(H100, 232448, 128) is True
    assert fits(H100, 232449, 128) is False
    assert fits(RTX_4090, 101376, 128) is True
    assert fits(RTX_4090, 101377, 128) is False


def test_more_than_1024_threads_do_not_fit() -> None:
    assert fits(H100, 0, 2048) is False


def test_nothing_is_claimed_of_targets_that_are_not_known() -> None:
    assert occupancy(Target("hip", "gfx942", 64), 32, 0, 256) is None
    assert fits(Target("cuda", 60, 32), 0, 256) is None


@pytest.mark.parametrize(
    ("gfx", "largest_kib"), [("gfx942", 64), ("gfx1100", 64), ("gfx950", 160), ("gfx1250", 320)]
)
def test_an_amd_workgroup_has_the_local_memory_of_its_target(gfx: str, largest_kib: int):
    target = Target("hip", gfx, 64)

    assert fits(target, largest_kib * 1024, 256) is True
    assert fits(target, largest_kib * 1024 + 1, 256) is False
    assert fits(target, 0, 2048) is False

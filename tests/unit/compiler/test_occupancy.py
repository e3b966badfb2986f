"""Theoretical occupancy, compared with values worked out by hand from hardware limits."""

from __future__ import annotations

import pytest

from compiler.occupancy import Needs, occupancy
from compiler.target import Target

H100 = Target("cuda", 90, 32)
A100 = Target("cuda", 80, 32)
RTX_4090 = Target("cuda", 89, 32)
B200 = Target("cuda", 100, 32)
MI300 = Target("hip", "gfx942", 64)
RX_7900 = Target("hip", "gfx1100", 32)
KIB = 1024


@pytest.mark.parametrize(
    ("target", "registers", "shared_bytes", "threads", "blocks", "limited_by"),
    [
        (H100, 32, 0, 128, 16, "warps"),
        (H100, 255, 0, 128, 2, "registers"),
        (H100, 64, 0, 256, 4, "registers"),
        (H100, 32, 100 * KIB, 128, 2, "shared_memory"),
        (H100, 16, 0, 32, 32, "blocks"),
        (A100, 128, 49152, 128, 3, "shared_memory"),
        (A100, 168, 0, 256, 1, "registers"),
        (RTX_4090, 32, 0, 128, 12, "warps"),
        (Target("cuda", 75, 32), 32, 0, 128, 8, "warps"),
        (Target("cuda", 101, 32), 16, 0, 32, 24, "blocks"),
        (Target("cuda", 110, 32), 32, 0, 128, 12, "warps"),
        (Target("cuda", 121, 32), 16, 0, 32, 24, "blocks"),
    ],
)
def test_blocks_per_multiprocessor(
    target: Target, registers: int, shared_bytes: int, threads: int, blocks: int, limited_by: str
) -> None:
    found = occupancy(target, Needs(registers, shared_bytes, threads))

    assert found is not None
    assert found.blocks_per_sm == blocks
    assert found.warps_per_sm == blocks * threads // 32
    assert found.limited_by == limited_by
    assert found.waves_per_simd is None


def test_the_ratio_is_of_warps() -> None:
    found = occupancy(H100, Needs(255, 0, 128))

    assert found is not None
    assert found.ratio == 0.125


def test_tensor_memory_limits_blocks_too() -> None:
    found = occupancy(B200, Needs(64, 0, 128, tensor_columns=256))

    assert found is not None
    assert (found.blocks_per_sm, found.limited_by) == (2, "tensor_memory")


@pytest.mark.parametrize(
    ("target", "waves_per_simd", "shared_bytes", "threads", "groups", "per_simd", "limited_by"),
    [
        (MI300, 8, 0, 256, 8, 8, "warps"),
        (MI300, 2, 0, 256, 2, 2, "registers"),
        (MI300, 8, 33 * KIB, 256, 1, 1, "shared_memory"),
        (MI300, 8, 0, 64, 32, 8, "warps"),
        (MI300, 8, 0, 128, 16, 8, "warps"),
        (Target("hip", "gfx908", 64), 10, 0, 128, 16, 8, "blocks"),
        (Target("hip", "gfx950", 64), 8, 64 * KIB, 256, 2, 2, "shared_memory"),
        (RX_7900, 10, 8 * KIB, 128, 10, 10, "registers"),
        (RX_7900, 16, 64 * KIB, 128, 2, 2, "shared_memory"),
        (Target("hip", "gfx1201", 32), 16, 0, 32, 64, 16, "warps"),
        (Target("hip", "gfx1250", 32), 8, 160 * KIB, 128, 2, 2, "shared_memory"),
    ],
)
def test_workgroups_per_compute_unit(
    target: Target,
    waves_per_simd: int,
    shared_bytes: int,
    threads: int,
    groups: int,
    per_simd: float,
    limited_by: str,
) -> None:
    needs = Needs(64, shared_bytes, threads, waves_per_simd=waves_per_simd)

    found = occupancy(target, needs)

    assert found is not None
    assert (found.blocks_per_sm, found.waves_per_simd) == (groups, per_simd)
    assert found.limited_by == limited_by


def test_the_ratio_on_amd_is_of_waves() -> None:
    found = occupancy(MI300, Needs(256, 0, 256, waves_per_simd=1))

    assert found is not None
    assert found.ratio == 0.125


@pytest.mark.parametrize(
    ("target", "needs"),
    [
        (Target("cuda", 60, 32), Needs(32, 0, 128)),
        (Target("hip", "gfx900", 64), Needs(32, 0, 128, waves_per_simd=8)),
        (MI300, Needs(32, 0, 256)),
    ],
    ids=["capability", "gfx", "registers"],
)
def test_nothing_is_claimed_of_what_is_not_known(target: Target, needs: Needs) -> None:
    assert occupancy(target, needs) is None

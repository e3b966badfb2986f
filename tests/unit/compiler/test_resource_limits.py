"""Kernels that exceed a device's limits, and advice for them."""

from __future__ import annotations

import pytest

from compiler.compilation import Parameter
from compiler.occupancy import CompileSettings, Needs, fits, warnings
from compiler.target import Target

H100 = Target("cuda", 90, 32)
B200 = Target("cuda", 100, 32)
KIB = 1024


def constexpr(name: str, value: object) -> Parameter:
    return Parameter(name=name, type=None, role="constexpr", hints=[], value=value)


MATMUL = CompileSettings(
    {"num_stages": 4, "num_warps": 8},
    [constexpr("BLOCK_M", 128), constexpr("BLOCK_K", 64), constexpr("GROUP_M", 8)],
)


@pytest.mark.parametrize(
    ("capability", "most_bytes"),
    [
        (75, 65536), (80, 166912), (86, 101376), (87, 166912), (89, 101376), (90, 232448),
        (100, 232448), (101, 232448), (103, 232448), (110, 232448), (120, 101376), (121, 101376),
    ],
)  # fmt: skip
def test_a_block_may_opt_into_so_much_shared_memory(capability: int, most_bytes: int) -> None:
    target = Target("cuda", capability, 32)

    assert fits(target, Needs(32, most_bytes, 128)) is True
    assert fits(target, Needs(32, most_bytes + 1, 128)) is False


@pytest.mark.parametrize(
    ("gfx", "most_kib"), [("gfx942", 64), ("gfx1100", 64), ("gfx950", 160), ("gfx1250", 320)]
)
def test_an_amd_workgroup_has_the_local_memory_of_its_target(gfx: str, most_kib: int) -> None:
    target = Target("hip", gfx, 64)

    assert fits(target, Needs(32, most_kib * KIB, 256)) is True
    assert fits(target, Needs(32, most_kib * KIB + 1, 256)) is False
    assert fits(target, Needs(32, 0, 2048)) is False


def test_nothing_is_claimed_of_targets_that_are_not_known() -> None:
    target = Target("cuda", 60, 32)

    assert fits(target, Needs(32, 1 << 20, 2048)) is None
    assert warnings(target, Needs(32, 1 << 20, 2048), MATMUL) == []


def test_what_fits_is_not_warned_of() -> None:
    assert warnings(H100, Needs(255, 232448, 256), MATMUL) == []


def test_too_much_shared_memory_names_what_to_reduce() -> None:
    (warning,) = warnings(H100, Needs(128, 288 * KIB, 256), MATMUL)

    assert (warning.severity, warning.stage) == ("warning", "cubin")
    assert "shared memory 288 KB > 227 KB" in warning.message
    assert warning.hint == "Reduce num_stages (now 4) or BLOCK_K (now 64), BLOCK_M (now 128)."


def test_a_byte_too_much_does_not_read_as_the_limit() -> None:
    (warning,) = warnings(H100, Needs(128, 232449, 256), MATMUL)

    assert "227.1 KB > 227 KB" in warning.message


def test_without_names_that_look_like_blocks_the_advice_is_general() -> None:
    asked = CompileSettings(
        {"num_stages": 1}, [constexpr("N", 4096), constexpr("BLOCK_IS_EVEN", True)]
    )

    (warning,) = warnings(Target("hip", "gfx942", 64), Needs(64, 65 * KIB, 256), asked)

    assert warning.stage == "hsaco"
    assert warning.hint == "Reduce the size of the blocks."


def test_too_many_threads_are_reported() -> None:
    (warning,) = warnings(H100, Needs(32, 0, 1152), MATMUL)

    assert "1152 threads > 1024" in warning.message
    assert warning.hint == "Reduce num_warps."


def test_too_many_registers_are_reported() -> None:
    (warning,) = warnings(H100, Needs(255, 0, 512), MATMUL)

    assert "255 registers in each of 512 threads" in warning.message
    assert "maxnreg" in str(warning.hint)


def test_too_much_tensor_memory_is_reported() -> None:
    (warning,) = warnings(B200, Needs(64, 0, 128, tensor_columns=640), MATMUL)

    assert "tensor memory 640 columns > 512" in warning.message
    assert warning.hint == "Reduce BLOCK_M (now 128)."

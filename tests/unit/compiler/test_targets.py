"""Targets as Triton writes them."""

import pytest

from compiler.rejection import RequestRejected
from compiler.target import Target, parse_target

TARGETS = {
    "cuda:90": Target("cuda", 90, 32),
    "cuda:90:32": Target("cuda", 90, 32),
    "cuda:120": Target("cuda", 120, 32),
    "hip:gfx942": Target("hip", "gfx942", 64),
    "hip:gfx942:64": Target("hip", "gfx942", 64),
    "hip:gfx90a": Target("hip", "gfx90a", 64),
    "hip:gfx1100": Target("hip", "gfx1100", 32),
}


@pytest.mark.parametrize(("written", "target"), TARGETS.items())
def test_a_target_is_read_with_its_warp_size(written: str, target: Target):
    assert parse_target(written) == target


def test_a_target_is_shown_without_its_warp_size():
    assert str(parse_target("cuda:90:32")) == "cuda:90"
    assert str(parse_target("hip:gfx942:64")) == "hip:gfx942"


@pytest.mark.parametrize(
    "written",
    ["", "cuda", "cuda:", "cuda:9", "cuda:sm_90", "sm_90", "90", "cuda:90:16", "cuda:90 ",
     "CUDA:90", "cuda:90\n", "cuda:\N{ARABIC-INDIC DIGIT NINE}0", "hip:942", "hip:gfx", "xpu:1",
     "\0"],
)  # fmt: skip
def test_what_is_no_target_is_refused_with_examples(written: str):
    with pytest.raises(RequestRejected) as rejected:
        parse_target(written)

    [fault] = rejected.value.faults
    assert fault.pointer == "/target"
    assert "cuda:90" in fault.message
    assert "hip:gfx942" in fault.message


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("cuda:90:64", "/target: cuda:90 has warps of 32 threads, not 64"),
        ("hip:gfx942:32", "/target: hip:gfx942 has warps of 64 threads, not 32"),
        ("hip:gfx1100:64", "/target: hip:gfx1100 has warps of 32 threads, not 64"),
    ],
)
def test_a_warp_size_that_the_target_has_not_is_refused(written: str, message: str):
    with pytest.raises(RequestRejected) as rejected:
        parse_target(written)

    assert str(rejected.value) == message

"""The compiler's replacement of torch has torch's constants."""

from __future__ import annotations

import pytest
import torch

from compiler.front.stubs import torch_stub

NAMED = torch_stub.named()
LIMITS = ("bits", "max", "min", "eps", "tiny", "smallest_normal", "resolution", "dtype")


@pytest.mark.parametrize("name", torch_stub.CONSTANTS)
def test_a_constant_is_torchs(name: str) -> None:
    ours, theirs = torch_stub.CONSTANTS[name], getattr(torch, name)

    assert type(ours) is type(theirs)
    assert repr(ours) == repr(theirs)


@pytest.mark.parametrize("name", NAMED)
def test_a_dtype_is_torchs(name: str) -> None:
    ours, theirs = NAMED[name], getattr(torch, name)

    assert repr(ours) == repr(theirs)
    for fact in ("itemsize", "is_floating_point", "is_complex", "is_signed"):
        assert getattr(ours, fact) == getattr(theirs, fact)


@pytest.mark.parametrize("name", NAMED)
def test_the_limits_of_a_dtype_are_torchs(name: str) -> None:
    theirs = getattr(torch, name)
    if theirs == torch.bool:
        with pytest.raises(TypeError):
            torch_stub.iinfo(NAMED[name])
    elif theirs.is_floating_point or theirs.is_complex:
        ours, limits = torch_stub.finfo(NAMED[name]), torch.finfo(theirs)
        assert [getattr(ours, x) for x in LIMITS] == [getattr(limits, x) for x in LIMITS]
    else:
        ours, limits = torch_stub.iinfo(NAMED[name]), torch.iinfo(theirs)
        assert (ours.bits, ours.max, ours.min) == (limits.bits, limits.max, limits.min)
        assert ours.dtype == limits.dtype

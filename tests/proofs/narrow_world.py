"""A world of narrow integers, in which both the prover and its re-check count to 127.

In this world i32 has 8 bits, so a product of two sizes of 12 wraps, and four turns of a loop reach
the end of most buffers: random kernels meet there what they would need sizes of 2^16 for.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from compiler.proof import binding, terms
from compiler.proof.binding import SizeLimits
from compiler.recheck import size_contract, widths

NARROW = {"i8": 4, "i16": 6, "i32": 8, "i64": 16, "index": 16}
NARROW_GRID = (127, 31, 31)
NARROW_LIMITS = (SizeLimits(31, 1 << 10), SizeLimits(127, 1 << 14), SizeLimits(15, 127))
_CONSTANT = re.compile(
    r"arith\.constant (?:dense<)?(-?\d+)>? : (?:tensor<(?:\d+x)+)?(i\d+)", re.ASCII
)


def has_narrow_constants(text: str) -> bool:
    """Return whether the constants of a TTIR, `dense<31> : tensor<8xi8>`, are of this world."""
    for number, element in _CONSTANT.findall(text):
        half = 1 << (NARROW.get(element, 64) - 1)
        if not -half <= int(number) < half:
            return False
    return True


@contextmanager
def narrow_world() -> Iterator[None]:
    """Have the prover and the re-check by bit-vectors read a kernel with narrow integers."""
    with (
        patch.dict(terms.WIDTHS, NARROW),
        patch.dict(widths.WIDTHS, NARROW),
        patch.object(binding, "GRID_LIMITS", NARROW_GRID),
        patch.object(size_contract, "GRID_MOST", NARROW_GRID),
    ):
        yield

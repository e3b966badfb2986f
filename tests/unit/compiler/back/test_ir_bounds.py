"""IR far beyond any real kernel is refused before a pass runs on it."""

from __future__ import annotations

import pytest

from compiler.back import ir_module
from compiler.diagnostic import Failure
from compiler.messages.orders import IrBounds
from worker.settings import WorkerSettings

SMALL = IrBounds(size_bytes=200, operations=5, tensor_elements=64)
MODULE = "module {\n  %0 = a : tensor<8x8xi32> loc(#loc1)\n}\n#loc1 = loc(unknown)\n"
TOO_LARGE = {
    "bytes": (MODULE + " " * 200, "bytes of IR; the limit is 200 bytes"),
    "operations": (MODULE + "\n" * 4, "7 operations in its IR; the limit is 5 operations"),
    "elements": (
        MODULE.replace("8x8", "8x16"),
        "a tensor of 8x16 = 128 elements; the limit is 64 elements",
    ),
    "elements in shared memory": (
        MODULE.replace("tensor<8x8", "!ttg.memdesc<65x1"),
        "a tensor of 65x1 = 65 elements; the limit is 64 elements",
    ),
}


def test_what_is_within_the_bounds_passes() -> None:
    ir_module.check_size(MODULE, "ttir", SMALL)


@pytest.mark.parametrize(("text", "said"), TOO_LARGE.values(), ids=TOO_LARGE)
def test_what_is_beyond_a_bound_is_named_with_it(text: str, said: str) -> None:
    with pytest.raises(Failure) as refused:
        ir_module.check_size(text, "ttir", SMALL)

    assert refused.value.slug == "out_of_resources"
    assert said in refused.value.message
    assert refused.value.diagnostics[0].stage == "ttir"


def test_the_table_of_locations_counts_for_no_operations() -> None:
    ir_module.check_size(MODULE + "#loc2 = loc(unknown)\n" * 5, "ttir", IrBounds(operations=5))


def test_a_worker_may_set_every_bound() -> None:
    settings = WorkerSettings()

    assert settings.ir_bounds == IrBounds()

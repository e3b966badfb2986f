"""Both forms of a kernel compute the same bits, one by one and as a batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.ttir_to_numpy.batched_codegen import RunForm
from compiler.ttir_to_numpy.runtime.launching import dtype_named
from tests.integration.compiler.children import Children
from tests.integration.compiler.kernels import KERNELS, Kernel, all_in
from tests.integration.launch.cpu.forms import ALL_AT_ONCE, Forms, compiled

ELEMENTS = 1 << 17
WIDE = ("attention", "matmul", "recurrence", "variance")
"""Their tiles have many rows, so that each row is short."""


def arguments_for(form: RunForm) -> list[Any]:
    """Return arrays and numbers for which programs do not conflict."""
    random = np.random.default_rng(1)
    found: list[Any] = []
    for parameter in form.parameters:
        kind = parameter.type
        if kind.startswith(("*i", "*u")):
            found.append(random.integers(0, 50, ELEMENTS).astype(dtype_named(kind[1:])))
        elif kind.startswith("*"):
            values = random.standard_normal(ELEMENTS) * 2
            found.append(values.astype(dtype_named(kind[1:])))
        elif kind.startswith("tensordesc"):
            element = dtype_named(kind[len("tensordesc<") :].partition("[")[0])
            found.append(random.standard_normal((64, 64)).astype(element))
        elif kind.startswith(("fp", "bf")):
            found.append(0.5)
        elif "stride" in parameter.name:
            found.append(64 if any(word in form.entry for word in WIDE) else 2048)
        else:
            found.append(23)
    return found


def check_equal(forms: Forms) -> None:
    """Run both forms: programs one by one, a few at once, and all at once."""
    grid = (3, 1, 1) if "program_id" in forms.run.text else (1, 1, 1)
    given = arguments_for(forms.run)
    wanted = [np.copy(argument) for argument in given]
    forms.one_by_one(grid, wanted)
    for most in (1, 2 * forms.run.largest_tile, ALL_AT_ONCE):
        found = [np.copy(argument) for argument in given]
        forms.gather_limited(grid, found, most)
        for one, other in zip(found, wanted, strict=True):
            assert one.tobytes() == other.tobytes()
    forms.at_once_checked(grid, [np.copy(argument) for argument in given])
    assert any((a != b).any() for a, b in zip(given, wanted, strict=True) if np.ndim(a))


@pytest.mark.parametrize("kernel", all_in("good"), ids=lambda kernel: kernel.path.stem)
def test_good_kernels(children: Children, kernel: Kernel) -> None:
    for forms in compiled(children, kernel):
        check_equal(forms)


FLOATS = "*fp32"
OPERATIONS: dict[str, dict[str, str]] = {
    "early_returns": {"x": FLOATS, "n": "i32"},
    "loops": {"x": FLOATS, "n": "i32", "m": "i32"},
    "integers": {"x": "*i32", "y": "*i32", "narrow": "*i8"},
    "reductions": {"x": FLOATS, "y": FLOATS, "i": "*i32"},
    "shapes": {"x": FLOATS, "y": FLOATS, "i": "*i32"},
    "atomics": {"x": FLOATS, "y": FLOATS, "c": "*i32", "n": "i32"},
    "floats": {"x": FLOATS, "y": FLOATS, "whole": "*i32"},
    "narrow_floats": {"x": FLOATS, "half": "*fp16", "brain": "*bf16", "eight": "*fp8e4nv"},
    "products": {"x": FLOATS, "half": "*fp16", "eight": "*i8", "y": FLOATS, "whole": "*i32"},
    "descriptors": {"x": FLOATS, "y": FLOATS, "M": "i32", "N": "i32"},
    "pointers": {"x": FLOATS, "y": FLOATS, "table": "*i64", "n": "i32"},
    "pointer_tables": {"x": FLOATS, "y": FLOATS, "table": "*i64", "n": "i32"},
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_kind_of_operation(children: Children, name: str) -> None:
    path = KERNELS / "numpy" / "operations.py"
    sizes = {"B": 32 if name == "products" else 16}
    sizes |= {"C": 32} if name in {"reductions", "shapes"} else {}
    request = {"kernel": name, "signature": OPERATIONS[name], "constexprs": sizes}

    for forms in compiled(children, Kernel(path, path.read_text(), request)):
        check_equal(forms)

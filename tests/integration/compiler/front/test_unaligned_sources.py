"""Alignment hints change only attributes of arguments in the stage `source`."""

from __future__ import annotations

import re
from typing import Any

import pytest

from compiler.type_name import INTEGERS, is_pointer
from tests.cases import slow_except
from tests.integration.compiler.children import Children
from tests.integration.compiler.front.test_hidden_options import front_stages, options_of
from tests.integration.compiler.kernels import KERNELS, all_in, read

ATTRIBUTES = re.compile(r" \{tt\.(?:divisibility|pointer_range) = [^}]*\}")


def all_hints(signature: dict[str, Any]) -> dict[str, list[str]]:
    """Return every hint that a parameter of its type can have."""
    kinds = {name: kind for name, kind in signature.items() if isinstance(kind, str)}
    integers = {name: ["divisible_by_16"] for name, kind in kinds.items() if kind in INTEGERS}
    pointers = [name for name, kind in kinds.items() if is_pointer(kind)]
    return integers | {name: ["divisible_by_16", "pointer_range_32"] for name in pointers}


@pytest.mark.parametrize(
    "name", slow_except(("matmul", "scan"), [kernel.path.stem for kernel in all_in("good")])
)
def test_without_alignments_the_front_end_makes_the_same_but_for_attributes(
    children: Children, name: str
) -> None:
    signature = read(KERNELS / "good" / f"{name}.py").request.get("signature", {})
    options, hints = options_of(children, "cuda"), all_hints(signature)

    aligned = front_stages(children, name, "cuda", options=options, hints=hints)["source"].decode()
    unaligned = front_stages(children, name, "cuda", options=options, hints={})["source"].decode()

    assert "tt.divisibility = 16" in aligned
    assert ATTRIBUTES.sub("", aligned) == unaligned

"""A source that fails compiles once its hint is applied."""

from __future__ import annotations

import pytest

from tests.cases import slow_except
from tests.integration.compiler.children import Children
from tests.integration.compiler.kernels import Kernel, all_in, compile_kernel

BROKEN = all_in("broken")
HINTED = [kernel for kernel in BROKEN if kernel.expected["hint"].lower() != "none"]


@pytest.mark.parametrize(
    "kernel", slow_except(HINTED[::3], HINTED), ids=lambda kernel: kernel.path.stem
)
def test_a_source_compiles_once_its_hint_is_applied(children: Children, kernel: Kernel) -> None:
    ways = kernel.corrections()

    assert ways, f"{kernel.path.name} does not end with `# applied ...`"
    for way in ways:
        assert (way.text, way.request) != (kernel.text, kernel.request)
        assert compile_kernel(children, way).failure is None, way.text

"""Both forms of the kernels that benchmarks use compute the same bits."""

import pytest

from tests.integration.compiler.children import Children
from tests.integration.launch.cpu.forms import compiled, mix
from tests.integration.launch.cpu.test_batched_codegen import check_equal


@pytest.mark.parametrize("name", mix())
def test_kernels_of_the_mix(children: Children, name: str) -> None:
    for forms in compiled(children, mix()[name]):
        assert forms.run.is_batchable
        check_equal(forms)

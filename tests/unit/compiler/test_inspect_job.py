"""An inspection request becomes a job, or an error at the wrong field."""

import pytest

from compiler.inspection import InspectRequest, inspect_job
from compiler.rejection import RequestRejected
from tests.unit.compiler.vector_add import TOOLCHAIN


@pytest.mark.parametrize("target", ["", "cuda", "cuda:12"])
def test_a_target_that_is_none_is_refused(target: str):
    request = InspectRequest(source="import triton", target=target)

    with pytest.raises(RequestRejected) as refused:
        inspect_job(request, TOOLCHAIN, "")

    assert [error.pointer for error in refused.value.errors] == ["/target"]

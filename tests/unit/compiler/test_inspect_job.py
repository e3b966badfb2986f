"""An inspection request becomes a job, or an error at the wrong field."""

import pytest

from compiler.inspection import (
    InspectedKernel,
    InspectedParameter,
    InspectRequest,
    Proposal,
    contract_draft,
    inspect_job,
)
from compiler.rejection import RequestRejected
from launch.contract.text import read_contract
from tests.unit.compiler.vector_add import TOOLCHAIN


@pytest.mark.parametrize("target", ["", "cuda", "cuda:12"])
def test_a_target_that_is_none_is_refused(target: str):
    request = InspectRequest(source="import triton", target=target)

    with pytest.raises(RequestRejected) as refused:
        inspect_job(request, TOOLCHAIN, "")

    assert [error.pointer for error in refused.value.errors] == ["/target"]


def test_the_draft_of_a_contract_with_one_size_is_a_contract():
    def parameter(name: str, kind: str, *values: int) -> InspectedParameter:
        clue = {"hints": [], "line": 1, "reason": "", "confidence": "high"}
        flags = ("do_not_specialize", "do_not_specialize_on_alignment", "const")
        return InspectedParameter(
            name=name,
            annotation=None,
            constexpr=kind == "constexpr",
            default=None,
            proposal=Proposal(type=kind, values=list(values), **clue),
            **dict.fromkeys(flags, False),
        )

    parameters = [
        parameter("x_ptr", "*fp32"),
        parameter("n", "i32"),
        parameter("eps", "fp32"),
        parameter("BLOCK", "constexpr", 64),
    ]
    facts = {"line": 1, "configs": [], "heuristics": [], "calls": [], "gluon": False}

    draft = contract_draft(InspectedKernel(name="k", parameters=parameters, **facts))

    assert draft.endswith("\nx_ptr: n\ngrid: cdiv(n, BLOCK)\n")
    read_contract(draft)

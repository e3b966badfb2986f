"""Mistakes in a contract's names, at their place and with the name that is meant."""

import pytest

from compiler.proof.contract import ContractError
from tests.proofs.compiled_ttir import proof_of
from tests.proofs.prover.test_prove import COPY, COPY_CONTRACT, COPY_TYPES


@pytest.mark.parametrize(
    ("right", "wrong", "place", "words"),
    [
        ("y_ptr: n", "y_prt: n", (2, 1), "the kernel has no buffer y_prt. Did you mean 'y_ptr'?"),
        (
            "BLOCK)",
            "BLOK)",
            (3, 15),
            "neither an integer argument nor a size. Did you mean 'BLOCK'?",
        ),
        ("y_ptr: n", "y_ptr: n\nany N", (3, 5), "integer argument N. Did you mean 'n'?"),
        (
            "x_ptr: n",
            "x_ptr: zzz",
            (1, 8),
            "nor a size. There are: BLOCK, n. Declare a size: sizes zzz",
        ),
    ],
)
def test_a_mistyped_name_is_told_from_those_of_the_kernel(
    right: str, wrong: str, place: tuple[int, int], words: str
) -> None:
    contract = COPY_CONTRACT.replace(right, wrong)
    with pytest.raises(ContractError) as caught:
        proof_of(COPY, COPY_TYPES, contract, {"BLOCK": 128})
    assert words in caught.value.message
    assert (caught.value.position.line, caught.value.position.column) == place

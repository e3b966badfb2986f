"""A proof lists no statement that it can do without."""

from compiler.proof.binding import AT_LEAST_1, Fact, SizeLimits
from compiler.proof.linear import LinearProver
from compiler.proof.logic import Formula, at_least
from compiler.proof.polynomial import name
from compiler.proof.unknowns import Unknowns
from tests.proofs.compiled_ttir import proof_of

N, M = name("n"), name("m")


def statements_for(goal: Formula, facts: dict[str, Formula]) -> frozenset[str]:
    """Return the statements that a proof of `goal` from `facts` rests on."""
    known = [Fact(label, formula) for label, formula in facts.items()]
    written = {label for label in facts if label != "of any contract"}
    prover = LinearProver(Unknowns(), known, written)
    used = prover.evidence(goal, ())
    assert used is not None
    return prover.labels(used)


def test_what_holds_of_any_contract_replaces_a_statement() -> None:
    facts = {"n >= 5": at_least(N, 5), "of any contract": at_least(N, 1)}
    assert statements_for(at_least(N), facts) == {"of any contract"}
    assert statements_for(at_least(N, 5), facts) == {"n >= 5"}


def test_one_of_two_statements_that_say_it_is_listed() -> None:
    facts = {"n <= m": at_least(M, N), "n < m": at_least(M, N + 1), "m <= 8": at_least(8, M)}
    assert statements_for(at_least(8, N), facts) in ({"n <= m", "m <= 8"}, {"n < m", "m <= 8"})
    assert statements_for(at_least(7, N), facts) == {"n < m", "m <= 8"}


def test_a_product_rests_on_the_statements_of_both_factors() -> None:
    facts = {"n >= 2": at_least(N, 2), "m >= 3": at_least(M, 3), "n >= 1": at_least(N, 1)}
    assert statements_for(at_least(N * M, 6), facts) == {"n >= 2", "m >= 3"}


def test_a_bound_of_a_derived_value_rests_on_the_largest_size() -> None:
    body = """def kernel(y_ptr, n):
    tl.store(y_ptr + ((n // 2) * 3).to(tl.int64), 1.0)
"""
    [store] = proof_of(body, {"y_ptr": "*fp32", "n": "i32"}, "y_ptr: 3 * n\n").accesses
    assert store.overflow is not None
    assert store.overflow.verdict == "proved"
    assert SizeLimits().size_label() in store.overflow.under


def test_an_access_by_descriptor_rests_on_sizes_that_are_not_negative() -> None:
    """A device reads sizes as unsigned: a negative one bounds nothing."""
    body = """def kernel(y_ptr, n):
    d = tl.make_tensor_descriptor(y_ptr, [n], [1], [16])
    d.store([tl.program_id(0) * 16], tl.zeros((16,), tl.float32))
"""
    contract = "y_ptr: n\ngrid: cdiv(n, 16)\n"
    [store] = proof_of(body, {"y_ptr": "*fp32", "n": "i32"}, contract).accesses
    assert store.bounds is not None
    assert store.bounds.verdict == "proved"
    assert AT_LEAST_1 in store.bounds.under

import pytest

from compiler.proof.binding import SizeLimits
from compiler.proof.equivalence import equivalent
from compiler.proof.obligations import Prover
from compiler.proof.prove import prover_of
from compiler.ttir_to_numpy.generic_form import module_of
from compiler.ttir_to_numpy.task import generic_form
from launch.contract.text import read_contract
from tests.proofs.compiled_ttir import TARGET, ttir_of

FLAT = """def kernel(x, y, out, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    m = o < n
    tl.store(out + o, VALUE, mask=m)
"""
STRIDED = """def kernel(x, y, out, n, B: tl.constexpr):
    for s in range(tl.program_id(0) * B, n, tl.num_programs(0) * B):
        o = s + tl.arange(0, B)
        m = o < n
        tl.store(out + o, VALUE, mask=m)
"""
TYPES = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}
SUM = "tl.load(x + o, mask=m) * 2.0 + tl.load(y + o, mask=m)"
SWAPPED = "tl.load(y + o, mask=m) + 2.0 * tl.load(x + o, mask=m)"
CLOCK = """tl.inline_asm_elementwise(
        "mov.b32 $0, %clock;", "=r,r", [tl.load(x + o, mask=m)], tl.float32, True, 1)"""
CONTRACT = "x: n\ny: n\nout: n\ngrid: cdiv(n, B)\n"


def prover(source: str, value: str = SUM, block: int = 256, contract: str = CONTRACT) -> Prover:
    constants = {"B": block}
    text = ttir_of(source.replace("VALUE", value), TYPES, constants)
    module = module_of(generic_form(text, TARGET, "ttir")[0])
    return prover_of(module, read_contract(contract), constants, SizeLimits(size=2**20))


def test_another_block_and_swapped_operands_store_the_same() -> None:
    found = equivalent(prover(FLAT), prover(FLAT, SWAPPED, 64)).conclusion
    assert found.verdict == "proved", found.reason


def test_functions_of_libdevice_are_compared_by_their_names() -> None:
    value = "tl.extra.cuda.libdevice.{}(tl.load(x + o, mask=m))"
    tanh, erf = value.format("tanh"), value.format("erf")
    assert equivalent(prover(FLAT, tanh), prover(FLAT, tanh, 64)).conclusion.verdict == "proved"
    assert equivalent(prover(FLAT, tanh), prover(FLAT, erf, 64)).conclusion.verdict == "unknown"


def test_a_loop_over_the_grid_stores_the_same_as_one_tile_a_program() -> None:
    strided = prover(STRIDED, SUM, 128, CONTRACT.replace("cdiv(n, B)", "g") + "sizes g\n")
    found = equivalent(prover(FLAT), strided).conclusion
    assert found.verdict == "proved", found.reason


@pytest.mark.parametrize(
    ("source", "value", "words"),
    [
        (FLAT, SUM.replace("y + o,", "y + o + 1,"), "other trees"),
        (FLAT, SUM.replace("* 2.0", "* 3.0"), "other trees"),
        (FLAT.replace("o < n", "o < n - 1"), SUM, "every element is stored"),
        (FLAT, SUM.replace("mask=m)", "mask=o < n - 1)", 1), "may be masked"),
        (FLAT, "tl.load(out + o, mask=m)", "is loaded and stored"),
        (FLAT.replace("0) * B", "0) * 2 * B"), SUM, "every element is stored"),
        (FLAT.replace("o < n", "o < n + 1"), SUM, "stay in bounds"),
        (FLAT, SUM.replace("x + o", "x + o + n // 2"), "no fixed distance"),
        (FLAT, SUM + " * tl.num_programs(0)", "tt.get_num_programs in a stored value"),
        (FLAT, CLOCK, "tt.elementwise_inline_asm in a stored value"),
    ],
)
def test_what_is_not_shown_to_be_equal_is_unknown(source: str, value: str, words: str) -> None:
    found = equivalent(prover(FLAT), prover(source, value)).conclusion
    assert found.verdict == "unknown"
    assert words in found.reason


def test_an_extent_with_a_quotient_is_not_compared_by_its_name() -> None:
    quarter = CONTRACT.replace("out: n", "out: cdiv(n, 4)")
    found = equivalent(prover(FLAT, contract=quarter), prover(FLAT)).conclusion
    assert found.verdict == "unknown"
    assert "the extent of out" in found.reason


def test_contracts_that_no_size_keeps_together_prove_nothing() -> None:
    small, large = CONTRACT + "n <= 5\n", CONTRACT + "n >= 10\n"
    found = equivalent(prover(FLAT, contract=small), prover(FLAT, contract=large)).conclusion
    assert found.verdict == "unknown"
    assert "both contracts" in found.reason

"""The contract's text, read apart from the prover: its statements, and what it refuses."""

import pytest

from launch.recheck.contract_values import (
    Illegal,
    UnreadContract,
    identifier,
    read_contract_text,
)

TEXT = """# of a kernel
sizes rows, pages
any seed
x_ptr: rows * stride  # elements
t.0: cdiv(n, 4) + min(n, 3) - max(n // 2, n % 3)
values x_ptr: -1 .. pages
n <= stride < 100
only m = 2 * n
grid: rows, cdiv(n, 016)
"""


def test_statements_are_read_by_their_kind() -> None:
    found = read_contract_text(TEXT)
    names = {identifier(name): value for name, value in {"rows": 3, "stride": 5, "n": 7}.items()}
    names |= {identifier("pages"): 9}
    assert found.sizes == [identifier("rows"), identifier("pages")]
    assert found.anything == {identifier("seed")}
    assert found.extents[identifier("x_ptr")].value(names) == 15
    assert found.extents[identifier("t.0")].value(names) == 2 + 3 - 3
    assert found.fixed[identifier("m")].value(names) == 14
    ends = found.values[identifier("x_ptr")]
    assert (ends.low.value(names), ends.high.value(names)) == (-1, 9)
    assert [one.holds.value(names) for one in found.relations] == [0, 1]
    assert [one.gap.value(names) for one in found.relations] == [2, -95]
    assert [one.value(names) for one in found.grid] == [3, 1]


def test_a_contract_without_a_grid_has_one_program() -> None:
    [grid] = read_contract_text("x_ptr: n\n").grid
    assert grid.value({}) == 1


@pytest.mark.parametrize("text", ["n % m == 0", "n // m <= 3", "cdiv(n, m - 1) <= 3"])
def test_no_sizes_are_legal_where_a_contract_divides_by_less_than_1(text: str) -> None:
    [relation] = read_contract_text(text).relations
    with pytest.raises(Illegal):
        relation.holds.value({identifier("n"): 4, identifier("m"): 0})


@pytest.mark.parametrize(
    "text",
    [
        "n", "x_ptr: n ** 2", "x_ptr: f(n)", "x_ptr: n if n else 1", "x_ptr: [n]", "n in m",
        "x_ptr: 1.5", "x_ptr: __import__('os')", "grid:", "x_ptr: min(n)", "n < ", "x_ptr: 'n'",
        "x_ptr: " + "(" * 500 + "n" + ")" * 500, "x" * 30_000,
    ],
)  # fmt: skip
def test_what_is_no_contract_is_refused(text: str) -> None:
    with pytest.raises(UnreadContract):
        read_contract_text(text)


def test_names_are_no_words_of_python() -> None:
    found = read_contract_text("lambda: if + class\n")
    extent = found.extents[identifier("lambda")]
    assert extent.value({identifier("if"): 2, identifier("class"): 3}) == 5

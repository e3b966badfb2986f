import pytest

from compiler.proof.contract import Arithmetic, ContractError, ContractName, Inequality, Number
from launch.contract.text import MAX_LINES, read_contract

SOFTMAX = """\
# one program a row
sizes rows
x_ptr: rows * stride
n_columns <= stride
values table_ptr: 0 .. rows + 1
any seed, offset
k = cdiv(n_columns, 8)
grid: rows, cdiv(n_columns, BLOCK)
"""


def names(found: object) -> list[str]:
    return [one.text for one in found]  # type: ignore[attr-defined]


def test_every_statement_is_read() -> None:
    contract = read_contract(SOFTMAX)
    assert names(contract.sizes) == ["rows"]
    assert names(contract.anything) == ["seed", "offset"]
    assert names(contract.extents) == ["x_ptr"]
    assert names(contract.values) == ["table_ptr"]
    assert names(contract.fixed) == ["k"]
    assert [one.text for one in contract.comparisons] == ["n_columns <= stride"]
    assert len(contract.grid) == 2


def test_a_product_binds_more_than_a_sum() -> None:
    [comparison] = read_contract("a + b * 2 <= 7").comparisons
    assert isinstance(comparison.left, Arithmetic)
    assert comparison.left.operator == "+"
    assert isinstance(comparison.left.operands[1], Arithmetic)


def test_a_chain_of_comparisons_says_each_of_them() -> None:
    found = read_contract("a <= b < 9").comparisons
    assert [one.relation for one in found] == ["<=", "<"]
    assert isinstance(found[1], Inequality)
    assert found[1].right == Number(9)
    assert isinstance(found[1].left, ContractName)


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("x_ptr: n *", 1, 11, "expected a number, a name or '('"),
        ("sizes rows\nx_ptr: (n", 2, 10, "expected ')'"),
        ("n ! 3", 1, 3, "'!' is not part of a contract"),
        ("n + 3", 1, 6, "expected a comparison"),
        ("grid: 1, 2, 3, 4", 1, 17, "at most three"),
        ("x: n\nx: m", 2, 1, "is in the contract twice"),
        ("values x: 0", 1, 12, "expected '..'"),
        ("n <= 99999999999999999999999999", 1, 6, "at most"),
        ("cdiv(n) <= 3", 1, 7, "expected ','"),
        ("n <= 3 4", 1, 8, "unexpected '4'"),
    ],
)
def test_a_mistake_is_told_with_its_place(text: str, line: int, column: int, words: str) -> None:
    with pytest.raises(ContractError) as raised:
        read_contract(text)
    assert (raised.value.position.line, raised.value.position.column) == (line, column)
    assert words in raised.value.message


@pytest.mark.parametrize(
    "text",
    ["(" * 1000 + "n", "-" * 1000 + "n", "n <= " + "1 + " * 1000 + "1", "\n" * (MAX_LINES + 1)],
)
def test_what_is_too_large_is_refused(text: str) -> None:
    with pytest.raises(ContractError):
        read_contract(text)

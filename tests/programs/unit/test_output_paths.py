"""Flat paths of a program's returned values."""

from __future__ import annotations

import pytest

from programs.tape.schema import DictOf, ListOf, Structure, TensorRef, TupleOf, by_path

A, B = TensorRef(0), TensorRef(1)


@pytest.mark.parametrize(
    ("structure", "paths"),
    [
        (A, ["0"]),
        (3, ["0"]),
        (TupleOf((A, B)), ["0", "1"]),
        (
            ListOf((A, DictOf((("a", A), ("b", TupleOf((A, None))))))),
            ["0", "1.a", "1.b.0", "1.b.1"],
        ),
        (DictOf((("loss", A), ("logits", B))), ["loss", "logits"]),
        (TupleOf(()), []),
    ],
)
def test_each_tensor_and_scalar_has_a_path(structure: Structure, paths: list[str]) -> None:
    assert list(by_path(structure)) == paths


def test_no_name_of_an_item_is_taken_for_a_path() -> None:
    nested = DictOf((("a", DictOf((("b", A),))), ("a.b", B)))

    assert by_path(nested) == {"a.b": A, r"a\.b": B}

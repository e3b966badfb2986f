"""The list of allowed overloads agrees with torch's own schemas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from programs.tape.allowed_overloads import ALLOWED

VALUE_DEPENDENT = {"aten.index.Tensor", "aten.repeat_interleave.Tensor"}
"""For a mask, or without `output_size`, its shape depends on values: the replay refuses that."""
ALIASES_THOUGH_UNSAID = {"aten._unsafe_view.default", "aten.lift_fresh.default"}
WRITES_STATISTICS = {"aten._native_batch_norm_legit.default"}


def overload(name: str) -> Any:
    _, packet, which = name.split(".")
    return getattr(getattr(torch.ops.aten, packet), which)


def overloads() -> Iterator[tuple[str, Any]]:
    for name in ALLOWED:
        yield name, overload(name)


def test_torch_has_each() -> None:
    assert all(isinstance(op, torch._ops.OpOverload) for _, op in overloads())


def test_none_makes_shapes_or_numbers_out_of_values() -> None:
    tags = {torch.Tag.dynamic_output_shape, torch.Tag.data_dependent_output}
    assert {name for name, op in overloads() if tags & set(op.tags)} == VALUE_DEPENDENT


def test_views_and_only_views_are_said_to_be_views() -> None:
    wrong = {
        name
        for name, op in overloads()
        if any(r.alias_info and not r.alias_info.is_write for r in op._schema.returns)
        != (ALLOWED[name].kind == "view")
    }
    assert wrong == ALIASES_THOUGH_UNSAID


def test_what_writes_is_in_place_or_has_an_out() -> None:
    wrong = set()
    for name, op in overloads():
        _, packet, which = name.split(".")
        is_in_place = packet.endswith("_") and not packet.endswith("__")
        written = [a.name for a in op._schema.arguments if a.alias_info and a.alias_info.is_write]
        if is_in_place:
            expected = [op._schema.arguments[0].name]
        else:
            expected = ["out"] if "out" in which else []
        if written != expected:
            wrong.add(name)
    assert wrong == WRITES_STATISTICS


FORBIDDEN = (
    "from_file", "set_", "resize_", "record_stream", "_local_scalar_dense", "is_pinned",
    "nonzero", "masked_select", "bincount", "equal", "item", "resize_as_", "_to_sparse",
    "quantize_per_tensor", "_unique2", "_nested_from_padded",
)  # fmt: skip


def test_what_must_never_be_there_is_not() -> None:
    assert {name.split(".")[1] for name in ALLOWED}.isdisjoint(FORBIDDEN)

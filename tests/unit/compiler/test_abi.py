"""The ABI of a kernel, from its parameters and its compiled metadata."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.abi import Abi, ScratchMemory, abi_of
from compiler.compilation import Parameter
from compiler.target import Target

METADATA = {"name": "k", "num_warps": 8, "num_ctas": 2, "shared": 1024, "launch_pdl": True,
            "global_scratch_size": 128, "global_scratch_align": 16}  # fmt: skip


def parameter(name: str, kind: Any, role: Any = "runtime") -> Parameter:
    return Parameter(name=name, type=kind, role=role, hints=[], value=None)


def kinds(abi: Abi) -> list[tuple[str, str, int]]:
    return [(p.name, p.kind, p.size_bytes) for p in abi.parameters]


def test_constants_are_left_out_and_scratch_pointers_come_last() -> None:
    parameters = [parameter("x", "*fp32"), parameter("B", None, "constexpr"),
                  parameter("one", "i32", "specialized"), parameter("n", "i16")]  # fmt: skip

    abi = abi_of(Target("cuda", 90, 32), parameters, METADATA)

    assert kinds(abi) == [
        ("x", "pointer", 8),
        ("n", "scalar", 2),
        ("global_scratch", "global_scratch", 8),
        ("profile_scratch", "profile_scratch", 8),
    ]


def test_launch_dimensions_follow_the_metadata() -> None:
    abi = abi_of(Target("cuda", 90, 32), [], METADATA)

    assert abi.entry == "k"
    assert abi.block == (256, 1, 1)
    assert abi.cluster == (2, 1, 1)
    assert abi.dynamic_shared_bytes == 1024
    assert (abi.pdl, abi.cooperative) == (True, False)
    assert abi.global_scratch == ScratchMemory(size_bytes=128, align_bytes=16)


def test_tuples_are_flattened() -> None:
    pair = parameter("t", ["*fp16:16", ["i8:16", "i32:1", None]])

    abi = abi_of(Target("cuda", 80, 32), [pair], METADATA)

    assert kinds(abi)[:-2] == [("t.0", "pointer", 8), ("t.1.0", "scalar", 1)]


def test_a_descriptor_is_a_tensor_map_where_there_are_tensor_maps() -> None:
    descriptor = [parameter("d", "tensordesc<fp16[64,32]>")]

    swizzled = {"swizzle": 2, "elem_size": 2, "elem_type": 6, "block_size": [64, 32]}
    metadata = METADATA | {"tensordesc_meta": [swizzled]}
    new = abi_of(Target("cuda", 90, 32), descriptor, metadata)
    old = abi_of(Target("cuda", 80, 32), descriptor, METADATA)

    assert new.to_json()["parameters"][0] == {
        "index": 0, "kind": "tensormap", "name": "d", "size_bytes": 128, "align_bytes": 64,
        "tensor_map": swizzled,
    }  # fmt: skip
    assert old.parameters[0].kind == "pointer"
    assert len(new.parameters) == 1 + 4 + 2
    assert len(old.parameters) == 1 + 4 + 2 + 4 + 2


def test_the_assembly_decides_between_versions() -> None:
    sizes = [8, 8, 8, 8, 8, 1, 4, 4, 8, 8, 8, 8]  # Triton before 3.9 has no rounding flag

    abi = abi_of(
        Target("cuda", 80, 32),
        [parameter("d", "tensordesc<fp16[64,32]>")],
        METADATA | {"parameter_sizes_bytes": sizes},
    )

    assert [p.size_bytes for p in abi.parameters] == sizes


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(ValueError, match="'fp99' is not a type"):
        abi_of(Target("cuda", 90, 32), [parameter("x", "fp99")], METADATA)

"""The worker's part of finding causes of lost precision: whether to ask, and what is reported."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from launch.messages import Cause, CauseKind
from worker.launch.precision_causes import causes_of, questionable

TF32 = {
    "kind": "tf32", "dtype": "tf32", "bits": 11, "file": "user.py", "line": 7, "column": None,
}  # fmt: skip


class Answering:
    """Replaces a pool: it answers every order in the same way."""

    def __init__(self, result: Any) -> None:
        self.result, self.bodies = result, list[bytes]()

    async def run(self, _profile: str, _header: object, body: bytes, **_: object) -> object:
        self.bodies.append(body)
        return SimpleNamespace(result=self.result, detail="it crashed")


def test_a_kernel_of_fp32_alone_is_not_looked_through() -> None:
    assert questionable(b"%a = arith.addf %b, %c : tensor<8xf32>") == b""
    assert questionable(b"tt.dot %a, inputPrecision = tf32") != b""
    assert questionable(b" " * (5 << 20) + b"bf16") == b""


@pytest.mark.asyncio
async def test_causes_are_read_from_all_texts_at_once() -> None:
    pool: Any = Answering({"causes": [TF32]})

    found = await causes_of(pool, [b"f16", b"", b"f64"])
    assert found == [Cause(kind=CauseKind.TF32, dtype="tf32", bits=11, file="user.py", line=7)]
    assert pool.bodies == [b"f16f64"]
    assert await causes_of(pool, [b""]) == []
    assert len(pool.bodies) == 1


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "result",
    [
        None,
        {},
        {"causes": [TF32 | {"kind": "other"}]},
        {"causes": [TF32 | {"file": "x" * 2000}]},
        {"causes": [TF32] * 65},
    ],
)
async def test_a_child_that_reports_nothing_valid_reports_no_causes(result: object) -> None:
    pool: Any = Answering(result)

    assert await causes_of(pool, [b"f16"]) == []

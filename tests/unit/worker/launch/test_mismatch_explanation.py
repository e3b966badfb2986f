"""Differences that are as small as rounding are said to be that, and others are not."""

from types import SimpleNamespace
from typing import Any

import pytest

from launch.request.launch_record import Comparison, Output, Summary
from worker.launch.mismatch_explanation import explain

TF32 = b"%acc = tt.dot %a, %b, %c, inputPrecision = tf32 : tensor<64x64xf32>"
IEEE = TF32.replace(b"tf32", b"ieee")
COMPILATION: Any = SimpleNamespace(artifacts={"ttir": SimpleNamespace(digest="sha256:0")})


class OneBlob:
    """Gives one text for every digest; a fake."""

    def __init__(self, text: bytes) -> None:
        self._text = text

    async def get(self, _: str) -> bytes:
        return self._text


async def note(error: float, ttir: bytes = TF32, dtype: str = "fp32", **changes: Any) -> str | None:
    comparison = Comparison(
        **{"matches": False, "max_abs_error": error, "max_rel_error": 1.0, "mismatched": 9,
           "nonfinite_mismatched": 0} | changes
    )  # fmt: skip
    summary = Summary(shape=[64], dtype=dtype, min=-40.0, max=32.0, nan=0, inf=0, unwritten=0)
    run: Any = SimpleNamespace(bound=SimpleNamespace(outputs={"c": SimpleNamespace(dtype=dtype)}))
    blobs: Any = OneBlob(ttir)
    outputs = {"c": Output(summary=summary, comparison=comparison)}
    answered = (await explain(outputs, run, COMPILATION, blobs))["c"].comparison
    assert answered is not None
    return answered.note


async def test_a_few_roundings_are_another_order_of_additions() -> None:
    said = await note(40 * 2.0**-23 * 3)

    assert said is not None
    assert "is 3 times the spacing of fp32" in said
    assert "adding in another order" in said


async def test_a_dot_in_tf32_is_named_and_how_to_avoid_it() -> None:
    said = await note(0.02)

    assert said is not None
    assert "TF32" in said
    assert 'input_precision="ieee"' in said
    assert "atol 2.0e-02" in said


@pytest.mark.parametrize("error", [1.0, 40.0])
async def test_a_large_difference_is_no_matter_of_precision(error: float) -> None:
    assert await note(error) is None


async def test_without_a_dot_in_tf32_it_is_not_to_blame() -> None:
    assert await note(0.02, IEEE) is None


@pytest.mark.parametrize("changes", [{"matches": True}, {"nonfinite_mismatched": 1}])
async def test_what_matches_or_is_not_finite_has_no_note(changes: dict[str, Any]) -> None:
    assert await note(1e-6, **changes) is None

"""A sweep's measurements of one winner and its rivals, in the form of Triton's autotuner.

Only variants that differ from the winner in nothing but constexprs and options are rivals of it
there: another size, target, Triton or source is another call.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from compiler.autotune import TimedVariant, TunedResults
from compiler.constexpr import canonical_value
from compiler.rejection import RequestRejected
from compiler.type_name import UnknownType, canonical_dtype
from sweeps.sweep_plan import SweepPlan
from sweeps.winners.winner import UsableWinner

TORCH_DTYPES: Final = {
    "i1": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8",
    "u16": "uint16", "u32": "uint32", "u64": "uint64", "fp16": "float16", "bf16": "bfloat16",
    "fp32": "float32", "fp64": "float64", "fp8e4nv": "float8_e4m3fn", "fp8e5": "float8_e5m2",
    "fp8e4b8": "float8_e4m3fnuz", "fp8e5b16": "float8_e5m2fnuz",
}  # fmt: skip
"""torch's names of Triton's types, without `torch.`; fp8e4b15 has none."""
_TUNED: Final = ("constexprs", "options")
_Row = Mapping[str, Any]


def tuned_results(plan: SweepPlan, rows: Sequence[_Row], winner: UsableWinner) -> TunedResults:
    """Return the results for the arguments of the winner's variant."""
    index = winner.variant
    body = plan.variant(index).body
    compilation = body.get("compilation", body)
    arguments = dict(body.get("arguments") or {})
    constexprs = dict(compilation.get("constexprs") or {})
    values = {name: raw for name, raw in arguments.items() if _is_value(raw)}
    tensors = {name: kind for name in arguments if (kind := _dtype(name, arguments)) is not None}
    dtypes = {name: TORCH_DTYPES[kind] for name, kind in tensors.items() if kind in TORCH_DTYPES}
    others = [
        _timed(plan, row)
        for row in rows
        if row["median_us"] is not None
        and row["index"] != index
        and _is_rival(plan, row["index"], index)
    ]
    return TunedResults(
        winner=_timed(plan, winner.document | {"index": index}),
        others=others,
        arguments={**{name: _number(raw) for name, raw in values.items()}, **constexprs},
        dtypes={name: f"torch.{dtype}" for name, dtype in dtypes.items()},
        untyped=[name for name in tensors if name not in dtypes],
        unsaid=[name for name in arguments if name not in values and name not in tensors],
    )


def _is_rival(plan: SweepPlan, index: int, winner: int) -> bool:
    own, other = plan.chosen[index], plan.chosen[winner]
    pairs = zip(plan.axes, own, other, strict=True)
    return all(a == b for axis, a, b in pairs if axis.name.partition(".")[0] not in _TUNED)


def _timed(plan: SweepPlan, row: _Row) -> TimedVariant:
    body = plan.variant(row["index"]).body
    compilation = body.get("compilation", body)
    median = row["median_us"]
    low, high = row.get("interval_us") or (median, median)
    return TimedVariant(
        constexprs=compilation.get("constexprs") or {},
        options=compilation.get("options") or {},
        us=(median, low, high),
    )


def _number(raw: Any) -> Any:
    return raw["value"] if isinstance(raw, dict) and "value" in raw else raw


def _is_value(raw: Any) -> bool:
    """Return whether an argument is a number, a truth, a text or None."""
    try:
        canonical_value(_number(raw), "")
    except RequestRejected:
        return False
    return True


def _dtype(name: str, arguments: Mapping[str, Any]) -> str | None:
    """Return Triton's name of the type of a tensor, None for other values."""
    raw = arguments.get(name)
    view = raw.get("view") if isinstance(raw, dict) else None
    if isinstance(view, dict):
        raw = arguments.get(str(view.get("of")))
    if not isinstance(raw, dict) or not isinstance(raw.get("dtype"), str) or "shape" not in raw:
        return None
    try:
        return canonical_dtype(raw["dtype"])
    except UnknownType:
        return str(raw["dtype"])

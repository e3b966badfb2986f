"""Winners as Python to paste: a list of `triton.Config`, with the sizes that each is for."""

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

from compiler.constexpr import canonical_value
from compiler.json_number import read_number
from sweeps.sweep_plan import SweepPlan
from sweeps.winners.winner import UsableWinner

_OPTIONS: Final = ("num_warps", "num_stages", "num_ctas", "maxnreg")
_DEFAULTS: Final = {"num_ctas": 1, "maxnreg": None}
_LANGUAGE: Final = {
    "i1": "int1", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8",
    "u16": "uint16", "u32": "uint32", "u64": "uint64", "fp8e5": "float8e5",
    "fp8e4nv": "float8e4nv", "fp8e4b15": "float8e4b15", "fp8e4b8": "float8e4b8",
    "fp8e5b16": "float8e5b16", "fp16": "float16", "bf16": "bfloat16", "fp32": "float32",
    "fp64": "float64",
}  # fmt: skip


def triton_config(url: str, plan: SweepPlan, winners: Sequence[UsableWinner]) -> str:
    """Return the Python text. Equal configurations are one, with a comment for each size."""
    configs: dict[str, list[UsableWinner]] = {}
    for winner in winners:
        configs.setdefault(_config(plan, winner), []).append(winner)
    lines = [f"# Winners of {url}, for `@triton.autotune(configs=configs, ...)`.", "import triton"]
    if any("tl." in text for text in configs):
        lines.append("import triton.language as tl")
    lines += ["", "configs = ["]
    for text, sizes in configs.items():
        lines += [f"    # {line}" for winner in sizes for line in _said(winner)]
        lines.append(f"    {text},")
    return "\n".join([*lines, "]", ""])


def _config(plan: SweepPlan, winner: UsableWinner) -> str:
    body = plan.variant(winner.variant).body
    compilation = body.get("compilation", body)
    constexprs = compilation.get("constexprs") or {}
    options = {**winner.options, **(compilation.get("options") or {})}
    swept = [axis.name.partition(".") for axis in plan.axes if not axis.is_computed]
    own = {
        name: constexprs[name]
        for group, _, name in swept
        if group == "constexprs" and name in constexprs  # else it is the kernel's default
    }
    own |= {
        name: options[name]
        for group, _, name in swept
        if group == "options" and name not in _OPTIONS and name in options
    }
    settings = {
        name: options[name]
        for name in _OPTIONS
        if name in options and options[name] != _DEFAULTS.get(name, ...)
    }
    values = ", ".join(f"{name!r}: {_spelled(value)}" for name, value in own.items())
    arguments = "".join(f", {name}={_spelled(value)}" for name, value in settings.items())
    return f"triton.Config({{{values}}}{arguments})"


def _said(winner: UsableWinner) -> Iterator[str]:
    rivals = [name for name in ("triton", "source") if name in winner.values]
    where = [winner.target, *(f"{name} {_one_line(winner.values[name])}" for name in rivals)]
    size = _one_line(winner.problem_size) if winner.problem_size is not None else "the one size"
    low, high = winner.interval_us or (winner.median_us, winner.median_us)
    yield (
        f"{size} on {', '.join(where)}: {winner.median_us:.6g} us, the median lies from "
        f"{low:.6g} to {high:.6g}"
    )
    checked = "verified against the reference" if winner.verified else "not checked: no reference"
    yield f"  {winner.lead_in_words}; {checked}"


def _one_line(text: Any) -> str:
    """Return a label as a comment can hold it: it is the caller's, and may have lines."""
    return text if isinstance(text, str) and text.isprintable() else json.dumps(text)


def _spelled(raw: Any) -> str:
    """Return a value of a request as Python writes it."""
    value = canonical_value(raw, "")
    if not isinstance(value, dict):
        return repr(value)
    [(tag, inner)] = value.items()
    match tag:
        case "int" | "float":
            number = read_number(value)
            return repr(number) if math.isfinite(number) else f"float({str(number)!r})"
        case "tuple":
            items = [_spelled(item) for item in inner]
            return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
        case "dtype":
            return f"tl.{_LANGUAGE[inner]}"
    return str(inner)  # a function's name: the text is for the file that has it

"""Compile options checked against what a toolchain offers: a whitelist, typed, with ranges.

Nothing unknown is dropped and nothing outside the table reaches the compiler.
"""

from typing import Any

from compiler.rejection import Fault, RequestRejected, did_you_mean, pointer
from compiler.target import Target
from compiler.toolchain import OptionSpec

MAX_THREADS_PER_BLOCK = 1024
_TYPES: dict[str, type | tuple[type, ...]] = {
    "int": int,
    "bool": bool,
    "str": str,
    "float": (int, float),
}


def resolve_options(
    written: dict[str, Any], table: dict[str, OptionSpec], target: Target
) -> dict[str, Any]:
    """Return every option of `table` with its value from `written` or its default.

    Raises RequestRejected for unknown names, wrong types, values out of range and contradictions.
    """
    faults = []
    for name, value in written.items():
        at = pointer("options", name)
        if name not in table:
            known = f"options of {target.backend} are {', '.join(sorted(table))}"
            message = f"unknown option {name!r}.{did_you_mean(name, table)} The {known}."
            faults.append(Fault(at, message))
        elif problem := _misfit(value, table[name]):
            faults.append(Fault(at, problem))
    if faults:
        raise RequestRejected(*faults)
    resolved = {name: written.get(name, spec.default) for name, spec in sorted(table.items())}
    _check_together(resolved, target)
    return resolved


def _misfit(value: Any, spec: OptionSpec) -> str | None:
    """Say what is wrong with `value`, or None."""
    if value is None:
        return None if spec.default is None else f"must be {_article(spec.type)}, not null"
    # bool is an int to Python, but not to a reader of JSON
    is_right_type = isinstance(value, bool) == (spec.type == "bool")
    is_right_type = is_right_type and isinstance(value, _TYPES[spec.type])
    if not is_right_type:
        return f"must be {_article(spec.type)}, not {type(value).__name__}"
    if spec.choices is not None and value not in spec.choices:
        return f"{value!r} is not one of {', '.join(map(str, spec.choices))}"
    if spec.minimum is not None and value < spec.minimum:
        return f"{value} is below the minimum of {spec.minimum}"
    if spec.maximum is not None and value > spec.maximum:
        return f"{value} is above the maximum of {spec.maximum}"
    return None


def _article(kind: str) -> str:
    return {"int": "an integer", "bool": "true or false", "str": "a string"}.get(kind, "a number")


def _check_together(options: dict[str, Any], target: Target) -> None:
    threads = options["num_warps"] * target.warp_size
    if threads > MAX_THREADS_PER_BLOCK:
        message = (
            f"{options['num_warps']} warps of {target.warp_size} threads are {threads}, "
            f"more than the {MAX_THREADS_PER_BLOCK} a block can have"
        )
        raise RequestRejected(Fault("/options/num_warps", message))
    is_before_hopper = isinstance(target.arch, int) and target.arch < 90
    if options.get("num_ctas", 1) > 1 and (target.backend == "hip" or is_before_hopper):
        message = f"clusters (num_ctas > 1) need cuda:90 or later, not {target}"
        raise RequestRejected(Fault("/options/num_ctas", message))

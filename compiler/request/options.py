"""Checks compile options against a toolchain's: a whitelist, typed, with ranges.

Nothing unknown is dropped and nothing outside of the table reaches the compiler. A front end does
not see the options that only back ends read, so that one result serves all their values. One that
reads them all the same runs again with all of them: the list decides how fast a compilation is,
never its result.
"""

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from compiler.rejection import FieldError, RequestRejected, did_you_mean, pointer, shown
from compiler.target import Feature, Target, with_feature
from compiler.toolchain import OptionSpec

BACK_OPTIONS = frozenset(
    {
        "num_warps", "num_ctas", "num_stages", "maxnreg", "ptx_version", "min_shared_mem",
        "enable_reflect_ftz", "sched4reg", "clc", "launch_cooperative_grid", "launch_pdl",
        "waves_per_eu", "matrix_instr_nonkdim", "schedule_hint", "allow_flush_denorm",
    }
)  # fmt: skip
"""By name: what nothing but the back ends of Triton 3.6 to 3.9 and Gluon's language reads.

Not among them: `enable_fp_fusion` and `kpack`, about which reading options may give a warning."""


def split_options(options: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the options that a front end sees, and the names of those hidden from it."""
    front = {name: value for name, value in options.items() if name not in BACK_OPTIONS}
    return front, sorted(options.keys() - front.keys())


MAX_THREADS_PER_BLOCK = 1024
MAX_STRING_CHARS = 256
_LIMITS: dict[str, float] = {
    "int": 2**31 - 1,  # the compiler keeps integer options in 32 bits
    "float": sys.float_info.max,
}
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
    errors = []
    for name, value in written.items():
        at = pointer("options", name)
        if name not in table:
            known = f"options of {target.backend} are {', '.join(sorted(table))}"
            message = f"unknown option {shown(name)}.{did_you_mean(name, table)} The {known}."
            errors.append(FieldError(at, message))
        elif problem := misfit(value, table[name]):
            errors.append(FieldError(at, problem))
    if errors:
        raise RequestRejected(*errors)
    resolved = {
        name: _one_spelling(written.get(name, spec.default), spec)
        for name, spec in sorted(table.items())
    }
    _check_together(resolved, target)
    return resolved


def misfit(value: Any, spec: OptionSpec) -> str | None:
    """Return the error of an option's `value`, or None."""
    if value is None and spec.default is None:
        return None
    # bool is an int to Python, but not to a reader of JSON
    is_right_type = isinstance(value, bool) == (spec.type == "bool")
    is_right_type = is_right_type and isinstance(value, _TYPES[spec.type])
    if not is_right_type:
        return f"must be {_article(spec.type)}, not {shown(value)}"
    if spec.choices is not None and value not in spec.choices:
        return f"{shown(value)} is not one of {', '.join(map(str, spec.choices))}"
    if isinstance(value, str):
        is_long = len(value) > MAX_STRING_CHARS
        return f"a string of more than {MAX_STRING_CHARS} characters" if is_long else None
    if isinstance(value, bool):
        return None
    return _out_of_range(value, spec)


def _out_of_range(value: float, spec: OptionSpec) -> str | None:
    minimum = -_LIMITS[spec.type] if spec.minimum is None else spec.minimum
    maximum = _LIMITS[spec.type] if spec.maximum is None else spec.maximum
    if value < minimum:
        return f"{shown(value)} is below the minimum of {minimum}"
    if value > maximum:
        return f"{shown(value)} is above the maximum of {maximum}"
    return None


def _one_spelling(value: Any, spec: OptionSpec) -> Any:
    return float(value) if spec.type == "float" and value is not None else value


def _article(kind: str) -> str:
    return {"int": "an integer", "bool": "true or false", "str": "a string"}.get(kind, "a number")


def _check_together(options: dict[str, Any], target: Target) -> None:
    errors = [
        FieldError(f"/options/{name}", problem)
        for name, problem in _contradictions(options, target)
    ]
    if errors:
        raise RequestRejected(*errors)


def _contradictions(options: dict[str, Any], target: Target) -> Iterator[tuple[str, str]]:
    """Yield the options that `target` does not have, or not with these values, and why."""
    threads = options["num_warps"] * target.warp_size
    if threads > MAX_THREADS_PER_BLOCK:
        yield (
            "num_warps",
            f"{options['num_warps']} warps of {target.warp_size} threads are {threads}, "
            f"more than the {MAX_THREADS_PER_BLOCK} a block can have",
        )
    if target.architecture is None:
        return
    if options.get("num_ctas", 1) > 1 and not target.has("clusters"):
        needed = ", or ".join([f"{_first('clusters')} or later", *with_feature("clusters", "hip")])
        yield "num_ctas", f"clusters (num_ctas > 1) need {needed}, not {target}"
    if options.get("clc") and not target.has("cluster_launch_control"):
        needed = f"{_first('cluster_launch_control')} or later"
        yield "clc", f"cluster launch control needs {needed}, not {target}"
    version = options.get("ptx_version")
    first = target.architecture.first_ptx_version
    if version is not None and first is not None and version < first:
        yield (
            "ptx_version",
            f"{target} needs at least {first} (PTX {first / 10:.1f}), not {version}",
        )


def _first(feature: Feature) -> str:
    return with_feature(feature, "cuda")[0]

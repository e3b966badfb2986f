"""State that Triton's back end reads besides its input: knobs, variables, its own functions.

A source that changes these changes what `triton.compile` makes in its process. Here the back end
runs in another process, for any source with equal TTIR, so that such a change is reported, and
refused where it would make other code: a compilation depends on its request alone.
"""

import os
import re
import sys
from collections.abc import Mapping
from functools import cache
from operator import is_
from typing import Any

from triton import knobs

from compiler.back import triton_api
from compiler.diagnostic import Diagnostic, Failure, Severity, Span, diagnostic, excerpt

State = Mapping[str, Mapping[str, Any]]
"""Values by the owner's dotted name, then by name."""

_KNOBS = "triton.knobs."
_COMPILERS = (
    "triton.backends.nvidia.compiler", "triton.backends.amd.compiler", "triton.compiler.compiler",
)  # fmt: skip
_MODULES = (
    *_COMPILERS, "triton.knobs", "triton._C.libtriton.passes", "triton._C.libtriton.llvm",
    "triton._C.libtriton.nvidia", "triton._C.libtriton.amd",
)  # fmt: skip
_CHANGES_NO_CODE = re.compile(
    r"(?:cache|redis|autotuning|proton|build)\.\w+"
    r"|compilation\.(?:listener|dump_ir|always_compile|store_binary_only|front_end_debugging"
    r"|allow_non_constexpr_globals)"
    r"|runtime\.(?!add_stages_inspection_hook|override_arch|interpret|debug)\w+"
    r"|\w+\.dump_\w+|nvidia\.(?:cuobjdump|nvdisasm|libcuda_path)|amd\.libhip_path"
)
_OPTIONS = {
    "language.default_fp_fusion": "enable_fp_fusion",
    "language.force_disable_fp_fusion": "enable_fp_fusion",
    "language.fp32_default": "default_dot_input_precision",
    "runtime.debug": "debug",
}
_OF_FILES = frozenset({"__cached__", "__file__"})
"""The location of a module: children see other paths than the zygote."""
_ABSENT = object()


@cache
def initial_state() -> State:
    """Return what all of it is before any source ran in this process: call it in time."""
    return {owner: dict(values) for owner, values in _current_state().items()}


def _current_state() -> State:
    return {**knobs_and_variables(), **_functions()}


def knobs_and_variables() -> State:
    """Return the knobs of Triton by group, and the variables of its cache's key."""
    return {**_knobs(), "os.environ": _variables()}


def check(texts: Mapping[str, str]) -> list[Diagnostic]:
    """Return warnings about changes from `initial_state`; `texts` are the executed ones, by path.

    Raises `Failure` (`compile_error`) for what would make other code.
    """
    changed = changes(initial_state(), _current_state())
    messages = [_diagnostic_of(name, texts) for name in sorted(changed)]
    wrong = [item for item in messages if item.severity == "error"]
    if wrong:
        raise Failure("compile_error", "frontend", wrong[0].message, messages)
    return messages


def changes(before: State, now: State) -> list[str]:
    """Return the dotted names of knobs that differ and may change code."""
    names = (
        f"{owner}.{name}"
        for owner, values in now.items()
        for name in _changed(owner, before.get(owner, {}), values)
    )
    return [name for name in names if not _is_harmless(name)]


def _knobs() -> dict[str, dict[str, Any]]:
    return {
        f"{_KNOBS}{group_name}": {
            **{name: _read(group, name, knob) for name, knob in described.items()},
            **vars(group),
        }
        for group_name, group, described in _groups()
    }


def _read(group: Any, name: str, knob: Any) -> Any:
    if isinstance(knob, (knobs.env_bool, knobs.env_opt_bool)):
        return getattr(group, name)
    # what is read of others may be a program that is asked for its version
    return os.environ.get(knob.key)


@cache
def _groups() -> list[tuple[str, Any, dict[str, Any]]]:
    """Return the groups of knobs that there are, each with the knobs that have a variable."""
    return [
        (name, group, group.knob_descriptors)
        for name, group in vars(knobs).items()
        if isinstance(group, knobs.base_knobs)
    ]


@cache
def _variables_of_knobs() -> frozenset[str]:
    return frozenset(knob.key for _, _, knobs_ in _groups() for knob in knobs_.values())


def _variables() -> dict[str, str]:
    """Return the variables that are in the key of Triton's cache, except those of knobs."""
    known = _variables_of_knobs()
    return {name: value for name, value in triton_api.variables().items() if name not in known}


def _functions() -> dict[str, Mapping[str, Any]]:
    functions: dict[str, Mapping[str, Any]] = {}
    for path in _MODULES:
        module = sys.modules.get(path)
        if module is not None:
            functions[path] = vars(module)
    for path in _COMPILERS:
        for name, value in list(functions.get(path, {}).items()):
            if isinstance(value, type) and value.__module__ == path:
                functions[f"{path}.{name}"] = vars(value)
    return functions


def _changed(owner: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    if before.keys() == now.keys() and all(map(is_, before.values(), now.values())):
        return []
    # one more function changes none that is there
    names = {**before, **now} if owner.startswith((_KNOBS, "os.")) else before
    return [
        name
        for name in names
        if name not in _OF_FILES and not _same(before.get(name, _ABSENT), now.get(name, _ABSENT))
    ]


def _same(old: Any, new: Any) -> bool:
    is_plain = type(old) is type(new) and isinstance(new, (str, int))
    return old is new or (is_plain and bool(old == new))


def _is_harmless(name: str) -> bool:
    return _CHANGES_NO_CODE.fullmatch(name.removeprefix(_KNOBS)) is not None


def _diagnostic_of(name: str, texts: Mapping[str, str]) -> Diagnostic:
    knob = name.removeprefix(_KNOBS)
    option = _OPTIONS.get(knob)
    instead = f'; write "options": {{"{option}": ...}} in the request' if option else ""
    span, shown = _place(name, texts)
    severity: Severity = "error"
    means = "which changes what Triton compiles"
    if knob == "runtime.debug":
        severity, means = "warning", "which Triton's JIT takes for the option `debug` at launch"
    message = (
        f"the source sets {name}, {means}; here a compilation depends on its request alone, and "
        "the compiler runs in a process that the source cannot reach"
    )
    return diagnostic(
        severity, "frontend", message, hint=f"Remove it{instead}.", span=span, excerpt=shown
    )


def _place(name: str, texts: Mapping[str, str]) -> tuple[Span | None, str | None]:
    """Return the first line that contains the name, or the variable of the knob."""
    words = {name.rpartition(".")[2], _variable_of(name)} - {None}
    mention = re.compile(r"\b(?:" + "|".join(re.escape(str(word)) for word in words) + r")\b")
    for path, text in texts.items():
        lines = text.split("\n")
        for number, line in enumerate(lines, 1):
            if match := mention.search(line.partition("#")[0]):
                span = Span(path, number, match.start() + 1, number, match.end() + 1)
                return span, excerpt(lines, span)
    return None, None


def _variable_of(name: str) -> str | None:
    group, _, knob = name.removeprefix(_KNOBS).partition(".")
    known = getattr(knobs, group, None)
    if not name.startswith(_KNOBS) or not isinstance(known, knobs.base_knobs):
        return None
    descriptor = known.knob_descriptors.get(knob)
    return descriptor.key if descriptor is not None else None

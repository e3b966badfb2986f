"""Refusals of the service in terms of the command line: flags instead of JSON pointers."""

import re
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace

from tritonc.diagnostic import Diagnostic, FieldError, Problem
from tritonc.service_errors import ProblemError

_FLAGS = {  # by request member: the flag, and the namespace attribute with its values
    "target": ("--target", "target"),
    "kernel": ("--kernel", "kernel"),
    "triton": ("--triton", "triton"),
    "signature": ("--signature", "signature"),
    "constexprs": ("--constexpr", "constexpr"),
    "hints": ("--hint", "hint"),
    "options": ("--option", "option"),
    "files": ("--file", "file"),
    "include": ("--emit", "emit"),
    "stop_after": ("--stop-after", "stop_after"),
    "priority": ("--priority", "priority"),
    "timeout_s": ("--timeout-s", "timeout_s"),
    "arguments": ("--argument", "argument"),
    "grid": ("--grid", "grid"),
    "device": ("--device", "device"),
    "reference": ("--reference", "reference"),
    "return": ("--return", "returns"),
    "checks": ("--check", "check"),
    "contract": ("--contract", "contract"),
    "limits": ("--limit", "limit"),
    "fuzz": ("--fuzz-seed", "fuzz_seed"),
    "timing": ("--time", "time"),
    "profile": ("--hot-lines", "hot_lines"),
    "trace": ("--trace", "trace"),
    "entry": ("--entry", "entry"),
    "inputs": ("--inputs", "inputs"),
    "seed": ("--seed", "seed"),
    "trials": ("--trials", "trials"),
    "space": ("--space", "space"),
    "where": ("--where", "where"),
    "budget_s": ("--budget-s", "budget_s"),
    "tolerance": ("--tolerance", ""),
}
_CHANGES = {"--before": "before", "--after": "after", "--space": "space"}
"""Flags that give several values to options, constexprs, the target or Triton; see `place`."""
_AROUND = frozenset({"compilation", "base"})
_NAMED = frozenset(
    {"signature", "constexprs", "hints", "options", "files", "arguments", "return", "space"}
    | {"limits"}
)
_PARAMETERS = {"sort": "--sort", "wait": "--wait-s"}  # by query parameter
_ADVICE = {
    401: "set TRITOND_API_KEY to a key of this service",
    403: "the key in TRITOND_API_KEY may not do this",
}


WRONG_REQUEST = 2  # the exit code of a mistake in the request, wherever it is found
_FLAGS_OF_RESULTS = {  # by slug of a result: what only reading the source shows
    "unknown_kernel": "--kernel",
    "ambiguous_kernel": "--kernel",
    "missing_constexpr": "--constexpr",
    "missing_type": "--signature",
    "extra_argument": "--signature, --constexpr",
    "missing_argument": "--argument",
    "argument_mismatch": "--argument",
    "invalid_argument": "--argument",
    "needs_gpu": "--device",
}


_NO_ENTRY = "no_entry"
"""The reason of a program without the function or class that the request names."""
_INPUTS = "`inputs`"
_POINTER = re.compile(r"(?:^|(?<=; ))/[\w/~.-]{1,200}(?=: )")
"""The place in the request at the start of each part of a detail."""
_QUOTED = re.compile(r"`(\w+)`")


def is_wrong_request(problem: Problem | None) -> bool:
    """Return whether a result failed by a mistake in its request."""
    return bool(_flag_of(problem, Namespace()))


def in_flags(problem: Problem | None, args: Namespace) -> Problem | None:
    """Return the problem of a result, with flags for the members that its detail names."""
    if problem is None or not is_wrong_request(problem):
        return problem
    detail = _POINTER.sub(lambda match: place(FieldError(match[0], ""), args), problem.detail)
    if problem.reason == _NO_ENTRY:
        detail = detail.replace("`entry`", _flag_of(problem, args)).replace(_INPUTS, "--inputs")
    return replace(problem, detail=detail)


def flag_line(
    problem: Problem | None,
    args: Namespace,
    shown: Sequence[Diagnostic] = (),
    *,
    is_reported: bool = False,
) -> str:
    """Return a line with the flag to change, empty if the request is not wrong.

    It repeats no problem that `is_reported`, or that was `shown` at its line of the source.
    """
    if problem is None or not (flag := _flag_of(problem, args)):
        return ""
    if not is_reported and _POINTER.match(problem.detail):
        return f"tritonc: {(in_flags(problem, args) or problem).detail}"
    text = problem.detail or problem.title
    is_shown = is_reported or any(item.line and item.message in text for item in shown)
    return f"tritonc: change {flag}" if is_shown else f"tritonc: {flag}: {text}"


def wrong_row(problem: Problem | None, args: Namespace) -> str:
    """Return a line on a sweep's row that was refused, or failed by a mistake of the request."""
    if problem is None or not problem.errors:
        return flag_line(problem, args)
    return f"tritonc: {place(problem.errors[0], args)}: {problem.errors[0].message}"


def _flag_of(problem: Problem | None, args: Namespace) -> str:
    """Return the flag that caused the problem of a result, empty if none did."""
    if problem is None:
        return ""
    if problem.reason == _NO_ENTRY:
        if _INPUTS in problem.detail:
            return "--inputs"
        is_reference = problem.raw.get("program") == "reference"
        return "--reference-entry" if is_reference else "--entry"
    flag = _FLAGS_OF_RESULTS.get(problem.slug, "")
    if flag and (places := _POINTER.findall(problem.detail)):
        return ", ".join(dict.fromkeys(place(FieldError(at, ""), args) for at in places))
    arguments = {name for name, _ in getattr(args, "argument", None) or ()}
    if problem.slug == "extra_argument" and arguments.intersection(_QUOTED.findall(problem.detail)):
        return "--argument"
    return flag


def refused(error: ProblemError, args: Namespace) -> str:
    """Return the reasons for a refusal: a line for each error, with the flag that caused it."""
    headline = f"{error.status} {error.slug}".strip()
    lines = [f"{place(field_error, args)}: {field_error.message}" for field_error in error.errors]
    if len(lines) == 1:
        return f"{headline}: {lines[0]}"
    if lines:
        return "\n  ".join([f"{headline}:", *lines])
    if (parameter := error.problem.raw.get("parameter")) in _PARAMETERS:
        return f"{headline}: {_PARAMETERS[parameter]}: {error.problem}"
    advice = _ADVICE.get(error.status)
    if error.slug == "not_found" and getattr(args, "key", None):
        advice = "`tritonc list` shows those that are kept"
    return f"{error}; {advice}" if advice else str(error)


def place(error: FieldError, args: Namespace) -> str:
    """Return the flag that caused an error, or its place in the request if no flag did."""
    parts = [part.replace("~1", "/").replace("~0", "~") for part in error.pointer.split("/")[1:]]
    while parts and parts[0] in _AROUND:
        parts = parts[1:]
    if not parts:
        return "the request"
    request = getattr(args, "request", None)
    if parts[0] in {"source", "ir"} and (source := _only_file(args)):
        return source
    flag, attribute = _FLAGS.get(parts[0], ("", ""))
    name = parts[1] if len(parts) > 1 and parts[0] in _NAMED else None
    if name is not None and parts[0] in {"signature", "constexprs", "hints"}:
        like = {named for named, _ in getattr(args, "like", None) or ()}
        flag = "--like" if name in like else flag
    if own := _flag_of_part(parts, args):
        return own
    if changed := _changed_by(args, name or parts[0]):
        return f"{changed} {name or parts[0]}"
    if parts[0] == "space" and name is not None:
        typed = {typed for typed, _ in getattr(args, "space", None) or ()}
        name = name if name in typed else name.partition(".")[2] or name
    if request and not _is_typed(getattr(args, attribute, None), name):
        return f"{request}, {'.'.join(parts)}"
    if not flag:
        return error.pointer
    return ", ".join([f"{flag} {name}" if name else flag, *(parts[2:] if name else ())])


def _only_file(args: Namespace) -> str:
    """Return the file that a command sends, "" for several."""
    words = [getattr(args, name, None) for name in ("source", "key", "a", "b")]
    files = [*filter(None, words), *(getattr(args, "sources", None) or ())]
    return str(files[0]) if len(files) == 1 else ""


def _flag_of_part(parts: Sequence[str], args: Namespace) -> str:
    """Return the flag that gives only this part of a member, empty if none does."""
    if parts[0] in {"tolerance", "reference"} and parts[1:] in (["rtol"], ["atol"]):
        is_typed = not getattr(args, "request", None) or getattr(args, parts[1], None) is not None
        return f"--{parts[1]}" if is_typed else ""
    is_axis = _is_typed(getattr(args, "space", None), "target")
    return "--target" if parts[:2] == ["space", "target"] and not is_axis else ""


def _changed_by(args: Namespace, name: str) -> str:
    """Return the flags that give several values to this name, empty if none does."""
    flags = [
        flag
        for flag, attribute in _CHANGES.items()
        if any(word.rpartition(".")[2] == name for word, _ in getattr(args, attribute, None) or ())
    ]
    return ", ".join(flags)


def _is_typed(words: object, name: str | None) -> bool:
    """Return whether the command line gave a value; otherwise a request file did."""
    if name is None or not isinstance(words, list):
        return bool(words)
    firsts = (word[0] if isinstance(word, tuple) else word.partition("=")[0] for word in words)
    return name in firsts

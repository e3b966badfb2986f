"""The next step after a failure: which argument to change, or which line of the source.

`fault` of a problem decides: a wrong request is repaired by an argument, never by the source.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

_QUOTED = re.compile(r"`([A-Za-z_]\w*)`")
_MEANT = re.compile(r"Did you mean `([A-Za-z_]\w*)`\?")
_POINTER = re.compile(r"(?:^|; )(/[\w/~.-]{1,200}): ")
_ARGUMENT_OF: Final = {
    "unknown_kernel": "kernel",
    "ambiguous_kernel": "kernel",
    "missing_constexpr": "constexprs",
    "missing_type": "signature",
    "extra_argument": "signature",
}
"""The argument that repairs a problem of a compilation."""
_OF_VALUES: Final = re.compile(
    r"power of (2|two)|exceeds|too large|out of range|at least|multiple of|must be (>|<|positive)"
)
"""Messages about a value, which a constexpr has where the line names one."""
_OF_VALUE: Final = ("In `constexprs`, ", "In `arguments`, ")
"""The beginnings of hints about a value, not about the line that uses it."""
_OF_CONTRACT: Final = "The contract "
_SMALLER: Final = {
    "out_of_resources": "use smaller values in the argument `constexprs`, or fewer `num_stages` or "
    "`num_warps` in `options`",
    "memory_exceeded": "use smaller values in the argument `constexprs`",
    "compile_timeout": "use smaller values in the argument `constexprs`",
}
"""Remedies of kernels that are right, but too large."""
_MESSAGE_CHARS: Final = 600
_USER_FILE: Final = "user.py"
_BASES: Final = ("/compilation", "/base/compilation", "/base")


def short(text: str) -> str:
    """Return the beginning of a message."""
    return text if len(text) <= _MESSAGE_CHARS else f"{text[:_MESSAGE_CHARS]}…"


def wrong_arguments(problem: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the arguments that a refusal names, as a tool has them, each with its mistake."""
    wrong: dict[tuple[str, str], None] = {}
    for item in problem.get("errors") or []:
        member, argument = item["pointer"][1:], _argument_at(item["pointer"])
        wrong[argument, item["message"].replace(f"`{member}`", f"`{argument}`")] = None
    return list(wrong)


def _argument_at(pointer: str) -> str:
    for base in _BASES:
        pointer = pointer.removeprefix(base)
    words = [word.replace("~1", "/").replace("~0", "~") for word in pointer.split("/")[1:]]
    match words:
        case ["device", *_]:
            return "target"
        case ["timing", *_]:
            return "time"
        case ["reference" | "tolerance", "rtol" | "atol" as argument]:
            return argument
        case ["reference" | "ir" as argument, *_]:
            return argument
        case ["space", "product", *words]:
            return ".".join(["space", *words])
    return ".".join(words) or "source"


def remedy(problem: Mapping[str, Any], compilation: Mapping[str, Any], again: str) -> str:
    """Return the step after a failed compilation or run; `again` is the tool to call.

    `compilation` has the diagnostics and parameters, where there are any.
    """
    if is_of_reference(problem):
        return _by_reference(problem, again)
    diagnostics = compilation.get("diagnostics") or []
    error = next((item for item in diagnostics if item["line"]), None)
    hinted = "" if error is None or not error["hint"] else _by_hint(error, again)
    if problem["fault"] == "request":
        by_argument = (
            f"{_by_argument(problem, again)}, and {again} again; leave the source as it is"
        )
        return hinted or by_argument
    if smaller := _SMALLER.get(problem["slug"]):
        return f"{smaller}, and {again} again"
    if error is not None and (named := _constexprs_of(error, compilation)):
        return (
            f"change the value of {named} in the argument `constexprs`, or line {error['line']}, "
            f"and {again} again"
        )
    if hinted:
        return hinted
    if problem["fault"] == "service" or problem["retryable"]:
        return f"{again} again; the source may be correct"
    line = problem["line"] if error is None else error["line"]
    return f"fix {f'line {line}' if line else 'the errors above in the source'}, and {again} again"


def is_of_reference(problem: Mapping[str, Any]) -> bool:
    """Return True for a problem of a program's reference that the caller can repair."""
    is_ours = problem["fault"] == "service" or problem["retryable"]
    return problem.get("program") == "reference" and not is_ours


def _by_reference(problem: Mapping[str, Any], again: str) -> str:
    file, line = problem.get("file"), problem["line"]
    text = "`reference`" if file in {None, _USER_FILE} else f"{file} of `reference`"
    place = f"line {line} of {text}" if line else text
    return f"fix {place}, and {again} again; leave the source as it is: it was not judged"


def _by_hint(error: Mapping[str, Any], again: str) -> str:
    """Return a step that has the hint of an error, or names its line if the hint has several."""
    place = f"line {error['line']}"
    if error["file"] != _USER_FILE:
        place += f" of {error['file']}"
    hint = short(error["hint"])
    if hint.startswith(_OF_VALUE):
        return f"{hint} Then {again} again; leave the source as it is"
    if "\n" in hint:
        return f"apply the hint above at {place}, and {again} again"
    end = "" if hint[-1] in ".?!" else "."
    return f"{place}: {hint}{end} Then {again} again"


def _constexprs_of(error: Mapping[str, Any], compilation: Mapping[str, Any]) -> str:
    """Return the constexprs whose value the error is about: those that its line names."""
    if not _OF_VALUES.search(error["message"]):
        return ""
    words = set(re.findall(r"\w+", error.get("excerpt") or ""))
    parameters = compilation.get("parameters") or []
    names = [item["name"] for item in parameters if item["role"] == "constexpr"]
    return " or ".join(f"`{name}`" for name in names if name in words)


def _by_argument(problem: Mapping[str, Any], again: str) -> str:
    slug, argument = problem["slug"], _ARGUMENT_OF.get(problem["slug"])
    quoted = _QUOTED.findall(problem["detail"])
    name = problem.get("parameter") or (quoted[0] if quoted else None)
    match slug:
        case "missing_constexpr" if name:
            return f'add "{name}" with its value to the argument `constexprs`'
        case "missing_type" if name:
            return f'add "{name}" with its type to the argument `signature`'
        case "missing_argument" if name:
            return f'add it to the argument `arguments`, such as "{name}": "fp32[8,512]:normal"'
        case "extra_argument":
            shown = f"`{name}`" if name else "what the kernel does not have"
            meant = _MEANT.search(problem["detail"])
            change = (
                f"rename {shown} to `{meant[1]}`, or remove it," if meant else f"remove {shown}"
            )
            where = {"sweep": "`space`, ", "launch": "`arguments`, "}.get(again, "")
            return f"{change} in {where}`constexprs` or `signature`"
    if again == "prove" and problem["detail"].startswith(_OF_CONTRACT):
        return "change `contract` as described above"
    if pointers := _POINTER.findall(problem["detail"]):
        named = ", ".join(dict.fromkeys(f"`{_argument_at(pointer)}`" for pointer in pointers))
        return f"change {named} as described above"
    if argument is not None:
        return f"set the argument `{argument}` to a name listed above"
    return "change the arguments as described above"

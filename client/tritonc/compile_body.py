"""The JSON of compile requests, from Python values.

The service checks names, types and options, and reports errors.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, TypedDict

_DTYPE = re.compile(r"(?:tl|triton\.language|torch)\.((?:bfloat|float|u?int)\d\w*)")
_PATH = re.compile(r"[^\n]*\.(?:py|ttir|ttgir|mlir)")
JSON_SAFE_INTEGER = 2**53  # beyond it, JSON readers in other languages lose digits


class FurtherMembers(TypedDict, total=False):
    """The rarer members of a compile request; the service picks defaults for omitted ones."""

    files: Mapping[str, str]
    """Further modules that the source imports, by path."""
    module: str
    """The source's own dotted name in its package, such as `pkg.sub.mod`."""
    absent: Sequence[str]
    """With `module`: modules that this machine does not have either."""
    triton: str
    """A Triton version that the deployment offers."""
    priority: str
    """`interactive` or `batch`."""
    timeout_s: float
    """Time limit of the compilation in seconds."""
    refresh: bool
    """Compile again and replace the cached result."""
    specialization_data: str | Mapping[str, Any]
    """The data that Triton's JIT passes to hooks, instead of signature, constexprs and hints."""


def compile_request(
    source: str,
    *,
    constexprs: Mapping[str, Any] | None = None,
    hints: Mapping[str, Iterable[str]] | None = None,
    options: Mapping[str, Any] | None = None,
    include: Iterable[str] = (),
    **members: Any,
) -> dict[str, Any]:
    """Return the JSON of a request, for `Client.compile` and for batches.

    `members` are those of `Client.compile`; None leaves a member to the service. Raises
    TypeError for constexpr or option values that JSON cannot represent.
    """
    return members_json(
        {"source": source, "constexprs": constexprs, "hints": hints, "options": options}
        | {"include": string_list(include)}
        | members
    )


def ir_request(
    text: str,
    *,
    language: str,
    canonicalize: bool,
    options: Mapping[str, Any] | None = None,
    include: Iterable[str] = (),
    **members: Any,
) -> dict[str, Any]:
    """Return the JSON of a request that compiles `ttir` or `ttgir` text instead of Python."""
    ir = {"language": language, "text": text, "canonicalize": canonicalize}
    return members_json({"ir": ir, "options": options, "include": string_list(include)} | members)


def members_json(members: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members that are not None, converted to JSON.

    Raises TypeError for constexpr or option values that JSON cannot represent, and as
    `check_source`.
    """
    check_source(members.get("source"))
    check_source((members.get("ir") or {}).get("text"))
    constexprs, hints, options = (members.get(n) for n in ("constexprs", "hints", "options"))
    written = {
        **members,
        "constexprs": None if constexprs is None else _values("constexpr", constexprs),
        "hints": None if hints is None else {n: string_list(h) for n, h in hints.items()},
        "options": None if options is None else _values("option", options),
    }
    return {name: member for name, member in written.items() if member is not None}


class SourceIsPath(ValueError):
    """The text of a source is that of a path."""


def check_source(source: object) -> None:
    """Raise TypeError for a path in place of a source's text, SourceIsPath for the text of one."""
    is_path = isinstance(source, PurePath)
    if is_path or (isinstance(source, str) and _PATH.fullmatch(source)):
        message = f"{source} is a path: pass the text of the file, Path(...).read_text()"
        raise TypeError(message) if is_path else SourceIsPath(message)


def constexpr_json(value: Any) -> Any:
    """Return `value` in the service's form of constexprs: tuples as lists, big integers tagged.

    A dict is passed unchanged, as in `{"dtype": "bf16"}` or `{"function": "relu"}`.
    Raises TypeError for anything without such a form.
    """
    match value:
        case None | bool() | str() | dict():
            return value
        case int():
            return value if abs(value) <= JSON_SAFE_INTEGER else {"int": str(value)}
        case float():
            return value if math.isfinite(value) else {"float": str(value)}
        case list() | tuple():
            return [constexpr_json(item) for item in value]
    raise TypeError(
        f"{value!r} is a {type(value).__name__}, which JSON lacks; pass an int, float, bool, "
        'None, str or tuple, or write a dtype as {"dtype": "bf16"} and a function of the source '
        'as {"function": "name"}'
    )


def named_dtype(text: str) -> dict[str, str] | None:
    """Return the constexpr that `tl.float32` names in Python, `None` for other text."""
    named = _DTYPE.fullmatch(text)
    return {"dtype": named[1]} if named is not None else None


def string_list(strings: Iterable[str]) -> list[str]:
    """Return a list of strings. Raises TypeError for a bare string, certainly a mistake."""
    if isinstance(strings, str):
        raise TypeError(f"{strings!r} is one string; pass a sequence of strings: ({strings!r},)")
    return list(strings)


def _values(kind: str, values: Mapping[str, Any]) -> dict[str, Any]:
    written = {}
    for name, value in values.items():
        try:
            written[name] = constexpr_json(value)
        except TypeError as error:
            raise TypeError(f"{kind} {name!r}: {error}") from None
    return written

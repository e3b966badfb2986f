"""The names of `triton.language`, with the signatures that the installed Triton gives them.

For editors that complete `tl.`: what stands here is asked of Triton itself, so it is true of each
version that a deployment offers.
"""

import inspect
from types import ModuleType
from typing import Any

import triton.language

from compiler.messages.reports import LanguageName

SUMMARY_CHARS = 300
SIGNATURE_CHARS = 500


def language_names() -> list[LanguageName]:
    """Return the public names that a kernel may use, in the order of the alphabet."""
    names = [name for name in dir(triton.language) if not name.startswith("_")]
    found = ((name, getattr(triton.language, name)) for name in names)
    return [_described(name, value) for name, value in found if _is_of_the_language(value)]


def _is_of_the_language(value: Any) -> bool:
    if isinstance(value, ModuleType):
        return False
    home = value.__module__ if inspect.isclass(value) else type(value).__module__
    # functions are Python's, and only those of the language stand in it
    return inspect.isfunction(value) or home.startswith("triton.")


def _described(name: str, value: Any) -> LanguageName:
    function = getattr(value, "fn", value)  # of a JITFunction
    is_called = inspect.isfunction(function) or inspect.isclass(function)
    text = inspect.getdoc(function) if is_called else None
    summary = " ".join((text or "").replace(":code:", "").split("\n\n")[0].split())
    return LanguageName(
        name=name,
        signature=_signature(function)[:SIGNATURE_CHARS] if is_called else None,
        summary=summary[:SUMMARY_CHARS],
    )


def _signature(function: Any) -> str:
    """Return the signature for kernels: without parameters that the compiler passes itself."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of a class that Python cannot say it of
        return "(...)"
    parameters = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for name, parameter in signature.parameters.items()
        if not name.startswith("_") and name != "self"
    ]
    return str(inspect.Signature(parameters)).replace("constexpr[", "[")

"""The reference of a launch: a text, or a function of this process that travels as its text."""

import inspect
import textwrap
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

Reference = str | Callable[..., Any] | Mapping[str, Any]
"""The text of a function `reference`, a function as it is, or the JSON of a reference."""


def reference_json(reference: Reference | None) -> Mapping[str, Any] | None:
    """Return the JSON of a reference. Raises TypeError for a function without a text."""
    if isinstance(reference, str):
        return {"source": reference}
    if reference is None or isinstance(reference, Mapping):
        return reference
    return {"source": _text_of(reference)}


def _text_of(function: Any) -> str:
    """Return a function as a text that defines `reference`, with the modules that it uses.

    Raises TypeError for a function without a text.
    """
    name = getattr(function, "__name__", "<lambda>")
    if name == "<lambda>":
        raise TypeError("a lambda has no text of its own: write the reference as a `def`")
    try:
        text = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError) as error:
        raise TypeError(f"the text of {name} cannot be read ({error}); pass it as a str") from error
    imports = [
        f"import {module.__name__} as {known}\n" for known, module in _modules(function).items()
    ]
    alias = "" if name == "reference" else f"\n\nreference = {name}\n"
    return "".join(imports) + text + alias


def _modules(function: Any) -> dict[str, ModuleType]:
    """Return the modules that a function uses, by the names it knows them under."""
    used, known = function.__code__.co_names, function.__globals__
    return {name: known[name] for name in used if isinstance(known.get(name), ModuleType)}

"""The JSON of a launch's reference, from a text, a Python function, or a file that TOML names.

A reference whose text imports torch is sent with `language: torch`, unless a language is written.
"""

import ast
import dis
import inspect
import textwrap
from collections.abc import Callable, Mapping
from types import CodeType, ModuleType
from typing import Any

from tritonc.compile_body import check_source
from tritonc.packages.module_sources import parsed

Reference = str | Callable[..., Any] | Mapping[str, Any]
"""The text of a function `reference`, a Python function, or the JSON of a reference."""

NUMPY, TORCH = "numpy", "torch"


def reference_json(reference: Reference | None) -> Mapping[str, Any] | None:
    """Return the JSON of a reference, with the language that its text needs.

    Raises TypeError for a function without source text, and what `check_source` raises.
    """
    if reference is None:
        return None
    check_source(reference.get("source") if isinstance(reference, Mapping) else reference)
    if isinstance(reference, str):
        reference = {"source": reference}
    if not isinstance(reference, Mapping):
        reference = {"source": _text_of(reference)}
    return {**reference, "language": TORCH} if _needs_torch(reference) else reference


def case_reference_json(
    reference: Reference, launch_reference: Reference | None
) -> Mapping[str, Any] | None:
    """Return the JSON of a case's reference, which changes that of the launch.

    A text for NumPy is sent as such if only the text of the launch's reference chose torch.
    """
    changed = reference_json(reference)
    around = reference_json(launch_reference)
    is_chosen = isinstance(launch_reference, Mapping) and "language" in launch_reference
    if changed is None or around is None or is_chosen or around.get("language") != TORCH:
        return changed
    return changed if "source" not in changed else {"language": NUMPY, **changed}


def path_in(reference: Any) -> str | None:
    """Return the path of a reference's file in a TOML or JSON file, None if it has a text.

    A path is a `file`, or a `source` of a single line that ends in `.py`.
    """
    if isinstance(reference, Mapping):
        path = reference.get("file", reference.get("source"))
        is_file = "file" in reference
    else:
        path, is_file = reference, False
    if not isinstance(path, str):
        return None
    return path if is_file or _is_path(path) else None


def from_file(reference: Any, text: str | None) -> dict[str, Any]:
    """Return the JSON of a reference with the text of its file instead of the path."""
    rest = reference if isinstance(reference, Mapping) else {}
    return {name: member for name, member in rest.items() if name != "file"} | {"source": text}


def _is_path(text: str) -> bool:
    return text.endswith(".py") and len(text.splitlines()) == 1


def _needs_torch(reference: Mapping[str, Any]) -> bool:
    """Return whether the text of a reference without a language imports torch."""
    text = reference.get("source")
    if "language" in reference or not isinstance(text, str) or TORCH not in text:
        return False
    return any(name.partition(".")[0] == TORCH for name in _imported(parsed(text)))


def _imported(tree: ast.AST) -> list[str]:
    """Return the names of the modules that any statement of a text imports."""
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.append(node.module or "")
    return names


def _text_of(function: Any) -> str:
    """Return the source of a function as a text that defines `reference` and imports its modules.

    Raises TypeError for a function without source text, or one that needs more than that.
    """
    name = getattr(function, "__name__", "<lambda>")
    if name == "<lambda>":
        raise TypeError("the source of a lambda cannot be found; write the reference as a `def`")
    try:
        text = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError) as error:
        raise TypeError(f"cannot read the source of {name} ({error}); pass it as a str") from error
    if outside := _outside(inspect.unwrap(function)):
        raise TypeError(
            f"{name} uses {', '.join(outside)} from outside; only its own text and the modules "
            "that it uses are sent: define or import these within it"
        )
    imports = [
        f"import {module.__name__} as {known}\n"
        for known, module in _modules(function, text).items()
    ]
    alias = "" if name == "reference" else f"\n\nreference = {name}\n"
    return "".join(imports) + text + alias


def _outside(function: Any) -> list[str]:
    """Return the values, not modules, that a function takes from around it."""
    known = function.__globals__
    values = {
        name
        for name in _global_names(function.__code__) & known.keys()
        if not isinstance(known[name], ModuleType)
    }
    return sorted(values.union(function.__code__.co_freevars) - {function.__name__})


def _global_names(code: CodeType) -> set[str]:
    names = {item.argval for item in dis.get_instructions(code) if item.opname == "LOAD_GLOBAL"}
    return names.union(
        *(_global_names(item) for item in code.co_consts if isinstance(item, CodeType))
    )


def _modules(function: Any, text: str) -> dict[str, ModuleType]:
    """Return the modules that a function, its decorators and annotations use, by their names."""
    known = inspect.unwrap(function).__globals__
    used = sorted({node.id for node in ast.walk(parsed(text)) if isinstance(node, ast.Name)})
    return {name: known[name] for name in used if isinstance(known.get(name), ModuleType)}

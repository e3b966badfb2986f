"""Three ways to load a module of a package whose own installation may be incomplete."""

import ast
import importlib
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType


def imported_bare(name: str) -> ModuleType:
    """Import a module without running the `__init__`s of its packages."""
    parts = name.split(".")[:-1]
    for count in range(1, len(parts) + 1):
        package = ModuleType(".".join(parts[:count]))
        package.__path__ = [str(Path(sys.path[0], *parts[:count]))]
        sys.modules[package.__name__] = package
    return importlib.import_module(name)


def executed(name: str) -> ModuleType:
    """Execute a module statement by statement, skipping those that raise."""
    with suppress(BaseException):  # its errors, SystemExit too, are the reason for this function
        imported_bare(name)
    path = Path(sys.path[0], *name.split(".")).with_suffix(".py")
    module = ModuleType(name)
    module.__file__, module.__package__ = str(path), name.rpartition(".")[0]
    sys.modules[name] = module
    for statement in ast.parse(path.read_text()).body:
        with suppress(Exception):
            exec(compile(ast.Module([statement], []), str(path), "exec"), vars(module))
    return module


# each way is tried in a new process, since a failed one may leave state behind
WAYS = (importlib.import_module, imported_bare, executed)

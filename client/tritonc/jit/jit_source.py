"""The source of a jit function in this process, and the package of its file.

Triton is not needed and nothing is executed: only loaded modules are looked up.
"""

import linecache
from typing import Any

from tritonc.packages.module_sources import LoadedModules, module_name_in_process
from tritonc.packages.package import Package


def text_of(function: Any) -> str:
    """Return the whole file of a jit function: its line in the file is part of Triton's key.

    Raises OSError if there is no file, as for a kernel defined in an interactive interpreter.
    """
    path = function.fn.__code__.co_filename
    lines = linecache.getlines(path, function.fn.__globals__)
    if not lines:
        raise OSError(f"the text of {path} cannot be read")
    return "".join(lines)


def package_of_function(function: Any) -> Package:
    """Return the package of a jit function's file; its modules are those of this process.

    What this process has not imported is absent. Raises OSError as `text_of`.
    """
    text = text_of(function)
    return Package(module_name_in_process(function.fn.__globals__, text), text, LoadedModules())

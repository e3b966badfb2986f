"""Compiles one kernel with `triton.compile` in a process of its own: what ours must equal.

Reads a JSON request on stdin and prints the stages as JSON. User code is loaded under its virtual
path, and Triton's library functions are given their virtual path before anything is compiled.
"""

from __future__ import annotations

import base64
import gc
import json
import linecache
import sys
import types
from pathlib import Path
from typing import Any


def main() -> None:
    request = json.load(sys.stdin)
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    module = load(request["source"], "/kernel/user.py")
    function = getattr(module, request["kernel"])
    while not hasattr(function, "arg_names") or not isinstance(function, triton.JITFunction):
        function = function.fn
    give_virtual_paths(str(Path(triton.__file__).parent))
    signature = {n: request["signature"].get(n, "constexpr") for n in function.arg_names}
    hints = {name: [["tt.divisibility", 16]] for name in request["hints"]}
    attrs = {(function.arg_names.index(n),): hints[n] for n in function.arg_names if n in hints}
    defaults = {
        one.name: one.default
        for one in function.params
        if signature[one.name] == "constexpr" and one.has_default
    }
    source = ASTSource(function, signature, defaults | request["constexprs"], attrs)
    made = triton.compile(source, target=GPUTarget(*request["target"]), options=request["options"])
    stages = {k: v if isinstance(v, bytes) else v.encode() for k, v in made.asm.items()}
    encoded = {name: base64.b64encode(data).decode() for name, data in stages.items()}
    metadata = {"name": made.metadata.name, "shared": made.metadata.shared}
    json.dump({"stages": encoded, "metadata": metadata}, sys.stdout)


def load(text: str, path: str) -> types.ModuleType:
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)
    module = types.ModuleType("user")
    module.__file__ = path
    sys.modules["user"] = module
    exec(compile(text, path, "exec"), module.__dict__)
    return module


def give_virtual_paths(installed: str) -> None:
    for function in jit_functions():
        if hasattr(function, "file_name"):
            function.file_name = function.file_name.replace(installed, "/triton")
        else:  # Triton 3.7 and earlier look at the code itself
            path = function.fn.__code__.co_filename.replace(installed, "/triton")
            function.fn.__code__ = function.fn.__code__.replace(co_filename=path)


def jit_functions() -> list[Any]:
    from triton.runtime import jit

    registry = getattr(jit, "_triton_jit_function_registry", None)
    if registry is not None:
        return list(registry.values())
    return [thing for thing in gc.get_objects() if issubclass(type(thing), jit.JITFunction)]


if __name__ == "__main__":
    main()

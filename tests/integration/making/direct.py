"""Compiles one kernel with `triton.compile` in a process of its own: what ours must equal.

Reads a JSON request on stdin and prints the stages as JSON. User code is loaded under its virtual
path, and Triton's library functions are given their virtual path before anything is compiled.
"""

from __future__ import annotations

import base64
import json
import linecache
import sys
import types
from pathlib import Path


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
    source = ASTSource(function, signature, request["constexprs"], attrs)
    made = triton.compile(
        source, target=GPUTarget("cuda", request["arch"], 32), options=request["options"]
    )
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
    from triton.runtime import jit

    for function in jit._triton_jit_function_registry.values():
        function.file_name = function.file_name.replace(installed, "/triton")


if __name__ == "__main__":
    main()

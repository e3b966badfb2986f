"""Compiles kernels with `triton.compile`, each in a new process: the expected results.

It reads a JSON request per line on stdin and prints the stages as a line of JSON. Each request runs
in a fork of a process that has imported Triton and done nothing else. User code and Triton's
library functions get their virtual paths before anything is compiled.
"""

from __future__ import annotations

import base64
import gc
import json
import linecache
import os
import sys
import traceback
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn


def main() -> None:
    import triton

    assert triton.__version__
    each_in_a_fork(compiled)


def each_in_a_fork(answer: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Answer each line of standard input, in a separate process."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            say_answer(answer, line)
        _, status = os.waitpid(child, 0)
        if status:
            say({"died": f"with {os.waitstatus_to_exitcode(status)}; its words are above"})


def say_answer(answer: Callable[[dict[str, Any]], dict[str, Any]], line: str) -> NoReturn:
    status = 1
    try:
        say(answer(json.loads(line)))
        status = 0
    finally:
        if status:
            traceback.print_exc()
        os._exit(status)


def say(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def compiled(request: dict[str, Any]) -> dict[str, Any]:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    os.environ |= {"TRITON_CACHE_DIR": request["cache"], "TRITON_ALWAYS_COMPILE": "1"}
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
    return {"stages": encoded, "metadata": metadata}


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
        else:  # Triton up to 3.7 looks at the code itself
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

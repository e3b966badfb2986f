"""Compiles one kernel of a module directly, under the virtual paths of tritond."""

import time
from pathlib import Path
from typing import Any


def compiled(root: Path, file: str, function: Any, guess: dict[str, Any]) -> dict[str, Any]:
    """Return the PTX and the milliseconds. Raises Triton's errors.

    The file is the module `user`, unless the guess has its `module`.
    """
    import triton
    from triton.backends.compiler import GPUTarget

    source, options = _specialized(root, file, function, guess)
    started = time.perf_counter()
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
    return {"ms": (time.perf_counter() - started) * 1000, "ptx": made.asm["ptx"]}


def stages(root: Path, file: str, function: Any, guess: dict[str, Any]) -> dict[str, Any]:
    """Return the IR before any pass (`source`), and `ttir`. Raises Triton's errors."""
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler.compiler import make_backend

    source, settings = _specialized(root, file, function, guess)
    target = GPUTarget("cuda", 90, 32)
    backend = make_backend(target)
    options = backend.parse_options({**settings, **source.parse_options()})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    functions, modules = backend.get_codegen_implementation(options), backend.get_module_map()
    module = source.make_ir(target, options, functions, modules, context)
    texts = {"source": str(module)}
    return texts | {"ttir": str(backend.make_ttir(module, {}, options, 90))}


def _specialized(
    root: Path, file: str, function: Any, guess: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """Return Triton's compile input and the options."""
    import triton
    from triton.compiler import ASTSource

    while not isinstance(function, triton.JITFunction):
        function = function.fn
    paths = {str(root / file): "/kernel/user.py", str(root): "/kernel"}
    _give_virtual_paths(paths, guess.get("module", "user"))
    constexprs = {n: _value(v) for n, v in guess["constexprs"].items()}
    signature, attrs = {}, {}
    for index, parameter in enumerate(function.params):
        written = guess["signature"].get(parameter.name)
        if written is None and parameter.name not in constexprs:
            default = parameter.default
            constexprs[parameter.name] = getattr(default, "value", default)
        if written is not None and written.endswith(":1"):  # Triton's JIT makes it a constant
            constexprs[parameter.name], written = 1, None
        signature[parameter.name] = "constexpr" if written is None else written.removesuffix(":16")
        if written is not None and written.endswith(":16"):
            attrs[(index,)] = [["tt.divisibility", 16]]
    # importing unsloth switches line numbers off for the whole process
    triton.knobs.compilation.disable_line_info = False
    source = ASTSource(function, signature, constexprs, attrs)
    return source, {"enable_fp_fusion": True, **guess["options"]}


def _give_virtual_paths(paths: dict[str, str], module: str) -> None:
    import triton
    from triton.runtime import jit

    paths |= {str(Path(triton.__file__).parent): "/triton"}

    def virtual(made: Any) -> str:
        path: str = made.fn.__code__.co_filename
        for there, here in paths.items():
            path = path.replace(there, here)
        return path

    jit.JITCallable.file_name = property(virtual, lambda *_: None)
    for known in jit._triton_jit_function_registry.values():
        if known.file_name == "/kernel/user.py":
            known.__module__ = module


def _value(written: Any) -> Any:
    import triton.language as tl

    if not isinstance(written, dict):
        return written
    ((tag, content),) = written.items()
    return float(content) if tag == "float" else tl.str_to_ty(content, None)

"""All that depends on which Triton is installed, 3.6 to 3.9: version differences live here."""

from __future__ import annotations

import base64
import gc
import subprocess
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import triton
from triton import language
from triton._C.libtriton import get_cache_invalidating_env_vars, gluon_ir, ir
from triton.backends.compiler import GPUTarget, Language
from triton.backends.nvidia import compiler as nvidia_compiler
from triton.compiler import ASTSource, code_generator, make_backend
from triton.compiler.errors import CompilationError
from triton.experimental.gluon._runtime import GluonASTSource, GluonJITFunction
from triton.experimental.gluon._runtime import jit as gluon_jit
from triton.runtime import cache, jit
from triton.runtime.autotuner import Autotuner, Heuristics
from triton.runtime.jit import JITFunction

from compiler.languages import BY_IR, BY_NAME
from compiler.languages import Language as KernelLanguage
from compiler.target import Target

if TYPE_CHECKING:
    from typing import Self  # not in Python 3.10, which Triton still supports

__all__ = ["CompilationError", "GPUTarget", "JITFunction", "gluon_ir", "ir", "make_backend"]

USABLE = (
    language.constexpr, language.dtype, jit.KernelInterface, int, float, str, tuple, list, dict
)  # fmt: skip
"""The types of values that a kernel can read from its module."""
INSTALLED = str(Path(triton.__file__).parent)
VIRTUAL = "/triton"
LAUNCHABLE = (JITFunction, Autotuner, Heuristics)
"""Classes whose method `run` launches a kernel."""
TUNERS = {triton.autotune: Autotuner, triton.heuristics: Heuristics}
"""Decorators that act only at a launch, and what they return."""


@dataclass(frozen=True)
class FrontEnd:
    """Triton's front end for one language."""

    decorator: Callable[..., Any]
    """It turns a function into a kernel."""
    function: type
    """The class of the kernel."""
    source: Callable[..., Any]
    """It makes what `triton.compile` takes: a kernel with its specialization."""
    pipeline: Any
    """The argument that chooses the stages of a backend."""


FRONT_ENDS: Mapping[str, FrontEnd] = {
    "gluon": FrontEnd(gluon_jit, GluonJITFunction, GluonASTSource, Language.GLUON),
    "triton": FrontEnd(jit.jit, JITFunction, ASTSource, Language.TRITON),
}
"""By the names in `compiler.languages`; a class before the one that it derives from."""
JIT_DECORATORS = tuple(front_end.decorator for front_end in FRONT_ENDS.values())
SCRATCH_INPUT = "scratch.ptx"
TELLS_MEMORY_LAYOUTS = hasattr(gluon_ir, "get_layout_view")
"""It has linear forms of layouts of memory; Triton 3.6 aborts when it is asked for one."""


def virtual_paths(text: str) -> str:
    """Rewrite the folder Triton is installed in to `/triton`: IR is then alike on all machines."""
    return text.replace(f'"{INSTALLED}/', f'"{VIRTUAL}/')


def target_of(target: Target) -> Any:
    """Return Triton's `GPUTarget` of a target."""
    return GPUTarget(target.backend, target.arch, target.warp_size)


def language_of(function: Any) -> KernelLanguage:
    """Return the language that a jit function is written in."""
    names = (name for name, known in FRONT_ENDS.items() if isinstance(function, known.function))
    return BY_NAME[next(names)]


def stages_of(backend: Any, options: Any, ir: str) -> dict[str, Callable[..., Any]]:
    """Return the backend's stages that lower `ir`, in order, by artifact name."""
    stages: dict[str, Callable[..., Any]] = {}
    backend.add_stages(stages, options, FRONT_ENDS[BY_IR[ir].pipeline].pipeline)
    return stages


def source_of(
    function: Any, signature: dict[str, Any], constexprs: dict[Any, Any], attrs: dict[Any, Any]
) -> Any:
    """Return what `triton.compile` takes: the function with its specialization."""
    front_end = FRONT_ENDS[language_of(function).name]
    return front_end.source(function, signature, constexprs, attrs)


def make_ir(source: Any, backend: Any, options: Any, context: Any) -> Any:
    """Run the front end on `source`.

    Raises whatever it raises; `RefusedByVerifier` if MLIR refuses the result.
    """
    vars(code_generator)["print"] = _say_nothing  # it prints the module it could not verify
    try:
        return source.make_ir(
            backend.target,
            options,
            backend.get_codegen_implementation(options),
            backend.get_module_map(),
            context,
        )
    except RuntimeError as error:
        if "error encountered during parsing" in str(error):
            raise RefusedByVerifier from error
        raise
    finally:
        del vars(code_generator)["print"]


def _say_nothing(*_: object) -> None:
    return None


class RefusedByVerifier(Exception):
    """The front end made IR that MLIR's verifier does not accept."""


def definition_line(function: Any) -> int:
    """Return the 1-based line of the file that a jit function's `def` is on."""
    line = getattr(function, "def_file_line_number", None)
    if line is not None:
        return int(line)
    offset = next(i for i, text in enumerate(function.raw_src) if text.lstrip().startswith("def "))
    return int(function.starting_line_number) + offset


def definition_path(function: Any) -> str:
    """Return the path of the file that a jit function was defined in."""
    return str(function.fn.__code__.co_filename)


def load_libraries() -> None:
    """Load modules that an AMD stage imports late (since Triton 3.9), before files are closed."""
    from triton.backends.amd import compiler as amd_compiler

    load = getattr(amd_compiler, "_load_amd_codegen", None)
    if load is not None:
        load(amd_compiler.get_amd_codegen_path())


def forget_files() -> None:
    """Have the jit functions of Triton's library report virtual paths.

    Not by their registry: it has one function of a name, and a module may be there twice.
    """
    for function in [thing for thing in gc.get_objects() if issubclass(type(thing), JITFunction)]:
        if hasattr(function, "file_name"):
            function.file_name = function.file_name.replace(f"{INSTALLED}/", f"{VIRTUAL}/")


class _CommandSeen(Exception):
    def __init__(self, command: list[str]) -> None:
        super().__init__(command)
        self.command = command


class _Scratch:
    """Replaces `tempfile.NamedTemporaryFile` while Triton builds its ptxas command."""

    def __init__(self, *_: Any, suffix: str = "", **__: Any) -> None:
        self.name = f"scratch{suffix}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def write(self, _: str) -> None:
        return None

    def flush(self) -> None:
        return None


def _see(command: list[str], **_: Any) -> None:
    raise _CommandSeen(command)


@contextmanager
def _nothing_is_run() -> Iterator[None]:
    stand_ins = {
        "subprocess": types.SimpleNamespace(
            run=_see, CalledProcessError=subprocess.CalledProcessError
        ),
        "tempfile": types.SimpleNamespace(NamedTemporaryFile=_Scratch),
    }
    originals = {name: getattr(nvidia_compiler, name) for name in stand_ins}
    vars(nvidia_compiler).update(stand_ins)
    try:
        yield
    finally:
        vars(nvidia_compiler).update(originals)


def ptxas_command(make_cubin: Callable[..., Any], source: str, output: str) -> list[str]:
    """Return the command by which this Triton assembles `source` into `output`, without running it.

    The arguments differ by version, target and options, so Triton's own `make_cubin` is walked up
    to the point where it would start the process.
    """
    try:
        with _nothing_is_run():
            make_cubin("", {})
    except _CommandSeen as seen:
        names = {SCRATCH_INPUT: source, f"{SCRATCH_INPUT}.o": output}
        return [names.get(word, word) for word in seen.command]
    message = "Triton's make_cubin no longer starts ptxas through subprocess.run"
    raise RuntimeError(message)


def nvdisasm_path() -> str:
    """Return the path of the disassembler in Triton's wheel."""
    return str(Path(INSTALLED) / "backends/nvidia/bin/nvdisasm")


def attributes_of_constexpr(path: tuple[int, ...], value: Any) -> Iterator[tuple[Any, str]]:
    """Yield what the JIT takes for the attributes of a constexpr when it hashes a kernel, by path.

    Of an item of a tuple it looks at what names the value, which matters only if it is a
    string, as it is for functions; Triton 3.6 does so of every text in any constexpr.
    """
    if len(path) > 1:
        if isinstance(value, JITFunction):
            yield path, ""
    elif not triton.__version__.startswith("3.6."):
        yield path, ""
    else:
        yield from _texts(path, value)


def _texts(path: tuple[int, ...], value: Any) -> Iterator[tuple[Any, str]]:
    if isinstance(value, str):
        yield path, value
    for index, item in enumerate(value if isinstance(value, tuple) else ()):
        yield from _texts((*path, index), item)


def variables() -> dict[str, str]:
    """Return the variables of this process that change what Triton compiles, with their values."""
    return dict(get_cache_invalidating_env_vars())


def cache_key_of(source_hash: str, backend: Any, options: Any) -> str:
    """Return the text whose SHA-256 names an entry of Triton's cache, no variable being set."""

    class Source:
        @staticmethod
        def hash() -> str:
            return source_hash

    return str(cache.get_cache_key(Source, backend, options, env_vars={}))


def has_global_scratch(backend: str) -> bool:
    """Return whether a backend's metadata has the kernel's scratch memory: AMD's since 3.8."""
    return backend == "cuda" or not triton.__version__.startswith(("3.6.", "3.7."))


def triton_key() -> str:
    """Return the text that identifies a build of Triton."""
    return str(cache.triton_key())


def cache_folder(digest: str) -> str:
    """Return the name of the folder of a cache entry: its SHA-256 in base 32."""
    return base64.b32encode(bytes.fromhex(digest)).decode().rstrip("=")


def options_class(backend: str) -> Any:
    """Return the dataclass of a backend's options."""
    if backend == "cuda":
        return nvidia_compiler.CUDAOptions
    from triton.backends.amd import compiler as amd_compiler

    return amd_compiler.HIPOptions


def jit_functions() -> list[Any]:
    """Return every jit function created in this process; where there is no registry, search."""
    registry = vars(jit).get("_triton_jit_function_registry")
    if registry is not None:
        return list(registry.values())
    return [thing for thing in gc.get_objects() if issubclass(type(thing), JITFunction)]

"""Compiles modules as Python and Triton do: imports real files in a private folder /kernel.

Started as a program, it mounts that folder, reads one JSON job per line and answers with one JSON
line: the stages `source` and `ttir`, or the exception. It imports the packages that its arguments
name before it forks. `Direct` is its client.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import io
import json
import os
import resource
import shutil
import subprocess
import sys
import tokenize
from collections.abc import Sequence
from pathlib import Path
from typing import Any

MAX_CPU_S = 3
MAX_BYTES = 2 << 30

_CLONE_NEWNS, _CLONE_NEWUSER = 0x20000, 0x10000000
_MS_BIND, _MS_REC, _MS_PRIVATE = 4096, 16384, 1 << 18


class Direct:
    """A warmed process that forks for every module, for a test session."""

    def __init__(self, *, packages: Sequence[str] = ()) -> None:
        environment = {"HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1"}
        self._process = subprocess.Popen(
            [sys.executable, __file__, *packages],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            text=True,
        )

    def compile(self, files: dict[str, str], **request: Any) -> dict[str, Any]:
        """Return the stages of the kernel of `user.py`, or `{"error": ...}`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"files": files, **request}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            assert self._process.stderr is not None
            raise RuntimeError(self._process.stderr.read()[-2000:])
        return json.loads(line)

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def _make_kernel_folder() -> None:
    """Mount an empty /kernel that only this process and its children see."""
    libc = ctypes.CDLL(None, use_errno=True)

    def call(name: str, *arguments: Any) -> None:
        if getattr(libc, name)(*arguments) != 0:
            number = ctypes.get_errno()
            raise OSError(number, f"{name}: {os.strerror(number)}")

    root = os.geteuid() == 0
    call("unshare", _CLONE_NEWNS if root else _CLONE_NEWNS | _CLONE_NEWUSER)
    call("mount", b"none", b"/", None, _MS_REC | _MS_PRIVATE, None)
    call("mount", b"tmpfs", b"/mnt", b"tmpfs", 0, b"size=16m")
    for entry in os.scandir("/"):
        target = Path("/mnt") / entry.name
        if entry.is_symlink():
            target.symlink_to(Path(entry.path).readlink())
        elif entry.is_dir() and entry.name not in {"mnt", "kernel"}:
            target.mkdir()
            call("mount", entry.path.encode(), bytes(target), None, _MS_BIND | _MS_REC, None)
    (Path("/mnt") / "kernel").mkdir()
    os.chroot("/mnt")
    os.chdir("/")


def _serve() -> None:
    _make_kernel_folder()
    import triton
    import triton.language
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource, make_backend  # noqa: F401

    make_backend(GPUTarget("cuda", 90, 32))
    for package in sys.argv[1:]:
        importlib.import_module(package)
    for line in sys.stdin:
        sys.stdout.write(_in_a_child(json.loads(line), triton) + "\n")
        sys.stdout.flush()


def _in_a_child(job: dict[str, Any], triton: Any) -> str:
    said = os.memfd_create("said")
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (MAX_CPU_S, MAX_CPU_S))
        resource.setrlimit(resource.RLIMIT_DATA, (MAX_BYTES, MAX_BYTES))
        quiet = os.open("/dev/null", os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        try:
            answer = _compile(job, triton)
        except BaseException as error:  # noqa: BLE001 - what user code raises is the answer
            answer = {"error": f"{type(error).__name__}: {error}"[:2000]}
        os.write(said, json.dumps(answer).encode())
        os._exit(0)
    os.waitpid(child, 0)
    text = os.pread(said, os.fstat(said).st_size, 0).decode()
    os.close(said)
    for entry in Path("/kernel").iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    return text or json.dumps({"error": "the process ended"})


def _compile(job: dict[str, Any], triton: Any) -> dict[str, Any]:
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget, Language
    from triton.compiler import ASTSource, make_backend

    for name, text in job["files"].items():
        path = Path("/kernel") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_saved(text))
    sys.path.insert(0, "/kernel")
    import user

    function = getattr(user, job["kernel"])
    while not isinstance(function, triton.JITFunction):
        function = function.fn
    _give_virtual_paths(str(Path(triton.__file__).parent))
    signature = {n: job["signature"].get(n, "constexpr") for n in function.arg_names}
    constexprs = {(function.arg_names.index(n),): v for n, v in job["constexprs"].items()}
    for parameter in function.params:
        if parameter.name not in job["signature"] and parameter.name not in job["constexprs"]:
            default = parameter.default
            value = default.value if isinstance(default, triton.language.constexpr) else default
            constexprs[(parameter.num,)] = value
    source = ASTSource(function, signature, constexprs, {})
    target = GPUTarget("cuda", job["arch"], 32)
    backend = make_backend(target)
    options = backend.parse_options({"enable_fp_fusion": True})
    stages: dict[str, Any] = {}
    backend.add_stages(stages, options, Language.TRITON)
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    codegen, modules = backend.get_codegen_implementation(options), backend.get_module_map()
    module = source.make_ir(target, options, codegen, modules, context)
    made = {"source": str(module)}
    made["ttir"] = str(stages["ttir"](module, {"target": target, **vars(options)}))
    installed = str(Path(triton.__file__).parent)
    return {name: text.replace(f'"{installed}/', '"/triton/') for name, text in made.items()}


def _saved(text: str) -> bytes:
    """Return the bytes that an editor saves for a text, in the encoding that the text declares."""
    declared = text.removeprefix("\ufeff").encode("utf-8", "replace")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(declared).readline)
        return text.encode(encoding)
    except (SyntaxError, UnicodeEncodeError):
        return text.encode()  # Python refuses it, whatever it holds


def _give_virtual_paths(installed: str) -> None:
    from triton.runtime import jit

    registry = getattr(jit, "_triton_jit_function_registry", None)
    if registry is None:
        found = [thing for thing in gc.get_objects() if issubclass(type(thing), jit.JITFunction)]
    else:
        found = list(registry.values())
    for function in found:
        if hasattr(function, "file_name"):
            function.file_name = function.file_name.replace(installed, "/triton")


if __name__ == "__main__":
    _serve()

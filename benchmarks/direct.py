"""The baseline of a compilation: `triton.compile`, as a program calls it itself.

`python direct.py FOLDER` is a warm process: it reads one compile request per line and prints the
milliseconds of `triton.compile` for each. `python direct.py FOLDER once` compiles one request: it
starts, imports Triton and compiles. FOLDER is for Triton's cache and the sources.
"""

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

from store.embedded import bound_to_parent


class WarmProcess:
    """`triton.compile` in a separate process that has compiled before. Use it with `with`."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            bound_to_parent(sys.executable, __file__, str(folder)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | _environment(folder),
        )

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def compile_ms(self, request: dict[str, Any]) -> float:
        """Return the milliseconds of one `triton.compile`, without loading the source."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError("triton.compile failed; its output is above")
        return float(answer)


def fresh_process_ms(request: dict[str, Any], folder: Path) -> float:
    """Return the milliseconds of a Python process that starts, imports Triton and compiles."""
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, __file__, str(folder), "once"],
        input=json.dumps(request),
        env=os.environ | _environment(folder),
        stdout=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    return (time.perf_counter() - started) * 1000


def _environment(folder: Path) -> dict[str, str]:
    return {
        "TRITON_ALWAYS_COMPILE": "1",
        "TRITON_CACHE_DIR": str(folder / "triton-cache"),
        "TRITON_DEFAULT_FP_FUSION": "1",  # the default, but without the warning
    }


def _compile(request: dict[str, Any], path: Path) -> float:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    path.write_text(request["source"])
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function = getattr(module, request["kernel"])
    written = request["signature"]
    constexprs = request["constexprs"] | {
        name: 1 for name, type_name in written.items() if type_name.endswith(":1")
    }
    signature = {
        name: "constexpr" if name in constexprs else written[name].removesuffix(":16")
        for name in function.arg_names
    }
    attrs = {
        (index,): [["tt.divisibility", 16]]
        for index, name in enumerate(function.arg_names)
        if written.get(name, "").endswith(":16")
    }
    backend, arch = request["target"].split(":")
    target = GPUTarget(backend, int(arch), 32) if arch.isdigit() else GPUTarget(backend, arch, 64)
    started = time.perf_counter()
    source = ASTSource(function, signature, constexprs, attrs)
    triton.compile(source, target, options=request["options"])
    return (time.perf_counter() - started) * 1000


def main() -> None:
    folder = Path(sys.argv[1]) / f"direct-{os.getpid()}"
    folder.mkdir()
    for number, line in enumerate(sys.stdin):
        print(_compile(json.loads(line), folder / f"source_{number}.py"), flush=True)


if __name__ == "__main__":
    main()

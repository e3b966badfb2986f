"""Compiles the kernels of the GPU tests to cubins and ABIs in .artifacts, without a GPU.

Run it where Triton is installed: `python tests/gpu/make_cubins.py`. The tests then need no Triton.
"""
# ruff: noqa: T201 - a script that reports

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from compiler.abi import Abi, abi_of
from compiler.compilation import Parameter
from compiler.target import Target
from tests.gpu.builds import ARCH, BUILDS, FOLDER, SOURCE, Build
from tests.integration.compiler.children import Children
from tests.integration.compiler.kernels import Kernel, compile_kernel


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    children = Children()
    wanted = [build for build in BUILDS if not sys.argv[1:] or build.name in sys.argv[1:]]
    failed = [build.name for build in wanted if not make(children, build)]
    children.close()
    print(f"{len(wanted) - len(failed)} cubins in {FOLDER}; failed: {failed or 'none'}")
    sys.exit(bool(failed))


def make(children: Children, build: Build) -> bool:
    """Compile one build and write its cubin and ABI; print the error if it does not compile."""
    request = {
        "kernel": build.kernel,
        "signature": build.signature,
        "constexprs": build.constexprs,
        "options": build.options,
        "hints": build.hints,
        "arch": ARCH,
    }
    compiled = compile_kernel(children, Kernel(SOURCE, SOURCE.read_text(), request))
    if compiled.failure is not None or compiled.back is None:
        print(build.name, json.dumps(compiled.failure, indent=1))
        return False
    (FOLDER / f"{build.name}.cubin").write_bytes(compiled.stages["cubin"])
    abi = abi_of_build(build, compiled.back["metadata"]).to_json()
    (FOLDER / f"{build.name}.json").write_text(json.dumps(abi))
    return True


def abi_of_build(build: Build, metadata: dict[str, Any]) -> Abi:
    """Return the ABI, with everything needed to encode its tensor maps."""
    parameters = [
        Parameter(name=name, type=kind, role="runtime", hints=[], value=None)
        for name, kind in build.signature.items()
    ]
    return abi_of(Target("cuda", ARCH, 32), parameters, metadata)


if __name__ == "__main__":
    main()

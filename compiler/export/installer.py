"""The program inside the export `triton-cache`, which puts the files where Triton looks for them.

Unpacking is not enough: Triton lists the files of an entry by their absolute paths.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compiler.export.about import about
from compiler.export.kernel import kernel_of

_PROGRAM = '''\
"""{words}

Puts this kernel into Triton's cache (TRITON_CACHE_DIR, or .triton/cache below TRITON_HOME or the
home folder), so that Triton's JIT does not compile it again. It is a hit where this is equal:

- Triton {triton}, the same wheel: also for the same minor version of Python ({python} here)
- the text of the kernel and of the functions it uses, on the same lines of their files
- the types, hints and constants of the arguments, as listed above, and the options
- no environment variable that changes compiling (TRITON_DEFAULT_FP_FUSION, MLIR_..., LLVM_...)
"""

import json
import os
import shutil
import sys
from pathlib import Path

FOLDERS = {folders}
NAME = "{name}.json"
FILES = {files}


def main() -> None:
    home = Path(os.environ.get("TRITON_HOME") or Path.home())
    cache = Path(os.environ.get("TRITON_CACHE_DIR") or home / ".triton" / "cache")
    for folder in FOLDERS:
        install(Path(__file__).resolve().parent / folder, cache.resolve() / folder)


def install(source: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for file in FILES:
        put(target / file, (source / file).read_bytes())
    paths = {{file: str(target / file) for file in FILES}}
    # last, because Triton believes an entry as soon as this file is there
    put(target / ("__grp__" + NAME), json.dumps({{"child_paths": paths}}).encode())
    sys.stdout.write(f"{{target}}\\n")


def put(path: Path, data: bytes) -> None:
    written = path.with_name(path.name + f".{{os.getpid()}}")
    written.write_bytes(data)
    shutil.move(written, path)


main()
'''


def installer(
    folders: Sequence[str], name: str, files: Sequence[str], facts: Mapping[str, Any]
) -> str:
    """Return the program, for entries called `folders` with these `files` each."""
    words = "\n".join(about(kernel_of(facts)))
    return _PROGRAM.format(
        words=words,
        folders=list(folders),
        name=name,
        files=list(files),
        triton=facts["toolchain"]["triton"],
        python=facts["python"],
    )

"""The digest of the code that makes compilations, which is part of every toolchain's id.

So nothing needs to be remembered when that code is changed: what it made before is left behind,
never mixed with what it makes now. Standard library only; decides nothing else.
"""

import hashlib
import sys
from functools import cache
from importlib.machinery import FileFinder, SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

ROOT = Path(__file__).parent.parent
"""The folder that holds our packages: a checkout, or an environment's site-packages."""
PACKAGES = ("compiler", "jobs", "launch", "programs", "worker")
PROVING = (
    "compiler/proof", "compiler/ttir_to_numpy", "launch/checks", "launch/contract", "launch/cpu",
    "launch/proof", "proofs/worker",
)  # fmt: skip
"""Code that can change what is kept of a proof."""
BESIDE_COMPILING = (
    "compiler/proof", "launch", "programs", "worker/launch", "worker/gpu",
)  # fmt: skip
"""Code that runs kernels, programs or sweeps. It cannot change the result of a compilation."""


def pipeline_digest(root: Path = ROOT) -> str:
    """Return the SHA-256 of every source file below `root` that can change a compilation.

    Equal wherever the same release is installed: it covers names and texts, not where the files
    lie, when they were written, how their lines end, or whether bytecode lies beside them. Raises
    RuntimeError where there are no sources.
    """
    files = {path.relative_to(root): path for name in PACKAGES for path in (root / name).rglob("*")}
    found = hashlib.sha256()
    counted = 0
    for relative in sorted(files, key=Path.as_posix):
        if _counts(relative):
            text = files[relative].read_bytes().replace(b"\r\n", b"\n")
            # lengths keep neighbours apart
            found.update(f"{relative.as_posix()}\0{len(text)}\0".encode() + text)
            counted += 1
    if not counted:
        message = f"there are no sources of tritond in {root}, so what it makes has no version"
        raise RuntimeError(message)
    return found.hexdigest()


@cache
def proof_digest(root: Path = ROOT) -> str:
    """Return the SHA-256 of every source file that can change a proof."""
    found = hashlib.sha256()
    for path in sorted(path for name in PROVING for path in (root / name).rglob("*.py")):
        text = path.read_bytes().replace(b"\r\n", b"\n")
        found.update(f"{path.relative_to(root).as_posix()}\0{len(text)}\0".encode() + text)
    return found.hexdigest()


def load_from_source() -> None:
    """Have this process compile what it will load of these packages from the texts themselves.

    Bytecode may be of another text: Python compares no more than its size and the second it was
    written in.
    """
    folders = tuple(str(ROOT / name) for name in PACKAGES)
    finder = FileFinder.path_hook((_FromSource, [".py"]))

    def find(path: str) -> Any:
        if path in folders or path.startswith(tuple(f"{folder}/" for folder in folders)):
            return finder(path)
        raise ImportError(path)

    sys.path_hooks.insert(0, find)
    for folder in folders:
        sys.path_importer_cache.pop(folder, None)


class _FromSource(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(self.get_data(path), path)
        return code


def _counts(relative: Path) -> bool:
    """Return whether Python can import the file, and a compilation can come past it."""
    names = relative.with_suffix("").parts
    importable = relative.suffix == ".py" and all(name.isidentifier() for name in names)
    return importable and not relative.as_posix().startswith(
        tuple(f"{f}/" for f in BESIDE_COMPILING)
    )

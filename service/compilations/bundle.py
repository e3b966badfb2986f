"""A bundle: one tar of the exports of many compilations, with a program that installs it.

What is in it are files of others (exports of compilations); here they only get names and headers,
so that a large one can be sent without being in memory.
"""

import tarfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from compiler.compilation import Compilation
from compiler.derivation import Derivation
from service.compilations.derivations import DerivationRequest, Found, derived
from service.gather_limited import gather_limited
from service.http.problems import ProblemRaised
from service.state import ServiceState
from store.frames import pieces_of

_BLOCK: Final = 512
END: Final = bytes(2 * _BLOCK)
"""The end of a tar."""
AT_ONCE = 16
_TRITON_CACHE = "exports/triton-cache"


@dataclass(frozen=True)
class Member:
    """One file of a bundle, with its bytes or the digest of the blob that has them."""

    path: str
    size_bytes: int
    data: bytes | None = None
    digest: str | None = None

    @cached_property
    def header(self) -> bytes:
        """The tar header before its bytes."""
        entry = tarfile.TarInfo(self.path)
        entry.size, entry.mode = self.size_bytes, 0o644
        return entry.tobuf(tarfile.PAX_FORMAT)

    @property
    def padding(self) -> bytes:
        """The padding after its bytes."""
        return bytes(-self.size_bytes % _BLOCK)

    @property
    def total_bytes(self) -> int:
        """Its size in the tar."""
        return len(self.header) + self.size_bytes + len(self.padding)


def member_of(path: str, data: bytes) -> Member:
    """Return a file that is here."""
    return Member(path, len(data), data)


def size_bytes(members: Sequence[Member]) -> int:
    """Return the size of the tar."""
    return sum(member.total_bytes for member in members) + len(END)


async def tar_of(state: ServiceState, members: Sequence[Member]) -> AsyncIterator[bytes]:
    """Yield the tar. Raises RuntimeError for a blob that left the cache while it was sent."""
    for member in members:
        data = member.data
        if data is None:
            data = await state.blobs.get(member.digest or "")
        if data is None or len(data) != member.size_bytes:
            # the length was promised: the client sees that the body ends early
            message = f"{member.path} has left the cache while the bundle was sent"
            raise RuntimeError(message)
        yield member.header
        for piece in pieces_of(data):
            yield bytes(piece)
        yield member.padding
    yield END


INSTALL: Final = '''\
"""Puts all of this bundle into Triton's cache, so that nothing of it is compiled or timed again.

The cache is TRITON_CACHE_DIR, or .triton/cache below TRITON_HOME or the home folder. What is in the
bundle, for which targets and versions of Triton, and what had to be left out, is in bundle.json.

Warns of differences that make Triton look for other kernels: run it with the job's Python and the
job's environment variables.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PATHS = ("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH")


def main() -> None:
    form = argparse.RawDescriptionHelpFormatter
    argparse.ArgumentParser(description=__doc__, formatter_class=form).parse_args()
    pythons = set()
    for export in sorted(HERE.glob("triton-cache/*.tar")):
        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(export) as archive:
                archive.extractall(folder, **SAFELY)
            program = (Path(folder) / "install.py").read_text(encoding="utf-8")
            pythons.update(re.findall(r"version of Python [(]([0-9.]+) here[)]", program))
            subprocess.run([sys.executable, str(Path(folder) / "install.py")], check=True)
    home = Path(os.environ.get("TRITON_HOME") or Path.home())
    cache = Path(os.environ.get("TRITON_CACHE_DIR") or home / ".triton" / "cache")
    for file in sorted(HERE.glob("autotune-cache/*/*.autotune.json")):
        place = cache / file.parent.name
        place.mkdir(parents=True, exist_ok=True)
        written = place / (file.name + f".{os.getpid()}")
        shutil.copyfile(file, written)
        written.replace(place / file.name)
        sys.stdout.write(f"{place}\\n")
    warn_of_misses(pythons)


def warn_of_misses(pythons: set) -> None:
    entries = json.loads((HERE / "bundle.json").read_text(encoding="utf-8"))["entries"]
    tritons = {entry["triton"] for entry in entries}
    python = ".".join(map(str, sys.version_info[:2]))
    if pythons and python not in pythons:
        warn(f"the kernels are for Python {listed(pythons)}, and this is Python {python}")
    try:
        import triton
        from triton._C.libtriton import get_cache_invalidating_env_vars
    except (ImportError, OSError) as error:
        warn(f"the Triton of this Python cannot be compared with {listed(tritons)}: {error}")
        return
    if tritons and triton.__version__ not in tritons:
        warn(f"the kernels are for Triton {listed(tritons)}, and this is {triton.__version__}")
    for name in sorted(get_cache_invalidating_env_vars()):
        warn(f"{name} is set, and was not for these kernels: unset it for the job")
    for name in PATHS:
        if os.environ.get(name):
            warn(f"{name} is set, and its ptxas may have another version: unset it for the job")


def listed(words: set) -> str:
    return ", ".join(sorted(words))


def warn(reason: str) -> None:
    sys.stderr.write(f"warning: Triton will compile again: {reason}\\n")


# older Pythons have no filters; what is unpacked was made by the service
SAFELY = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
main()
'''


# Exports of many compilations for Triton's cache, for bundles.
#
# Each is a derivation like any other: made once and kept. A bundle asks for many at once.


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why something cannot be derived."""

    slug: str
    detail: str


async def exports(
    asked: DerivationRequest, compilations: Sequence[Compilation]
) -> list[Derivation | Refusal | None]:
    """Return the export for Triton's cache of each; None for one that is not there in time."""

    async def export(compilation: Compilation) -> Derivation | Refusal | None:
        return await outcome_of(asked, lambda again: derived(again, compilation, _TRITON_CACHE))

    return await gather_limited(AT_ONCE, compilations, export)


async def outcome_of(
    asked: DerivationRequest, find: Callable[[DerivationRequest], Awaitable[Found]]
) -> Derivation | Refusal | None:
    """Return what `find` derives, made again once if it was evicted; None: not there in time."""
    for refresh in (False, True):
        try:
            outcome = (await find(replace(asked, refresh=refresh))).outcome
        except ProblemRaised as raised:  # 404: the compilation lacks what is needed; 410: is gone
            return Refusal(raised.slug, str(raised))
        if outcome is None or outcome.problem is None:
            there = outcome is None or await asked.state.blobs.exists(outcome.digest or "")
            if there:
                return outcome
        elif outcome.problem.slug != "evicted":
            return Refusal(outcome.problem.slug, outcome.problem.detail)
    return Refusal("evicted", "An artifact of the compilation has left the cache; compile it again")

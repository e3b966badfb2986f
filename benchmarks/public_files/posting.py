"""Posts every kernel of a file, no field touched, as `tritonc compile FILE --kernel NAME` does."""

import random
from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cpu import tree_cpu_s
from tritonc import Client
from tritonc.cli.posted_file import read_source, specialized
from tritonc.compilation import Compilation
from tritonc.service_errors import TritoncError

TARGET = "cuda:90"
TIMEOUT_S = 120
WAIT_S = 600
_FLAGS = {"file": [], "no_local_imports": False, "like": [], "autotune": False, "kernel": None}
_TYPES = ("signature", "constexprs", "hints", "options")


@dataclass(frozen=True)
class Posted:
    """A kernel that was posted: what was asked and answered.

    `reason` is "" if it compiled, otherwise the slug and the first error. `cpu_s` is the CPU time
    of the worker and its children.
    """

    package: str
    file: str
    kernel: str
    reason: str
    cpu_s: float
    sent: int
    """The number of the package's modules in the last request."""
    module: str = "user"
    guess: dict[str, Any] = field(default_factory=dict)
    """Types, values and options as `corpus.plain` takes them."""
    ptx: str = ""

    @property
    def id(self) -> str:
        """The kernel's name in results."""
        return f"{self.package}:{self.file}:{self.kernel}"


class Poster:
    """Posts files of packages to a service whose worker is the process `worker`."""

    def __init__(self, client: Client, worker: int) -> None:
        self._client = client
        self._worker = worker

    def posted(
        self, package: str, root: Path, path: Path, most: int, seed: int
    ) -> Iterator[Posted]:
        """Post up to `most` kernels of a file, drawn at random."""
        file = str(path.relative_to(root))
        try:
            names = self._kernels(path)
        except (TritoncError, ArgumentTypeError, OSError) as error:
            yield Posted(package, file, "", f"inspection: {_line(str(error))}", 0.0, 0)
            return
        random.Random(f"{seed} {file}").shuffle(names)
        for name in sorted(names[:most]):
            started = tree_cpu_s(self._worker)
            try:
                made = self._compiled(package, file, path, name)
            except (TritoncError, ArgumentTypeError, OSError) as error:
                made = Posted(package, file, name, f"client: {_line(str(error))}", 0.0, 0)
            cpu_s = round(tree_cpu_s(self._worker) - started, 2)
            yield replace(made, cpu_s=cpu_s)

    def _kernels(self, path: Path) -> list[str]:
        """Return the kernels of a file that none of its others calls."""
        inspection = read_source(str(path), Namespace(**_FLAGS)).inspected(self._client)
        kernels = inspection.get("kernels") or []
        called = {other for kernel in kernels for other in kernel.get("calls") or ()}
        return [kernel["name"] for kernel in kernels if kernel["name"] not in called]

    def _compiled(self, package: str, file: str, path: Path, name: str) -> Posted:
        posted = read_source(str(path), Namespace(**_FLAGS))
        asked = Namespace(**_FLAGS | {"kernel": name})
        for _ in range(10):
            members = specialized(
                posted, asked, {"kernel": name}, TARGET, self._client, lambda _: None
            )
            compilation = self._client.compile(
                **posted.members,
                **members,
                target=TARGET,
                stop_after="ptx",
                include=["ptx"],
                wait_s=WAIT_S,
                timeout_s=TIMEOUT_S,
                check=False,
            )
            if not posted.supply(compilation.problem):
                break
        assert posted.package is not None
        guess = {type_: members.get(type_) or {} for type_ in _TYPES}
        guess["module"] = posted.package.module.removesuffix(".__init__")
        return Posted(
            package,
            file,
            name,
            _reason(compilation),
            0.0,
            len(posted.files),
            guess["module"],
            _filled(guess, compilation),
            str(compilation.included.get("ptx") or ""),
        )


def _filled(guess: dict[str, Any], compilation: Compilation) -> dict[str, Any]:
    """Return a guess with the constexprs that the service added: heuristics, configurations."""
    known = {**guess["signature"], **guess["constexprs"]}
    added = {
        parameter["name"]: parameter["value"]
        for parameter in compilation.parameters
        if parameter["name"] not in known and parameter["role"] == "constexpr"
    }
    return {**guess, "constexprs": {**guess["constexprs"], **added}}


def _reason(compilation: Compilation) -> str:
    if compilation.succeeded:
        return ""
    problem = compilation.problem
    errors = [
        diagnostic for diagnostic in compilation.diagnostics if diagnostic.severity == "error"
    ]
    where = f"{errors[0].file}:{errors[0].line}: {errors[0].message}" if errors else ""
    slug = problem.slug if problem is not None else compilation.state
    return f"{slug}: {_line(where or str(problem))}"


def _line(text: str) -> str:
    return " ".join(text.split())[:400]

"""A kernel of a gate file: its source, compile and launch settings, and its budgets.

Sources and imported modules are read as text and sent; nothing is executed.
"""

import errno
import json
from argparse import ArgumentTypeError
from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from tritonc.compile_body import members_json
from tritonc.diagnostic import POSTED_SOURCE
from tritonc.gate.checkout import Checkout, LeavesCheckout
from tritonc.gate.metric_budget import Budgets, merged, read_budgets
from tritonc.gate.source_lines import SourceLines
from tritonc.gate.toml_reading import TomlTable, shown
from tritonc.launch_body import KernelMembers, LaunchMembers
from tritonc.packages.package import Package
from tritonc.reference_text import from_file, path_in
from tritonc.target_names import target_name

KERNEL = (
    "source",
    "kernel",
    "signature",
    "constexprs",
    "hints",
    "options",
    "files",
    "local_imports",
    "contract",
)
MAX_BYTES = 64 << 20
"""The limit of all texts that a gate file names, together."""
CONTRACT_SUFFIX = ".contract"
"""The suffix of the file next to a kernel's source that has its contract."""
MATRIX = ("targets", "tritons")
LAUNCH = (LaunchMembers.__annotations__.keys() - KernelMembers.__annotations__.keys()) | {
    "arguments",
    "grid",
    "return",
}

NONE = {"none": True}  # TOML has no null

ReadArgument = Callable[[str], Any]
"""Parses an argument as on the command line. Raises ArgumentTypeError and OSError."""
"""Parses a launch argument in the short form, such as `fp32[98432]:uniform`."""


@dataclass(frozen=True, slots=True)
class BudgetTable:
    """The budgets of a table, including those for some targets or Tritons only."""

    all: Budgets = field(default_factory=dict)
    by_target: Mapping[str, Budgets] = field(default_factory=dict)
    by_triton: Mapping[str, Budgets] = field(default_factory=dict)

    def of(self, target: str, triton: str) -> Budgets:
        """Return the budgets of one cell; the most specific ones take precedence."""
        targets = [b for pattern, b in self.by_target.items() if fnmatchcase(target, pattern)]
        tritons = [b for pattern, b in self.by_triton.items() if fnmatchcase(triton, pattern)]
        return merged(self.all, *targets, *tritons)

    def every(self) -> list[tuple[str, Budgets]]:
        """Return all budgets, each with its path below the table."""
        rows = [("", self.all)]
        rows += [(f'targets."{p}".', b) for p, b in self.by_target.items()]
        return rows + [(f'tritons."{p}".', b) for p, b in self.by_triton.items()]


@dataclass(frozen=True, slots=True, eq=False)
class GatedKernel:
    """One kernel: compile settings, matrix, example launch, and budgets.

    `path` is that of its source, `lines` its text; `place` is the kernel's path in the gate file.
    `members` are those of a compile request, `launch` those of a launch, None without one.
    `targets_at` and `tritons_at` locate these in the gate file.
    """

    name: str
    place: str
    path: Path
    members: Mapping[str, Any]
    lines: SourceLines
    launch: Mapping[str, Any] | None
    targets: tuple[str, ...]
    tritons: tuple[str, ...]
    budgets: BudgetTable
    contract: str | None = None
    """The text of its contract, None if it has no file."""
    targets_at: str = ""
    tritons_at: str = ""
    package: Package | None = None
    """The package of its file, for the modules that the service asks for."""

    @property
    def source(self) -> str:
        """The text of the kernel's file."""
        return str(self.members["source"])


@dataclass(frozen=True, slots=True)
class Matrix:
    """Targets and Tritons of the command line, which replace those of the file."""

    targets: tuple[str, ...] | None = None
    tritons: tuple[str, ...] | None = None


class KernelTables:
    """Parses the tables of kernels; their paths are relative to `folder`.

    Only files of the `checkout` are read, since the paths may be untrusted.
    """

    def __init__(
        self,
        folder: Path,
        checkout: Checkout,
        read_argument: ReadArgument,
        matrix: TomlTable,
        instead: Matrix,
    ) -> None:
        self._folder = folder
        self._checkout = checkout
        self._read_argument = read_argument
        self._instead = instead
        self._texts: dict[Path, str] = {}
        self._left_bytes = MAX_BYTES
        matrix.only(MATRIX)
        self._targets = matrix.texts("targets")
        self._tritons = matrix.texts("tritons")

    def kernel(self, name: str, table: TomlTable) -> GatedKernel | None:
        """Return a kernel, None if essential parts are missing."""
        table.only((*KERNEL, *MATRIX, "launch", "budgets"))
        targets, tritons = self._cells(table)
        launch = self._launch(table) if "launch" in table.members else None
        members, budgets = _members(table), budget_table(table.table("budgets"))
        source = self._source(table)
        if source is None:
            return None
        path, package, lines = source
        members |= {"source": lines.source}
        return GatedKernel(
            name,
            table.place,
            path,
            {member: value for member, value in members.items() if value},
            lines,
            launch,
            targets,
            tritons,
            budgets,
            self._contract(table, path),
            _at(table, "targets", self._instead.targets),
            _at(table, "tritons", self._instead.tritons),
            package,
        )

    def _cells(self, table: TomlTable) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the targets and the Tritons of a kernel, by default those of the matrix."""
        targets = self._instead.targets or table.texts("targets") or self._targets or ()
        tritons = self._instead.tritons or table.texts("tritons") or self._tritons or ()
        if not targets:
            table.add_problem("", "no targets; write [matrix] targets = [...], or the kernel's own")
        named = tuple(map(target_name, targets))
        for target in named:
            if ":" not in target:
                table.add_problem(
                    "targets", f"{target!r} is not a target; write cuda:90, h100 or hip:gfx942"
                )
        return named, tritons

    def _source(self, table: TomlTable) -> tuple[Path, Package, SourceLines] | None:
        """Return the path of a kernel's file, its package, and the lines of all."""
        written = table.text("source")
        if written is None:
            if "source" not in table.members:
                table.add_problem("", "no `source`; write the path of the kernel's file")
            return None
        path = self._folder / written
        text = self._text(table, "source", path)
        if text is None:
            return None
        paths = {name: self._folder / str(at) for name, at in table.mapping("files").items()}
        inner = table.table("files")
        texts = {name: self._text(inner, name, at) for name, at in paths.items()}
        package = Package.of_file(
            path,
            text,
            named={name: text for name, text in texts.items() if text is not None},
            sends_modules=table.flag("local_imports") is not False,
            read=self._read,
            folders=[self._folder],
        )
        for name, reason in package.unreadable.items():
            table.add_problem("source", f"{name}: the module cannot be read: {reason}")
        # more modules come when the service asks for them
        lines = SourceLines(
            path, ChainMap({POSTED_SOURCE: text}, package.files), ChainMap(paths, package.paths)
        )
        return path, package, lines

    def _read(self, path: Path) -> str:
        """Return a text of the checkout, read once for all kernels. Raises OSError."""
        led = self._checkout.inside(path)
        if led not in self._texts:
            text = self._checkout.python_text(path)
            self._left_bytes -= len(text.encode(errors="replace"))
            if self._left_bytes < 0:
                limit = f"the gate reads at most {MAX_BYTES >> 20} MiB of sources"
                raise OSError(errno.EFBIG, limit, str(path))
            self._texts[led] = text
        return self._texts[led]

    def _text(self, table: TomlTable, key: str, path: Path) -> str | None:
        try:
            return self._read(path)
        except LeavesCheckout as error:
            table.add_problem(key, str(error))
            return None
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            table.add_problem(key, f"{path}: {reason}" if reason else str(error))
            return None

    def _contract(self, table: TomlTable, source: Path) -> str | None:
        """Return the text of the contract, None without a file."""
        if (written := table.text("contract")) is not None:
            return self._text(table, "contract", self._folder / written)
        contract_file = source.with_suffix(CONTRACT_SUFFIX)
        return self._text(table, "contract", contract_file) if contract_file.is_file() else None

    def _launch(self, table: TomlTable) -> dict[str, Any]:
        launch = table.table("launch")
        launch.only(LAUNCH)
        members = dict(launch.members)
        for key in ("arguments", "grid"):
            if key not in members:
                launch.add_problem("", f"no `{key}`; a launch needs it")
        members |= {"arguments": self._arguments(launch), "grid": launch.array("grid")}
        if cases := launch.array("cases"):
            members["cases"] = [self._case(launch, case) for case in cases]
        if "reference" in members:
            members["reference"] = self._reference(launch, members["reference"])
        if "return" in members:
            members["returns"] = members.pop("return")
        return members

    def _case(self, launch: TomlTable, case: Any) -> Any:
        if not isinstance(case, dict):
            launch.add_problem("cases", f"{shown(case)} is not a table")
            return {}
        inner = TomlTable(case, launch.at("cases"), launch.problems)
        if "reference" in case:
            case = case | {"reference": self._reference(inner, case["reference"])}
        return case | ({"arguments": self._arguments(inner)} if "arguments" in case else {})

    def _reference(self, table: TomlTable, reference: Any) -> Any:
        """Return a reference with the text of its file; a text alone is always a path."""
        path = reference if isinstance(reference, str) else path_in(reference)
        if path is None:
            return reference
        return from_file(reference, self._text(table, "reference", self._folder / path))

    def _arguments(self, launch: TomlTable) -> dict[str, Any]:
        arguments = launch.table("arguments")
        return {name: self._argument(arguments, name) for name in arguments.members}

    def _argument(self, arguments: TomlTable, name: str) -> Any:
        argument = arguments.members[name]
        if not isinstance(argument, str):
            return argument
        at, _, rest = argument[1:].partition(":") if argument.startswith("@") else ("", "", "")
        try:
            path = self._checkout.inside(self._folder / at) if at else ""
            return self._read_argument(f"@{path}{':' if rest else ''}{rest}" if at else argument)
        except (ArgumentTypeError, OSError) as error:
            arguments.add_problem(name, str(error))
            return None


def _members(table: TomlTable) -> dict[str, Any]:
    """Return the members of the compile request, except for its texts."""
    members: dict[str, Any] = {
        name: {key: None if value == NONE else value for key, value in members.items()}
        for name in ("constexprs", "options")
        for members in [table.mapping(name)]
    }
    _check_values(table, members)
    named = {"kernel": table.text("kernel"), "hints": table.mapping("hints")}
    return members | named | {"signature": _signature(table)}


def _check_values(table: TomlTable, members: dict[str, Any]) -> None:
    """Note errors for values without a JSON form, such as dates."""
    for name in ("constexprs", "options"):
        for key, value in members[name].items():
            try:
                json.dumps(members_json({name: {key: value}}))
            except (TypeError, ValueError) as error:
                table.add_problem(name, str(error))


def _at(table: TomlTable, key: str, instead: tuple[str, ...] | None) -> str:
    """Return the location of a kernel's targets or Tritons."""
    if instead:
        return f"--{key.removesuffix('s')}"
    return table.at(key) if key in table.members else f"matrix.{key}"


def _signature(table: TomlTable) -> Any:
    signature = table.members.get("signature")
    if signature is not None and not isinstance(signature, str | dict):
        table.add_problem("signature", f"{shown(signature)} is neither a table nor a text")
    return signature


def budget_table(table: TomlTable) -> BudgetTable:
    """Return the budgets of a table, with those for some targets or Tritons."""
    targets = table.table("targets").tables()
    tritons = table.table("tritons").tables()
    return BudgetTable(
        read_budgets(table, MATRIX),
        {pattern: read_budgets(inner) for pattern, inner in targets.items()},
        {pattern: read_budgets(inner) for pattern, inner in tritons.items()},
    )

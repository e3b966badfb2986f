"""The cells of the matrix: each kernel for each target by each Triton, and their requests.

The service lists its Tritons and targets. A cell that it cannot compile is an error in the gate
file.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tritonc.compile_body import members_json
from tritonc.gate.gate_file import GateFile
from tritonc.gate.gated_kernel import GatedKernel
from tritonc.gate.metric_budget import PTX, TIME, TRITON, Budgets
from tritonc.gate.toml_reading import FileProblem
from tritonc.launch_body import LaunchRequest, launch_request
from tritonc.packages.package import with_modules
from tritonc.signature_example import signature_of
from tritonc.signature_sources import CompletedMembers, completed

InspectedKernels = Mapping[str, Mapping[str, Any]]
"""The answers of `inspect`, by kernel of the file, for those without a signature."""

CellKey = tuple[str, str, str]
"""The identity of a cell: kernel, target, Triton."""

LAUNCH = "launch"  # instead of a target: the device is only known after the launch


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """One kernel for one target, or launched, with one Triton; `budgets` bound its numbers.

    A cell with `is_reference` is only measured, as the reference of other cells.
    """

    kernel: GatedKernel
    target: str
    triton: str
    budgets: Budgets
    is_reference: bool = False

    @property
    def key(self) -> CellKey:
        """The identity of the cell, in the order of reports."""
        return self.kernel.name, self.target, self.triton

    @property
    def is_launch(self) -> bool:
        """True for the example launch, False for a compilation."""
        return self.target == LAUNCH

    @property
    def title(self) -> str:
        """The cell's name in a sentence."""
        how = "launched" if self.is_launch else f"for {self.target}"
        return f"{self.kernel.name} {how} with Triton {self.triton}"


@dataclass(frozen=True, slots=True)
class OfferedTritons:
    """The Tritons of a deployment with their targets, and the default one."""

    targets: Mapping[str, frozenset[str]]
    default: str

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "OfferedTritons":
        """Parse the answer of `GET /v1/targets`. Raises KeyError or TypeError if malformed."""
        offered = document["toolchains"]
        targets = {str(t["triton"]): frozenset(t["targets"]) for t in offered}
        defaults = [str(t["triton"]) for t in offered if t.get("default")]
        return cls(targets, (defaults or sorted(targets, key=version_order))[-1])

    def version(self, written: str) -> str | None:
        """Return the Triton for a written version: `3.7` is the newest 3.7; None if missing."""
        return matching_version(written, self.targets)


def matching_version(written: str, versions: Iterable[str]) -> str | None:
    """Return the newest version that is `written` or starts with it: 3.7.1 for 3.7."""
    among = [v for v in versions if v == written or v.startswith(f"{written}.")]
    return max(among, key=version_order, default=None)


def version_order(version: str) -> tuple[tuple[int, str], ...]:
    """Return a sort key for versions: numbers compare by value."""
    parts = re.split(r"(\d+)", version[:100])
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in parts)


def cells_of(gate_file: GateFile, offered: OfferedTritons) -> tuple[list[Cell], list[FileProblem]]:
    """Return all cells, including reference cells, and an error for each unavailable one."""
    cells: dict[CellKey, Cell] = {}
    problems: list[FileProblem] = []
    for kernel in gate_file.kernels:
        targets = [*kernel.targets, *([LAUNCH] if kernel.launch is not None else [])]
        for written in kernel.tritons or (offered.default,):
            triton = _version(kernel.tritons_at, written, offered, problems)
            if triton is not None:
                made = [
                    Cell(kernel, target, triton, gate_file.budgets_of(kernel, target, triton))
                    for target in targets
                ]
                cells |= {cell.key: cell for cell in made}
    for cell in list(cells.values()):
        for written in _references(cell):
            triton = _version("budgets", written, offered, problems)
            if triton is not None and (cell.kernel.name, cell.target, triton) not in cells:
                other = replace(cell, triton=triton, is_reference=True)
                cells[other.key] = other
    lacking: dict[tuple[str, str], set[str]] = {}
    for cell in cells.values():
        if ":" in cell.target and cell.target not in offered.targets[cell.triton]:
            place = cell.kernel.targets_at
            lacking.setdefault((place, cell.target), set()).add(cell.triton)
    problems += [_no_target(*key, tritons, offered) for key, tritons in lacking.items()]
    return list(cells.values()), list(dict.fromkeys(problems))


def compile_body(cell: Cell, inspected: InspectedKernels) -> dict[str, Any]:
    """Return the compile request of a cell; a `launch` gives types by example.

    Raises TypeError or ValueError for values without a JSON form and invalid examples.
    """
    members = dict(cell.kernel.members)
    if "signature" not in members and cell.kernel.launch is not None:
        arguments = cell.kernel.launch["arguments"]
        known = inspected.get(cell.kernel.name) or {"parameters": ()}
        facts = {fact["name"]: fact for fact in known["parameters"]}
        example = signature_of(arguments, facts, target=cell.target)
        members["signature"] = example.signature
        members["constexprs"] = example.constexprs | members.get("constexprs", {})
        members["hints"] = example.hints | members.get("hints", {})
    elif "signature" not in members and cell.kernel.name in inspected:
        members = completed_members(cell.kernel, inspected).members
    include = [PTX] if PTX in cell.budgets and cell.target.startswith("cuda:") else None
    body = members | {"target": cell.target, "triton": cell.triton, "include": include}
    return dict(with_modules(members_json(body), cell.kernel.package))


def completed_members(kernel: GatedKernel, inspected: InspectedKernels) -> CompletedMembers:
    """Return the members of a kernel that has neither signature nor launch.

    Raises InvalidSignatureSource.
    """
    known = inspected[kernel.name]
    return completed(kernel.members, known, text=kernel.source, path=kernel.path)


def launch_body(cell: Cell) -> LaunchRequest:
    """Return the launch request of a cell. Raises TypeError for a value without a JSON form."""
    launch = dict(cell.kernel.launch or {})
    if TIME in cell.budgets:
        launch.setdefault("timing", {})
    source = dict(cell.kernel.members) | {"triton": cell.triton}
    return launch_request(
        source,
        arguments=launch.pop("arguments"),
        grid=launch.pop("grid"),
        package=cell.kernel.package,
        **launch,
    )


def _version(
    place: str, written: str, offered: OfferedTritons, problems: list[FileProblem]
) -> str | None:
    """Return the available Triton for a written version; note an error if there is none."""
    triton = offered.version(written)
    if triton is None:
        there = ", ".join(sorted(offered.targets, key=version_order))
        message = f"no worker has Triton {written}; available: {there}"
        problems.append(FileProblem(place, message))
    return triton


def _references(cell: Cell) -> list[str]:
    """Return the Tritons that the budgets of a cell compare with."""
    named = [b.reference for bounds in cell.budgets.values() for b in bounds if b.reference]
    return [name.removeprefix(TRITON) for name in named if name.startswith(TRITON)]


def _no_target(place: str, target: str, lacking: set[str], offered: OfferedTritons) -> FileProblem:
    having = sorted((v for v, t in offered.targets.items() if target in t), key=version_order)
    elsewhere = f"; Triton {', '.join(having)} can" if having else "; `tritonc targets` lists them"
    tritons = ", ".join(sorted(lacking, key=version_order))
    return FileProblem(place, f"Triton {tritons} cannot compile for {target!r}{elsewhere}")

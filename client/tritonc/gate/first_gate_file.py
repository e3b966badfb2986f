"""The text of a first gate file: kernels with their types, a matrix, and budgets of the baseline.

Entries of the kernel's own file or pyproject.toml are not repeated.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tritonc.gate.gated_kernel import NONE

UNKNOWN = "?"
_MEMBERS = ("signature", "constexprs", "hints", "options")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SPILLS = {"spill_bytes": "cuda", "spilled_registers": "hip", "spilled_sgprs": "hip"}


@dataclass(frozen=True, slots=True)
class FoundKernel:
    """A kernel of a file; `members` are those of its compile request that are written nowhere."""

    source: str
    name: str
    members: Mapping[str, Any]
    notes: Sequence[str] = ()
    """The assumptions behind its members, a line each."""


def gate_file_text(
    kernels: Sequence[FoundKernel], targets: Sequence[str], tritons: Sequence[str]
) -> str:
    """Return the text of a gate file."""
    lines = ["[matrix]", f"targets = {_toml(list(targets))}"]
    lines += [f"tritons = {_toml(list(tritons))}"] if tritons else []
    lines += ["", "[budgets]", 'instructions = "<= 1.05 x baseline"', 'occupancy = ">= baseline"']
    backends = {target.partition(":")[0] for target in targets}
    lines += [f'{m} = "<= baseline"' for m, b in _SPILLS.items() if b in backends]
    names = [kernel.name for kernel in kernels]
    for kernel in kernels:
        name = kernel.name
        if names.count(name) > 1:
            name = f"{kernel.source.removesuffix('.py')}.{name}"
        lines += ["", *(f"# {' '.join(note.split())}" for note in kernel.notes)]
        lines += [f"[kernels.{_key(name)}]", f"source = {_toml(kernel.source)}"]
        lines += [f"kernel = {_toml(kernel.name)}"]
        written = {m: kernel.members[m] for m in _MEMBERS if kernel.members.get(m)}
        lines += [f"{member} = {_toml(value)}" for member, value in written.items()]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    """Return a JSON value as TOML on one line; None, which TOML lacks, as a gate file writes it."""
    if value is None:
        return _toml(NONE)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(n)} = {_toml(v)}" for n, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    # DEL is the one character that JSON strings may hold as it is and TOML's may not
    return json.dumps(value).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _toml(name)

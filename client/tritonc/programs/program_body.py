"""The JSON of a program request, from Python values.

The service checks the request and reports errors.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict, Unpack

from tritonc.compile_body import check_source
from tritonc.diagnostic import POSTED_SOURCE

ProgramText = str | Mapping[str, Any]
"""The text of a program, or the JSON of one: `source`, `files`, `entry`."""


class ProgramMembers(TypedDict, total=False):
    """The members of a program request; the service picks defaults for omitted ones."""

    files: Mapping[str, str]
    """Further modules that the source imports, by path."""
    entry: Mapping[str, Any]
    """`{"kind": "model", "class": "ModelNew"}`, `{"kind": "function", "name": ...}` or a script."""
    inputs: str | Mapping[str, Any]
    """The text of a function `get_inputs`, or `{"source": ..., "function": ...}`."""
    tolerance: Mapping[str, float]
    """`rtol` and `atol`."""
    cases: Sequence[Mapping[str, Any]]
    """Each has `name` and `inputs`."""
    trials: int
    """The number of comparisons, each with two calls on values of other seeds."""
    checks: Sequence[str]
    """`determinism`; on the CPU device also `initcheck` and `racecheck`."""
    seed: int
    """Decides the values of inputs; without it the service draws one, and answers it."""
    prepared_work: str
    """`refused`: work that `__init__` does for the call makes a program incorrect."""
    device: str | Mapping[str, str]
    """`auto` (a GPU if programs run on one), `cpu`, `gpu`, or `{"target": "cuda:90"}`."""
    timing: Mapping[str, Any]
    """On a GPU: `min_repeats`, `max_ms`, ...; omitted members have defaults."""
    triton: str
    """A Triton version that the deployment offers."""
    stop_after: str
    """`tape`: only record it; `kernels`: also compile the kernels that it launches."""
    target: str
    """The target to compile for, with `stop_after="kernels"`."""
    timeout_s: float
    """Time limit of each run in seconds."""
    deadline_s: float
    """Time limit of everything: queue, recording, compiles and runs."""
    priority: str


@dataclass(frozen=True, slots=True)
class ProgramRequest:
    """The JSON of a program request; `sources` are the texts of the program by file."""

    body: Mapping[str, Any]
    sources: Mapping[str, str] = field(default_factory=dict)


def program_request(
    source: ProgramText,
    *,
    reference: ProgramText | None = None,
    **members: Unpack[ProgramMembers],
) -> ProgramRequest:
    """Return a program to post alone or in a batch; `members` are those of `ProgramMembers`."""
    rest: dict[str, Any] = dict(members)
    body = {
        **_program(source),
        **rest,
        "reference": None if reference is None else _program(reference),
        "inputs": _inputs(rest.get("inputs")),
        "cases": [
            {**case, "inputs": _inputs(case.get("inputs"))} for case in rest.get("cases") or ()
        ]
        or None,
    }
    written = {name: member for name, member in body.items() if member is not None}
    texts = {POSTED_SOURCE: written.get("source"), **(written.get("files") or {})}
    return ProgramRequest(written, {name: text for name, text in texts.items() if text})


def _program(program: ProgramText) -> dict[str, Any]:
    check_source(program)
    return {"source": program} if isinstance(program, str) else dict(program)


def _inputs(inputs: str | Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    check_source(inputs)
    return {"source": inputs} if isinstance(inputs, str) else inputs

"""The proof resource: the record that is stored under its id and answered over HTTP."""

from typing import Any, Literal

from pydantic import Field

from compiler.compilation import Record
from compiler.problem import Problem
from launch.request.launch_record import LaunchState

Verdict = Literal["proved", "refuted", "possible", "unknown"]


class ProofReplay(Record):
    """One program of the witness, as the CPU device ran it with buffers that have no bytes."""

    message: str = Field(description="what it did; empty if it confirmed nothing")
    program: list[int]
    other_program: list[int] | None = Field(default=None, description="that it races with")
    grid: list[int]
    sizes: dict[str, int] = Field(description="of the contract, and the kernel's scalars")
    index: int | None = Field(default=None, description="the element that it accessed")


class ProofFix(Record):
    """A change of the source that proves what was refuted."""

    patch: str = Field(description="a unified diff")
    verdict: Verdict = Field(description="of the kernel with the change")
    target: str
    registers: list[int | None] = Field(description="before and after")
    instructions: list[dict[str, int] | None] = Field(
        default_factory=list, description="by class, before and after; null where none are counted"
    )


class ProofRecheck(Record):
    """The results of two re-checks that share no code with the prover; neither contradicts it."""

    runs: int = Field(
        description="launches that keep the contract and reached the access, all of them right; "
        "0: not re-checked by running"
    )
    bits: Literal["agrees", "timeout", "not_modelled"] = Field(
        description="whether the search for a violation by bit-vectors ended without one"
    )
    summary: str = Field(default="", description="both in words, also that nothing was re-checked")


class ProofAnswer(Record):
    """The answer to one question about one access."""

    verdict: Verdict
    proved_under: list[str] = Field(
        default_factory=list, description="the statements that the proof rests on"
    )
    reason: str | None = Field(
        default=None,
        description="of `unknown` and `possible`, and of `refuted` without a `witness`",
    )
    line: int | None = Field(
        default=None, description="of the value that wraps, or of the value it depends on"
    )
    expression: str | None = None
    witness: dict[str, Any] | None = Field(
        default=None,
        description="the smallest sizes that break it, as a body of POST /v1/launches that names "
        "the kernel by key; null beyond the first 100 of a proof, or 1 MiB",
    )
    replay: ProofReplay | None = None
    fix: ProofFix | None = Field(default=None, description="a change that proves it")
    rechecked: ProofRecheck | None = Field(
        default=None, description="of `proved`: what the re-checks saw; null for other verdicts"
    )


class ProvedAccess(Record):
    """One access of the kernel."""

    file: str | None = None
    line: int | None = None
    column: int | None = None
    argument: str | None = None
    kind: Literal["load", "store", "atomic"]
    bounds: ProofAnswer | None = None
    overflow: ProofAnswer | None = None
    race: ProofAnswer | None = Field(
        default=None, description="with the check `races`: whether programs meet in an element"
    )


class Proof(Record):
    """A kernel's proof. `verdict` is that of its worst access; null without an answer."""

    id: str
    url: str
    state: LaunchState
    queue_position: int | None = None
    verdict: Verdict | None = None
    reason: str | None = Field(default=None, description="why no access was read")
    contract: str | None = None
    is_inferred: bool = Field(default=False, description="the contract was inferred from `cases`")
    assumptions: list[str] = Field(
        default_factory=list, description="what every proof of this kernel rests on"
    )
    compilation_key: str | None = None
    kernel: str | None = Field(default=None, description="its name, once it is known")
    target: str | None = None
    accesses: list[ProvedAccess] = Field(default_factory=list)
    equivalent: ProofAnswer | None = Field(
        default=None, description="of two kernels: `proved` if they store the same, else `unknown`"
    )
    cache: Literal["hit", "miss"] | None = None
    solver_ms: float | None = Field(default=None, description="CPU time of the proof")
    effort: int | None = Field(default=None, description="in the solver's own count")
    problem: Problem | None = None
    timings_ms: dict[str, float] = Field(default_factory=dict)


def proof_url(proof_id: str) -> str:
    """Return the path of a proof."""
    return f"/v1/proofs/{proof_id}"

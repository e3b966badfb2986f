"""A program job: a program as workers do it, resolved once by the service.

One thing is left for a worker to choose: the checks of a program whose request names none. They
depend on the kernels that it launches. Workers check the bounds of the jobs that they read.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, model_validator

from compiler.problem import failure_problem
from compiler.rejection import RequestRejected
from compiler.request.compile_request import MAX_TIMEOUT_S, Files, Name
from compiler.request.resolution import check_texts
from compiler.slug import Slug
from compiler.target import parse_target
from launch.request.initializer import MAX_SEED
from launch.request.launch_record import Device
from launch.request.launch_request import MAX_DEADLINE_S, RepeatsRequest
from programs.flag_kinds import FLAG_KINDS, SERIOUS, FlagKind
from programs.program_record import Program, ProgramProblem, Reward, program_url
from programs.program_request import (
    MAX_CASES,
    MAX_OUTPUTS,
    MAX_TRIALS,
    EntryKind,
    EntryName,
    EntryRequest,
    InputsRequest,
    PostedTexts,
    ProgramCheck,
    ProgramRequest,
    SourceText,
    ToleranceRequest,
)

CANDIDATE = "candidate"
REFERENCE = "reference"
CPU_TARGET: Final = "cuda:90"
"""The target of kernels that run on the CPU device."""
_DEFAULT_NAMES: dict[str, tuple[str, str]] = {
    CANDIDATE: ("ModelNew", "custom_kernel"),
    REFERENCE: ("Model", "ref_kernel"),
}


@dataclass(frozen=True, slots=True)
class ProgramEntry:
    """The callable of a program. `name` is a model's class or a function's name.

    `outputs` are the variables of a script that hold its results, None: all.
    """

    kind: EntryKind
    name: EntryName | None = None
    outputs: Annotated[tuple[EntryName, ...], Field(max_length=MAX_OUTPUTS)] | None = None


class _Resolved(BaseModel):
    model_config = ConfigDict(frozen=True)


class ProgramSource(_Resolved):
    """The texts of a program. The first of `entries` that there is, is called."""

    source: SourceText
    files: Files
    entries: Annotated[list[ProgramEntry], Field(min_length=1, max_length=2)]

    @property
    def is_script(self) -> bool:
        """True for a script, which makes its own inputs."""
        return self.entries[0].kind == "script"

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> Self:
        if info.mode == "json":
            try:
                check_texts(self.source, self.files)
            except RequestRejected as rejected:
                raise ValueError(str(rejected)) from None
        return self


class JobCase(_Resolved):
    """One case. `inputs` None: the reference makes them, or without one the program itself."""

    name: Annotated[str, Field(max_length=256)] | None
    inputs: InputsRequest | None


class ProgramJob(_Resolved):
    """Everything that a program's verdict depends on."""

    version: Literal[2] = 2
    """The version of these fields. Version 1 held the posted body."""
    id: Annotated[str, Field(max_length=64)]
    caller: Name
    namespace: str
    toolchain_id: Annotated[str, Field(max_length=64)]
    """The toolchain whose Triton records the program and compiles its kernels."""
    device: Device | None
    """The GPU model that it runs on; None if it runs on the CPU device, or not at all."""
    lane: Name
    """The queue of the workers that do such programs."""
    candidate: ProgramSource
    reference: ProgramSource | None
    cases: Annotated[list[JobCase], Field(min_length=1, max_length=MAX_CASES)]
    has_cases: bool
    """False where the request has no `cases`: then its only case is the program itself."""
    tolerance: ToleranceRequest | None
    trials: Annotated[int, Field(ge=1, le=MAX_TRIALS)]
    checks: Annotated[list[ProgramCheck], Field(max_length=3)] | None
    """None: `cpu_checks` chooses them when the program's kernels are known."""
    timing: RepeatsRequest | None
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)]
    stop_after: Literal["tape", "kernels"] | None
    target: Annotated[str, Field(max_length=64)]
    """The target of its kernels."""
    timeout_s: Annotated[float, Field(gt=0, le=MAX_TIMEOUT_S)]
    deadline_s: Annotated[float, Field(gt=0, le=MAX_DEADLINE_S)]
    priority: Literal["interactive", "batch"]
    serious_flags: Annotated[tuple[FlagKind, ...], Field(max_length=len(FLAG_KINDS))] = SERIOUS
    """The kinds of flags and findings that make the program incorrect."""


def program_job(
    request: ProgramRequest,
    *,
    program_id: str,
    caller: str,
    namespace: str,
    toolchain_id: str,
    device: Device | None,
    lane: str,
    drawn_seed: int,
    serious_flags: tuple[FlagKind, ...] = SERIOUS,
) -> ProgramJob:
    """Return the job of a request that was checked, and whose place was chosen.

    It has the seed `drawn_seed` if the request names none.
    """
    reference = request.reference
    cases = [JobCase(name=case.name, inputs=case.inputs) for case in request.cases]
    target = (device and device.target) or request.target or CPU_TARGET
    return ProgramJob(
        id=program_id,
        caller=caller,
        namespace=namespace,
        toolchain_id=toolchain_id,
        device=device,
        lane=lane,
        candidate=_source_of(request, request.entry, CANDIDATE),
        reference=reference and _source_of(reference, reference.entry, REFERENCE),
        cases=cases or [JobCase(name=None, inputs=request.inputs)],
        has_cases=bool(cases),
        tolerance=request.tolerance,
        trials=request.trials,
        checks=request.checks,
        timing=request.timing,
        seed=drawn_seed if request.seed is None else request.seed,
        stop_after=request.stop_after,
        target=str(parse_target(target)),
        timeout_s=request.timeout_s,
        deadline_s=request.deadline_s,
        priority=request.priority,
        serious_flags=_serious(request, serious_flags),
    )


def _serious(request: ProgramRequest, chosen: tuple[FlagKind, ...]) -> tuple[FlagKind, ...]:
    if request.prepared_work == "allowed" or "prepared_work" in chosen:
        return chosen
    return (*chosen, "prepared_work")


def _source_of(texts: PostedTexts, entry: EntryRequest | None, role: str) -> ProgramSource:
    return ProgramSource(source=texts.source, files=texts.files, entries=entries_of(entry, role))


def entries_of(posted: EntryRequest | None, role: str) -> list[ProgramEntry]:
    """Return the entries to look for in a program of a `role`. The first that exists is used."""
    model, function = _DEFAULT_NAMES[role]
    defaults = [ProgramEntry("model", model), ProgramEntry("function", function)]
    if posted is None:
        return defaults
    match posted.kind:
        case "model":
            return [ProgramEntry("model", posted.class_ or model)]
        case "function":
            return [ProgramEntry("function", posted.name or function)]
        case "script":
            outputs = None if posted.outputs is None else tuple(posted.outputs)
            return [ProgramEntry("script", outputs=outputs)]


def new_program(
    job: ProgramJob,
    state: Any,
    *,
    queue_position: int | None = None,
    problem: ProgramProblem | None = None,
) -> Program:
    """Return the record of `job` in `state`, without results."""
    return Program(
        id=job.id,
        url=program_url(job.id),
        state=state,
        queue_position=queue_position,
        device=job.device or Device(target=None, interpreter=True),
        seed=job.seed,
        reward=None if problem is None else Reward(compiled=False, correct=False),
        problem=problem,
    )


def program_problem(
    slug: str,
    detail: str,
    *,
    program: str | None = None,
    reason: str | None = None,
    file: str | None = None,
    line: int | None = None,
) -> ProgramProblem:
    """Return the problem of a program that failed, a long `detail` clipped."""
    problem = failure_problem(slug, detail)
    # a program's own source decides what its kernels are launched with
    is_own = program is not None and problem.fault == "request" and slug != Slug.NEEDS_GPU
    members = {"program": program, "reason": reason, "file": file, "line": line}
    members["fault"] = "source" if is_own else problem.fault
    return ProgramProblem.model_validate(problem.model_dump() | members)

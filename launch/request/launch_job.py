"""A launch job: a fully resolved launch request, ready for a worker.

The service resolves a request once and queues this job. Workers do not trust the store that they
read it from, so validation repeats the checks of binding.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    model_serializer,
    model_validator,
)

from compiler.job import CompileJob
from compiler.problem import Problem
from compiler.rejection import RequestRejected
from compiler.request.compile_request import MAX_TIMEOUT_S, Name
from compiler.request.signature import MAX_PARAMETERS
from launch.request.argument_binding import ARGUMENTS, check_bound
from launch.request.argument_schema import MAX_ARGUMENTS
from launch.request.case import Case, merge_arguments, named_arguments
from launch.request.launch_record import Device, Launch, launch_url
from launch.request.launch_request import (
    FUZZ,
    MAX_CASES,
    MAX_CHECKS,
    MAX_DEADLINE_S,
    PROOF,
    CaseRequest,
    Check,
    FuzzRequest,
    LaunchRequest,
    ReturnMode,
    TimingRequest,
    TraceRequest,
)
from launch.request.reference_request import check_reference

MAX_OUTPUT_BYTES = 128 << 20
"""Limit of all outputs of one run, which are sent and compared in one piece."""
MAX_UPLOADED_BYTES = 256 << 20
"""Limit of all uploaded tensors of one run."""


class FuzzJob(BaseModel):
    """Settings of fuzzing the first case.

    `arguments` are that case's in their request form: a worker makes each fuzz case as a request.
    `own` is the item of `cases` to vary, None if the request has no cases.
    """

    model_config = ConfigDict(frozen=True)

    asked: FuzzRequest
    arguments: Annotated[dict[str, Any], Field(max_length=MAX_PARAMETERS)]
    own: CaseRequest | None

    @property
    def seed(self) -> int:
        """The seed of everything random in its cases."""
        assert self.asked.seed is not None  # the service chose one
        return self.asked.seed


class ShownLaunchJob(BaseModel):
    """The part of a LaunchJob that its record shows before it is over.

    Read for every poll, so without the arguments of a hundred cases.
    """

    model_config = ConfigDict(frozen=True)

    version: Literal[2] = 2
    id: Annotated[str, Field(max_length=64)]
    device: Device


class LaunchJob(BaseModel):
    """Everything a launch depends on. `references` are the kernels that references name, by key.

    Cases share the sources of their references: each is written once, under `sources`.
    """

    model_config = ConfigDict(frozen=True)

    version: Literal[2] = 2
    """Version of these fields. Version 1 held the posted body, and workers resolved it again."""
    id: Annotated[str, Field(max_length=64)]
    caller: Name
    lane: Name
    """The queue of workers with the device."""
    device: Device
    compile_job: CompileJob
    """The kernel to launch; its specialization lacks the types to infer from arguments."""
    references: Annotated[dict[str, CompileJob], Field(max_length=MAX_CASES)]
    cases: Annotated[list[Case], Field(min_length=1, max_length=MAX_CASES)]
    has_cases: bool
    """False where the request has no `cases`: then its only case is the launch itself."""
    returned: Annotated[dict[Name, ReturnMode], Field(max_length=MAX_PARAMETERS)]
    timing: TimingRequest | None
    checks: Annotated[list[Check], Field(max_length=MAX_CHECKS)]
    fuzz: FuzzJob | None
    proves: bool = False
    """True to prove the kernel, too, for all sizes; no device takes part."""
    tries_tuning: bool = True
    """False for a variant of a sweep, whose others are the configurations of its kernel."""
    profile: Literal[False, True, "lines"]
    isolation: Literal["caller", "process"]
    trace: TraceRequest | None
    stop_after_failures: Annotated[int, Field(ge=1)] | None
    timeout_s: Annotated[float, Field(gt=0, le=MAX_TIMEOUT_S)]
    deadline_s: Annotated[float, Field(gt=0, le=MAX_DEADLINE_S)]
    priority: Literal["interactive", "batch"]

    @property
    def infers(self) -> bool:
        """True if the signature is inferred from the arguments: the job has no types."""
        job = self.compile_job
        if job.source is None or job.specialization.positional:
            return False
        return all(parameter.is_constexpr for parameter in job.specialization.named.values())

    @model_serializer(mode="wrap")
    def _share_sources(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = write(self)
        places: dict[str, int] = {}
        for case in written["cases"]:
            if case["reference"] is not None and (source := case["reference"]["source"]):
                case["reference"]["source"] = places.setdefault(source, len(places))
        return written | {"sources": list(places)}

    @model_validator(mode="before")
    @classmethod
    def _place_sources(cls, data: Any, info: ValidationInfo) -> Any:
        if info.mode != "json" or not isinstance(data, dict):
            return data
        sources, cases = data.pop("sources", None), data.get("cases")
        if not isinstance(sources, list) or len(sources) > MAX_CASES or not isinstance(cases, list):
            raise ValueError("`cases`, and the `sources` of their references, must be lists")
        for case in cases:
            match case:
                case {"reference": {"source": int(at)} as reference} if 0 <= at < len(sources):
                    reference["source"] = sources[at]
        return data

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> Self:
        if info.mode != "json":  # created here from values that were bound just now
            return self
        count = 0
        try:
            for index, case in enumerate(self.cases):
                if case.index != index:
                    raise ValueError(f"case {index} has the index {case.index}")
                count += check_bound(case.bound)
                if case.reference is not None:
                    check_reference(case.reference, "/reference")
        except RequestRejected as rejected:
            raise ValueError(str(rejected)) from None
        if count > MAX_ARGUMENTS:
            raise ValueError(f"more than {MAX_ARGUMENTS} arguments in all cases")
        named = {case.reference.compilation_key for case in self.cases if case.reference}
        if not named - {None} <= self.references.keys():
            raise ValueError("the kernel of a reference is missing")
        if (FUZZ in self.checks) is not (self.fuzz is not None):
            raise ValueError("`fuzz` belongs to the check of that name")
        return self


def launch_job(
    request: LaunchRequest,
    cases: Sequence[Case],
    *,
    launch_id: str,
    caller: str,
    device: Device,
    lane: str,
    compile_job: CompileJob,
    references: Mapping[str, CompileJob],
) -> LaunchJob:
    """Return the job of a request that was resolved to `cases`; kernels get its `timeout_s`."""
    timeout_s = request.timeout_s
    named = {case.reference.compilation_key for case in cases if case.reference is not None}
    return LaunchJob(
        id=launch_id,
        caller=caller,
        lane=lane,
        device=device,
        compile_job=compile_job_of_launch(compile_job, timeout_s),
        references={
            key: compile_job_of_launch(kernel, timeout_s)
            for key, kernel in references.items()
            if key in named
        },
        cases=list(cases),
        has_cases=bool(request.cases),
        returned=request.return_,
        timing=request.timing,
        checks=[check for check in request.checks if check != PROOF],
        proves=PROOF in request.checks,
        fuzz=_fuzz_of(request),
        profile=request.profile,
        isolation=request.isolation,
        trace=request.trace,
        stop_after_failures=request.stop_after_failures,
        timeout_s=timeout_s,
        deadline_s=request.deadline_s,
        priority=request.priority,
    )


def compile_job_of_launch(job: CompileJob, timeout_s: float) -> CompileJob:
    """Return `job` with its compilation limited to the launch's `timeout_s`."""
    return job.model_copy(update={"timeout_s": min(job.timeout_s, timeout_s)})


def _fuzz_of(request: LaunchRequest) -> FuzzJob | None:
    if FUZZ not in request.checks:
        return None
    own = request.cases[0] if request.cases else None
    arguments = named_arguments(request.arguments, ARGUMENTS)
    if own is not None and own.arguments is not None:
        arguments = merge_arguments(arguments, named_arguments(own.arguments, ARGUMENTS))
    return FuzzJob(asked=request.fuzz or FuzzRequest(), arguments=arguments, own=own)


def new_launch(job: LaunchJob, state: Any, problem: Problem | None = None) -> Launch:
    """Return the launch of `job` in `state`, without results."""
    url, kernel = launch_url(job.id), job.compile_job.kernel
    return Launch(
        id=job.id, url=url, state=state, kernel=kernel, device=job.device, problem=problem
    )

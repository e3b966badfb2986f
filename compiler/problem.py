"""A problem (RFC 9457): one shape for what goes wrong, in answers and inside compilations.

Says nothing of HTTP: which slug is which status is the service's table.
"""

from pydantic import BaseModel, ConfigDict

from compiler.diagnostic import MESSAGE_CHARS, clipped
from compiler.rejection import FieldError

PROBLEM_BASE = "urn:tritond:problem:"

TITLES = {
    # a compilation that failed: a result
    "syntax_error": "The source cannot be parsed",
    "unknown_kernel": "There is no such kernel in the source",
    "ambiguous_kernel": "The source holds several kernels",
    "missing_constexpr": "A constexpr parameter has no value",
    "missing_type": "A parameter has neither type nor value",
    "extra_argument": "The kernel has no such parameter",
    "missing_module": "The source imports a module that is not there",
    "compile_error": "The kernel does not compile",
    "lowering_failed": "A compiler pass failed",
    "assembler_failed": "The assembler refused the generated code",
    "compiler_crashed": "The compiler crashed",
    "out_of_resources": "The kernel needs more than the target has",
    "compile_timeout": "The compilation ran out of time",
    "memory_exceeded": "The compilation ran out of memory",
    "sandbox_violation": "The source tried what the sandbox forbids",
    "worker_lost": "The worker was lost several times",
    "cancelled": "Its caller cancelled it",
    # a launch that could not run: a result
    "missing_argument": "A parameter has no argument",
    "argument_mismatch": "An argument is not of its parameter's type",
    "invalid_argument": "An argument cannot be made",
    "needs_gpu": "The kernel does what the CPU device cannot",
    "deadline_exceeded": "It was not over within its deadline",
    # a program that has no verdict: a result
    "not_recordable": "The program cannot be recorded",
    "record_timeout": "Recording the program ran out of time",
    "recorder_crashed": "The program ended its recorder",
    "invalid_tape": "What was recorded of the program is not valid",
    "replay_crashed": "What was recorded of the program ended the process that ran it",
    # a request that was refused
    "invalid_json": "The body is not JSON",
    "invalid_request": "The request is not valid",
    "hint_violated": "An argument breaks a hint of the compilation",
    "unauthorized": "An API key is needed",
    "forbidden": "The API key does not allow this",
    "not_found": "There is nothing here",
    "no_such_stage": "There is no such stage",
    "stage_not_reached": "The compilation did not reach this stage",
    "method_not_allowed": "The method is not allowed here",
    "misdirected": "This service does not go by that name",
    "not_finished": "The work is not finished",
    "no_winner": "The sweep has no winner",
    "evicted": "The artifact has left the cache",
    "not_derivable": "This cannot be derived from the compilation",
    "derivation_failed": "Deriving this failed",
    "too_large": "The body is too large",
    "request_timeout": "The request took too long to arrive",
    "malformed_request": "This is no request of HTTP/1.1",
    "not_implemented": "The method is not known",
    "head_too_large": "The head of the request is too large",
    "too_many_connections": "The service has too many connections",
    "too_many_bodies": "The service holds too many request bodies",
    "unsupported_media_type": "The body must be application/json",
    "too_many_requests": "Too many requests",
    "queue_full": "The queue is full",
    "no_toolchain": "No compiler has registered yet",
    "stopping": "The service is stopping",
    "store_unavailable": "The store cannot be reached",
    "internal_error": "The service made a mistake",
}

RETRYABLE = frozenset(
    {"compile_timeout", "memory_exceeded", "sandbox_violation", "worker_lost", "cancelled"}
    | {"compiler_crashed", "deadline_exceeded", "record_timeout"}
)
"""Failures that are no property of the source alone: kept for GET, never answered to a POST."""


class Problem(BaseModel):
    """An RFC 9457 problem with our `slug`; `retryable` only says something in a compilation."""

    model_config = ConfigDict(frozen=True)

    type: str
    title: str
    status: int | None = None
    detail: str
    instance: str | None = None
    slug: str
    retryable: bool | None = None
    errors: list[FieldError] | None = None
    parameter: str | None = None
    limit: int | float | None = None


def failure_problem(slug: str, detail: str, parameter: str | None = None) -> Problem:
    """Return the problem of a failed compilation, a long `detail` clipped."""
    return Problem(
        type=PROBLEM_BASE + slug,
        title=TITLES[slug],
        detail=clipped(detail, MESSAGE_CHARS),
        slug=slug,
        retryable=slug in RETRYABLE,
        parameter=parameter,
    )

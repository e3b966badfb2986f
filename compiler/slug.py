"""The slugs of problems, and what the kinds of problem with them have in common.

A slug is stable: it keeps its meaning, and it is never renamed. Standard library only.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


class Slug(StrEnum):
    """The word for a kind of problem, for programs to decide by.

    More may come. docs/reference/errors.md has the cause and the remedy of each.
    """

    SYNTAX_ERROR = "syntax_error"
    UNKNOWN_KERNEL = "unknown_kernel"
    AMBIGUOUS_KERNEL = "ambiguous_kernel"
    MISSING_CONSTEXPR = "missing_constexpr"
    MISSING_TYPE = "missing_type"
    EXTRA_ARGUMENT = "extra_argument"
    MISSING_MODULE = "missing_module"
    COMPILE_ERROR = "compile_error"
    LOWERING_FAILED = "lowering_failed"
    ASSEMBLER_FAILED = "assembler_failed"
    COMPILER_CRASHED = "compiler_crashed"
    OUT_OF_RESOURCES = "out_of_resources"
    COMPILE_TIMEOUT = "compile_timeout"
    MEMORY_EXCEEDED = "memory_exceeded"
    SANDBOX_VIOLATION = "sandbox_violation"
    WORKER_LOST = "worker_lost"
    CANCELLED = "cancelled"
    RESULT_TOO_LARGE = "result_too_large"
    MISSING_ARGUMENT = "missing_argument"
    ARGUMENT_MISMATCH = "argument_mismatch"
    INVALID_ARGUMENT = "invalid_argument"
    NEEDS_GPU = "needs_gpu"
    DEADLINE_EXCEEDED = "deadline_exceeded"
    NOT_RECORDABLE = "not_recordable"
    RECORD_TIMEOUT = "record_timeout"
    RECORDER_CRASHED = "recorder_crashed"
    INVALID_TAPE = "invalid_tape"
    REPLAY_CRASHED = "replay_crashed"
    INVALID_JSON = "invalid_json"
    MALFORMED_REQUEST = "malformed_request"
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    NO_SUCH_STAGE = "no_such_stage"
    STAGE_NOT_REACHED = "stage_not_reached"
    NO_WINNER = "no_winner"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    REQUEST_TIMEOUT = "request_timeout"
    NOT_FINISHED = "not_finished"
    EVICTED = "evicted"
    TOO_LARGE = "too_large"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    MISDIRECTED = "misdirected"
    INVALID_REQUEST = "invalid_request"
    HINT_VIOLATED = "hint_violated"
    UNKNOWN_DIGEST = "unknown_digest"
    NOT_DERIVABLE = "not_derivable"
    HEAD_TOO_LARGE = "head_too_large"
    NOT_IMPLEMENTED = "not_implemented"
    TOO_MANY_REQUESTS = "too_many_requests"
    INTERNAL_ERROR = "internal_error"
    QUEUE_FULL = "queue_full"
    TOO_MANY_CONNECTIONS = "too_many_connections"
    TOO_MANY_BODIES = "too_many_bodies"
    NO_TOOLCHAIN = "no_toolchain"
    STORE_UNAVAILABLE = "store_unavailable"
    STOPPING = "stopping"
    DERIVATION_FAILED = "derivation_failed"


STATIC_ASSERT = "static_assert"
"""The `reason` of a `compile_error` where `tl.static_assert` failed."""
Fault = Literal["request", "source", "service"]


@dataclass(frozen=True, slots=True)
class ProblemKind:
    """The facts that all problems with one slug share."""

    fault: Fault
    """The part that has to change."""
    title: str
    cause: str
    remedy: str
    example: str
    """A `detail` as the service words it."""
    status: int | None = None
    """The HTTP status of an answer that is this problem; None: it is only part of a result."""
    retry_after_s: int | None = None
    """The `Retry-After` of such an answer."""
    is_retryable: bool = False
    """True if the same request may succeed later. Such failures are never answered to a POST."""

"""A problem (RFC 9457): one shape for what goes wrong, in answers and inside results."""

from collections.abc import Iterable, Sequence

from pydantic import BaseModel, ConfigDict, Field

from compiler.diagnostic import MESSAGE_CHARS, Diagnostic, clipped
from compiler.problem_kinds import PROBLEM_KINDS
from compiler.rejection import FieldError
from compiler.slug import Fault, Slug

PROBLEM_BASE = "urn:tritond:problem:"


class Problem(BaseModel):
    """An RFC 9457 problem. Decide by `slug` and `reason`; `detail` is for people."""

    model_config = ConfigDict(frozen=True)

    type: str
    title: str
    status: int | None = Field(default=None, description="null in a result")
    detail: str
    instance: str | None = None
    slug: Slug
    reason: str | None = Field(
        default=None, description="a finer word, of the closed list of the slug; null without one"
    )
    fault: Fault = Field(description="the part to change: the request, the source, or the service")
    retryable: bool = Field(description="the same request may work later")
    file: str | None = Field(default=None, description="the posted file that it is about")
    line: int | None = Field(default=None, description="from 1")
    errors: list[FieldError] | None = None
    parameter: str | None = None
    limit: int | float | None = None
    needs: list[str] | None = Field(
        default=None,
        description="modules to post in `files`, or to list in `absent`; of `missing_module`",
    )


def failure_problem(
    slug: str,
    detail: str,
    parameter: str | None = None,
    *,
    reason: str | None = None,
    diagnostics: Iterable[Diagnostic] = (),
    needs: Sequence[str] = (),
) -> Problem:
    """Return the problem of work that failed, a long `detail` clipped.

    Its place is that of the first error among `diagnostics` that has one.
    """
    kind = PROBLEM_KINDS[Slug(slug)]
    errors = (item for item in diagnostics if item.severity == "error" and item.line is not None)
    first = next(errors, None)
    return Problem(
        type=PROBLEM_BASE + slug,
        title=kind.title,
        detail=clipped(detail, MESSAGE_CHARS),
        slug=Slug(slug),
        reason=reason,
        fault=kind.fault,
        retryable=kind.is_retryable,
        file=first.file if first else None,
        line=first.line if first else None,
        parameter=parameter,
        needs=list(needs) or None,
    )

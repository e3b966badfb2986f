"""Errors over HTTP: problems as answers, and the exception handlers."""

import logging
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from http import HTTPStatus
from math import floor
from typing import Any

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Match

from compiler.problem import PROBLEM_BASE, Problem
from compiler.problem_kinds import PROBLEM_KINDS
from compiler.rejection import RequestRejected
from compiler.slug import Fault, Slug
from compiler.wanted import Unwanted
from jobs.work_context import CALLER_ID, REQUEST_ID
from store.errors import CallerQueueFull, GpuTimeSpent, QueueFull, StoreUnavailable
from store.stored import Unreadable

MAX_PERIODS = 1000
EXPLORER_API = "/api/"
MAX_LOGGED_CHARS = 200
"""Of a path, and of a reason."""
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
_SLUG_OF_STATUS = {404: "not_found", 405: "method_not_allowed"}

logger = logging.getLogger(__name__)


class ProblemRaised(Exception):
    """Ends a request with a problem; `members` are further members of the problem."""

    def __init__(
        self, slug: str, detail: str, *, headers: Mapping[str, str] | None = None, **members: Any
    ) -> None:
        super().__init__(detail)
        self.slug = Slug(slug)
        self.headers = dict(headers or {})
        self.members = members

    @property
    def status(self) -> int:
        """The HTTP status of the answer."""
        return PROBLEM_KINDS[self.slug].status or 500

    @property
    def fault(self) -> Fault:
        """The part that has to change."""
        return PROBLEM_KINDS[self.slug].fault


def problem_of(raised: ProblemRaised, instance: str | None) -> Problem:
    """Return `raised` as a problem; `instance` is the path of the request."""
    kind = PROBLEM_KINDS[raised.slug]
    return Problem(
        type=PROBLEM_BASE + raised.slug,
        title=kind.title,
        status=raised.status,
        detail=str(raised),
        instance=instance,
        slug=raised.slug,
        fault=kind.fault,
        retryable=kind.is_retryable,
        **raised.members,
    )


def problem_response(
    request: Request, raised: ProblemRaised, bug: Exception | None = None
) -> Response:
    """Log a problem and render it as application/problem+json; `bug` is what caused it."""
    _log(request, raised, bug)
    problem = problem_of(raised, request.url.path)
    headers = raised.headers
    retry_after_s = PROBLEM_KINDS[raised.slug].retry_after_s
    if retry_after_s is not None:
        headers.setdefault("Retry-After", str(retry_after_s))
    body = problem.model_dump(mode="json", exclude_none=True)
    if request.url.path.startswith(EXPLORER_API):
        body["error"] = problem.detail  # Compiler Explorer's plug-ins show this member
    return Response(
        orjson.dumps(body),
        status_code=problem.status or 500,
        headers=headers,
        media_type="application/problem+json",
    )


def _log(request: Request, raised: ProblemRaised, bug: Exception | None) -> None:
    """Log who got which problem; why, if it is the service's fault: the caller knows the rest."""
    is_ours = raised.status >= HTTPStatus.INTERNAL_SERVER_ERROR
    state = request.scope.get("state", {})
    logger.log(
        logging.ERROR if bug else logging.WARNING if is_ours else logging.INFO,
        "%s %s: %d %s (request %s, key %s)%s",
        request.method,
        request.url.path[:MAX_LOGGED_CHARS],
        raised.status,
        raised.slug,
        state.get(REQUEST_ID, "none"),
        state.get(CALLER_ID, "none"),
        f": {raised}"[:MAX_LOGGED_CHARS] if is_ours else "",
        exc_info=bug,
    )


def as_raised(error: Exception) -> ProblemRaised | None:
    """Return the problem that a caller gets for `error`, None for a bug in the service."""
    match error:
        case ProblemRaised():
            return error
        case RequestRejected():
            return problem_of_rejection(error)
        case GpuTimeSpent():
            headers = rate_limit_headers(
                "gpu-seconds", error.limit, 3600, left=0, more_in_s=error.wait_s
            )
            headers["Retry-After"] = str(error.wait_s)
            return ProblemRaised(
                "too_many_requests", str(error), headers=headers, limit=error.limit
            )
        case CallerQueueFull():
            return ProblemRaised("too_many_requests", str(error), limit=error.limit)
        case QueueFull():
            return ProblemRaised("queue_full", str(error), limit=error.limit)
        case Unreadable():
            return ProblemRaised("evicted", str(error))
        case StoreUnavailable():
            return ProblemRaised("store_unavailable", str(error))
    return None


def problem_of_rejection(error: RequestRejected) -> ProblemRaised:
    """Return one 422 problem for all invalid fields of a request."""
    detail = "; ".join(f"{wrong.pointer or 'the body'}: {wrong.message}" for wrong in error.errors)
    return ProblemRaised(error.slug, detail, errors=list(error.errors))


def install_handlers(app: FastAPI) -> None:
    """Render every error of `app` as a problem."""
    for kind in (ProblemRaised, RequestRejected, QueueFull, StoreUnavailable, Unreadable):
        app.add_exception_handler(kind, _answer_expected)
    app.add_exception_handler(RequestValidationError, _answer_wrong_parameter)
    for gone in (ClientDisconnect, Unwanted):
        app.add_exception_handler(gone, _answer_nobody)
    app.add_exception_handler(HTTPException, _answer_http_exception)
    app.add_exception_handler(Exception, _answer_bug)


async def _answer_expected(request: Request, error: Exception) -> Response:
    raised = as_raised(error)
    assert raised is not None
    if raised.slug == "invalid_request":  # a wrong query is refused before the route begins
        return await _answer_counted(request, raised)
    return problem_response(request, raised)


async def _answer_counted(request: Request, raised: ProblemRaised) -> Response:
    """Answer a request that no route may have taken, once its caller's limits have counted it."""
    if "authorization" in request.headers:
        try:
            await request.app.state.service.callers.count(request)
        except (ProblemRaised, StoreUnavailable) as error:
            raised = as_raised(error) or raised
    return problem_response(request, raised)


async def _answer_wrong_parameter(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    # a location is for example ("query", "state", 0)
    details = [f"{item['loc'][1]}: {item['msg']}" for item in error.errors()]
    parameter = str(error.errors()[0]["loc"][1])
    raised = ProblemRaised("invalid_request", "; ".join(details), parameter=parameter)
    return await _answer_counted(request, raised)


async def _answer_nobody(_request: Request, _error: Exception) -> Response:
    return Response(status_code=400)  # the client has hung up


async def _answer_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    slug = _SLUG_OF_STATUS.get(error.status_code, "internal_error")
    detail = f"{request.method} {request.url.path}: {error.detail}"
    headers = dict(error.headers or {})
    if slug == "method_not_allowed":
        headers["Allow"] = ", ".join(await _allowed_methods(request))
        detail += f"; allowed here: {headers['Allow']}"
    elif slug == "not_found" and request.url.path.endswith("/"):
        detail += "; no path here ends with a slash"
    return await _answer_counted(request, ProblemRaised(slug, detail, headers=headers))


async def _answer_bug(request: Request, error: Exception) -> Response:
    # Starlette answers this outside all middleware, so add the request id here
    detail = "This is a bug in the service; its log has the details under the request id."
    headers = {"X-Request-ID": request.state.request_id}
    raised = ProblemRaised("internal_error", detail, headers=headers)
    return problem_response(request, raised, error)


async def _allowed_methods(request: Request) -> list[str]:
    """Return the methods of all routes of the path; a single route only knows its own.

    Where a path is documented by its own text, one with a parameter in its place is not meant.
    """
    await request.app.state.document.read()  # made there, it is not made on the event loop here
    documented = request.app.openapi()["paths"].get(request.url.path)
    if documented is not None:
        allowed = {method.upper() for method in documented}
    else:
        allowed = {method for method in _METHODS if _is_routed(request, method)}
    if "GET" in allowed:
        allowed.add("HEAD")  # see service.http.middleware
    return [method for method in _METHODS if method in allowed]


def _is_routed(request: Request, method: str) -> bool:
    scope = {**request.scope, "method": method}
    return any(route.matches(scope)[0] is Match.FULL for route in request.app.router.routes)


def rate_limit_headers(
    name: str, amount: float, period_s: int, *, left: int, more_in_s: int
) -> dict[str, str]:
    """Return the headers of a limit of `amount` in `period_s`; `more_in_s` there is one more."""
    return {
        "RateLimit-Policy": f'"{name}";{_quota(amount, period_s)}',
        "RateLimit": f'"{name}";r={left};t={more_in_s}',
    }


@lru_cache(maxsize=1024)
def _quota(amount: float, period_s: int) -> str:
    """Return quota and window in seconds, which must be integers.

    They are those of the shortest window that states the limit exactly. Where there is none, the
    window comes nearest, without promising more than the limit.
    """
    exact = Fraction(str(amount))
    periods = max(range(1, MAX_PERIODS + 1), key=lambda n: Fraction(floor(exact * n), n))
    return f"q={floor(exact * periods)};w={period_s * periods}"

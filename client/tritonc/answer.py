"""Reading the service's answers: an error answer becomes an exception, a body becomes a value."""

from collections.abc import Callable
from typing import Any, TypeVar

import httpx

from tritonc.diagnostic import Problem
from tritonc.service_errors import ProblemError, ServerUnavailable, UnexpectedAnswer

UNAVAILABLE = frozenset({502, 503, 504})

Result = TypeVar("Result")


def accepted(answer: httpx.Response) -> httpx.Response:
    """Return `answer` if it says success.

    Raises ServerUnavailable, ProblemError or UnexpectedAnswer if not, with what it says.
    """
    if answer.is_success:
        return answer
    problem, after_s = _problem(answer), retry_after_s(answer)
    if answer.status_code in UNAVAILABLE:
        raise ServerUnavailable(f"{_place(answer)}: {problem}", problem, after_s)
    if answer.is_error:
        raise ProblemError(problem, answer.status_code, after_s)
    raise UnexpectedAnswer(f"{_place(answer)} answered {answer.status_code}; is the URL right?")


def read(reader: Callable[[Any], Result], answer: httpx.Response) -> Result:
    """Return what `reader` makes of the answer's JSON. Raises UnexpectedAnswer if it cannot."""
    try:
        return reader(answer.json())
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        kind = answer.headers.get("content-type", "no content type")
        raise UnexpectedAnswer(
            f"{_place(answer)} did not answer as tritond does ({kind}); is the URL right?"
        ) from error


def not_reached(error: httpx.RequestError, url: httpx.URL) -> ServerUnavailable:
    """Return the error to raise when there is no answer at all."""
    reason = str(error) or type(error).__name__
    return ServerUnavailable(f"no answer from {url}: {reason}; is the service up, the URL right?")


def retry_after_s(answer: httpx.Response) -> float | None:
    """Return what the answer says of when to ask again, in seconds."""
    written = answer.headers.get("retry-after", "")
    return float(written) if written.isdigit() else None


def _place(answer: httpx.Response) -> httpx.URL:
    return answer.url.copy_with(query=None)


def _problem(answer: httpx.Response) -> Problem:
    try:
        return Problem.from_json(answer.json())
    except (ValueError, TypeError, AttributeError):
        # written by something in between: the status line is all that can be trusted to make sense
        title = f"{answer.status_code} {answer.reason_phrase}"
        return Problem.from_json({"title": title, "status": answer.status_code})

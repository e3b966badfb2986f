"""HTTP requests and the meaning of answers, without input or output.

The connections send, pause and repeat. Their parameters are here because the blocking client and
the asyncio client share them.
"""

import hashlib
import os
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any, TypeVar

import httpx
from tritonc_version import __version__

from tritonc.answer_body import (
    ACCEPTED_ENCODINGS,
    MAX_FILE_BYTES,
    MAX_FILE_S,
    MAX_JSON_BYTES,
    MAX_JSON_S,
)
from tritonc.diagnostic import Problem
from tritonc.service_errors import (
    ProblemError,
    ServerUnavailable,
    TritoncError,
    UnexpectedAnswer,
)

DEFAULT_URL = "http://127.0.0.1:8000"
URL_VARIABLE, KEY_VARIABLE = "TRITOND_URL", "TRITOND_API_KEY"
KEY_FILE_VARIABLES = ("TRITOND_API_KEY_FILE", "TRITONC_API_KEY_FILE")
MAX_KEY_CHARS = 4096
MAX_WAIT_S = 30.0  # of one request; proxies cut connections that are silent for longer
SILENCE_S = 60.0  # of an event stream, before it counts as lost
POLL_INTERVAL_S = 0.25  # at least, in case the service answers at once instead of waiting
STOPPING = "stopping"
RETRY_PAUSES_S = (0.25, 0.5, 1.0, 2.0, 4.0)  # after no answer; in total they outlast a restart
MAX_PAUSE_S = 10.0  # a longer requested pause is reported as an error
TEMPORARY_REDIRECT, DIGEST = 307, "Tritond-Digest"
STORAGE_HEADERS = {"Accept-Encoding": ACCEPTED_ENCODINGS}
TOO_MANY_REQUESTS = 429
UNAVAILABLE = frozenset({502, 503, 504})

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request; the service may take `wait_s` to answer it.

    `body` is sent as JSON, `content` unchanged; at most one is given. `wait_s` is in the URL or, if
    `waits_in_body`, in the body. A `repeatable` request has no further effect if sent twice, so it
    is repeated if there is no answer. `if_not_found` is sent after an answer of 404. The bytes of a
    request that `may_redirect` may come from the service's object storage. The answer to one that
    `is_for_file` may be large.
    """

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    content: bytes | None = None
    query: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    wait_s: float = 0
    waits_in_body: bool = False
    repeatable: bool = False
    if_not_found: "Request | None" = None
    may_redirect: bool = False
    is_for_file: bool = False

    @classmethod
    def making(
        cls, path: str, body: Mapping[str, Any], idempotency_key: str | None, **query: str
    ) -> "Request":
        """Return a POST that makes something, once: it may be repeated under its key."""
        headers = {"Idempotency-Key": idempotency_key or uuid.uuid4().hex}
        return cls("POST", path, body, headers=headers, query=query, repeatable=True)

    def waiting(self, wait_s: float) -> "Request":
        """Return this request with a wait of at most MAX_WAIT_S."""
        return replace(self, wait_s=min(wait_s, MAX_WAIT_S))

    @property
    def most_bytes(self) -> int:
        """The limit of the answer's body, decoded or not."""
        return MAX_FILE_BYTES if self.is_for_file else MAX_JSON_BYTES

    @property
    def most_s(self) -> float:
        """The time that the body may take, once it has begun."""
        return MAX_FILE_S if self.is_for_file else MAX_JSON_S

    @property
    def params(self) -> dict[str, str | Sequence[str]]:
        """The query of the URL."""
        in_url = self.wait_s > 0 and not self.waits_in_body
        return dict(self.query) | ({"wait": f"{self.wait_s:.3f}"} if in_url else {})

    @property
    def json(self) -> Mapping[str, Any] | None:
        """The JSON to send."""
        if self.body is None or not self.waits_in_body:
            return self.body
        return {**self.body, "wait_s": round(self.wait_s, 3)}

    def arguments(self, timeout_s: float) -> dict[str, Any]:
        """Return the arguments of httpx's `request()`; reading may take `wait_s` longer."""
        content = {"json": self.json} if self.content is None else {"content": self.content}
        return {
            "method": self.method,
            "url": self.path,
            "params": self.params,
            "headers": dict(self.headers) | ({"Prefer": "redirect"} if self.may_redirect else {}),
            "timeout": httpx.Timeout(timeout_s, read=timeout_s + self.wait_s),
            **content,
        }


def key_of_round(idempotency_key: str | None, asked: int) -> str | None:
    """Return the key of a request that is posted again with more modules: another body needs one.

    `asked` is how often it was.
    """
    return f"{idempotency_key}+{asked}" if idempotency_key and asked else idempotency_key


def environment_key(environment: Mapping[str, str]) -> str:
    """Return the API key of the environment, from TRITOND_API_KEY or the file that it names.

    Raises OSError with the variable's name if the file cannot be read.
    """
    key = environment.get(KEY_VARIABLE, "")
    variable = next((name for name in KEY_FILE_VARIABLES if environment.get(name)), None)
    if key or variable is None:
        return key
    try:
        with Path(environment[variable]).open(encoding="ascii") as file:
            return file.read(MAX_KEY_CHARS).strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "this is not a key"
        raise OSError(f"{variable}: {environment[variable]}: {reason}") from error


def pool_arguments(url: str | None, api_key: str | None, timeout_s: float) -> dict[str, Any]:
    """Return the arguments of httpx's clients, with environment variables instead of None.

    Raises httpx.InvalidURL for a URL without a scheme, which httpx would not refuse before a use,
    and TritoncError for a key that no header can have.
    """
    url = url or os.environ.get(URL_VARIABLE) or DEFAULT_URL
    if not url.lower().startswith(("http://", "https://")):
        raise httpx.InvalidURL(f"{url}: the URL of a service begins with http:// or https://")
    api_key = environment_key(os.environ) if api_key is None else api_key
    headers = {"User-Agent": f"tritonc/{__version__}"} | STORAGE_HEADERS
    if api_key and not (api_key.isascii() and api_key.isprintable()):
        # an error of the header itself would show the key
        raise TritoncError(
            f"the API key has a line break or a letter outside of ASCII; set {KEY_VARIABLE} again"
        )
    if api_key:
        headers["Authorization"] = f"Bearer {api_key}"
    return {"base_url": url, "headers": headers, "timeout": timeout_s}


def stream_arguments(path: str, headers: Mapping[str, str], timeout_s: float) -> dict[str, Any]:
    """Return the arguments of httpx's `stream()`."""
    timeout = httpx.Timeout(timeout_s, read=max(timeout_s, SILENCE_S))
    # what is not encoded cannot be a bomb: its text is read as it arrives
    asked = {"Accept-Encoding": "identity"} | dict(headers)
    return {"method": "GET", "url": path, "headers": asked, "timeout": timeout}


def plain(answer: httpx.Response) -> httpx.Response:
    """Return an answer that is not encoded. Raises UnexpectedAnswer for any other."""
    encoding = answer.headers.get("content-encoding", "identity")
    if encoding != "identity":
        raise UnexpectedAnswer(f"{_url(answer)} sends events in {encoding[:20]!r} unasked")
    return answer


def check(answer: httpx.Response) -> httpx.Response:
    """Return `answer` if its status is a success.

    Otherwise raises ServerUnavailable, ProblemError or UnexpectedAnswer with the given reason.
    """
    if answer.is_success:
        return answer
    problem, after_s = _problem(answer), retry_after_s(answer)
    has_body = answer.request.method != "HEAD"
    if answer.status_code == httpx.codes.NOT_FOUND and has_body and _is_elsewhere(problem):
        raise UnexpectedAnswer(
            f"{_url(answer)} answered 404 Not Found; is the URL right? Set it by {URL_VARIABLE} or "
            "--url"
        )
    if answer.status_code in UNAVAILABLE:
        raise ServerUnavailable(f"{_url(answer)}: {problem}", problem, after_s)
    if answer.is_error:
        raise ProblemError(problem, answer.status_code, after_s)
    raise UnexpectedAnswer(f"{_url(answer)} answered {answer.status_code}; is the URL right?")


def is_redirected(request: Request, answer: httpx.Response) -> bool:
    """Return True if the answer has the place of the bytes in the object storage."""
    redirects = answer.status_code == TEMPORARY_REDIRECT and DIGEST in answer.headers
    return request.may_redirect and redirects


def matches_redirect(fetched: httpx.Response, redirect: httpx.Response) -> bool:
    """Return True if the object storage answered the bytes that the service named."""
    digest = f"sha256:{hashlib.sha256(fetched.content).hexdigest()}"
    return fetched.is_success and digest == redirect.headers[DIGEST]


def read(reader: Callable[[Any], Result], answer: httpx.Response) -> Result:
    """Return the answer's JSON, parsed by `reader`. Raises UnexpectedAnswer if that fails."""
    try:
        return reader(answer.json())
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        kind = answer.headers.get("content-type", "no content type")
        raise UnexpectedAnswer(
            f"{_url(answer)} did not answer like tritond ({kind}); is the URL right?"
        ) from error


def unreachable_error(error: httpx.RequestError, url: httpx.URL) -> ServerUnavailable:
    """Return the error for a request without any answer."""
    reason = str(error) or type(error).__name__
    return ServerUnavailable(
        f"no answer from {url}: {reason}; is the service up? Set its URL by TRITOND_URL or --url"
    )


def is_connection_refused(error: ServerUnavailable, url: httpx.URL) -> bool:
    """Return True if this machine itself refused the connection, so no network can be at fault.

    Repeating helps only if a service is being started.
    """
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ConnectionRefusedError):
        cause = cause.__cause__ or cause.__context__
    return cause is not None and is_loopback(url.host)


def is_loopback(host: str) -> bool:
    """Return True if a name is loopback, without a DNS request."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def retry_after_s(answer: httpx.Response) -> float | None:
    """Return the seconds of `Retry-After`; None if it is missing or a date."""
    text = answer.headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdigit() else None


def retry_pause_s(losses: int, error: ServerUnavailable, left_s: float) -> float:
    """Return the pause after this number of losses in a row, longer if the service asks for it.

    RETRY_PAUSES_S come first. Then a service that is lost is asked until the wait of the call is
    over, in `left_s`. Raises `error` to give up, as for a service that asks for more than
    MAX_PAUSE_S.
    """
    wanted_s = error.retry_after_s or 0
    is_lost = error.problem is None or error.problem.slug == STOPPING
    if losses < len(RETRY_PAUSES_S):
        pause_s = RETRY_PAUSES_S[losses]
    elif is_lost and left_s > 0:
        pause_s = min(RETRY_PAUSES_S[-1], left_s)
    else:
        raise error
    if wanted_s > MAX_PAUSE_S:
        raise error
    return max(pause_s, wanted_s)


def refused_pause_s(error: ProblemError, left_s: float) -> float:
    """Return the pause before a refused request is repeated: the service did nothing for a 429.

    Raises `error` for another status, and if the service asks for more than `left_s`.
    """
    wanted_s = error.retry_after_s
    if error.status != TOO_MANY_REQUESTS or wanted_s is None or wanted_s > left_s:
        raise error
    return wanted_s


def is_accepted(answer: httpx.Response) -> bool:
    """Return True if the answer is 202: the work is unfinished."""
    return answer.status_code == httpx.codes.ACCEPTED


def _url(answer: httpx.Response) -> httpx.URL:
    return answer.url.copy_with(query=None)


def _is_elsewhere(problem: Problem) -> bool:
    """Return whether another server did not find a path, or a tritond at a path it does not have.

    A proxy may remove the start of a path, so `instance` is compared: the path that arrived.
    """
    path = str(problem.raw.get("instance", "/v1/"))
    return not problem.slug or (problem.slug == "not_found" and not path.startswith("/v1/"))


def _problem(answer: httpx.Response) -> Problem:
    try:
        return Problem.from_json(answer.json())
    except (ValueError, TypeError, AttributeError, RecursionError):
        # a proxy wrote it, so only its status line is meaningful
        title = f"{answer.status_code} {answer.reason_phrase}"
        return Problem.from_json({"title": title, "status": answer.status_code})

"""The blocking client. What it asks and in which order is said in `conversation`."""

import time
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

import httpx

from tritonc import connection, conversation
from tritonc.answer import accepted, not_reached
from tritonc.compilation import Compilation
from tritonc.request import FurtherMembers, compile_body

Result = TypeVar("Result")


class Client:
    """A connection pool to one tritond service; use it as a context manager, or `close()` it.

    `timeout_s` bounds connecting and each silence of the service, beyond the time it was asked to
    wait. `transport` is httpx's: for proxies, certificates, retries or tests. Every method raises
    `ServerUnavailable`, `ProblemError` or `UnexpectedAnswer` when the service does not serve it.
    """

    def __init__(
        self,
        url: str = connection.DEFAULT_URL,
        *,
        api_key: str | None = None,
        timeout_s: float = 10,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._timeout_s = timeout_s
        settings = connection.settings(url, api_key, timeout_s)
        self._http = httpx.Client(**settings, transport=transport)

    def compile(
        self,
        source: str,
        *,
        target: str,
        signature: Mapping[str, Any] | str | None = None,
        constexprs: Mapping[str, Any] | None = None,
        hints: Mapping[str, Iterable[str]] | None = None,
        kernel: str | None = None,
        options: Mapping[str, Any] | None = None,
        include: Iterable[str] = (),
        stop_after: str | None = None,
        wait_s: float = 60,
        check: bool = True,
        **further: Unpack[FurtherMembers],
    ) -> Compilation:
        """Compile a kernel, or fetch what was compiled before; return when it is finished.

        `signature` has Triton's type names by parameter (`"*fp32:16"` is a pointer divisible by
        16), `hints` are the long form of such suffixes, `constexprs` the compile-time values, and
        `include` the stages whose artifacts shall come with the answer; `FurtherMembers` lists the
        rest. `wait_s` bounds this call: compiling goes on when it is over.

        Raises CompileFailed if the kernel does not compile and WaitExpired if it takes longer than
        `wait_s`. With `check=False` the compilation is returned in whatever state it then is:
        `wait_s=0, check=False` only submits. Raises TypeError for values JSON cannot say.
        """
        body = compile_body(
            source,
            target=target,
            signature=signature,
            constexprs=constexprs,
            hints=hints,
            kernel=kernel,
            options=options,
            include=include,
            stop_after=stop_after,
            **further,
        )
        return self._hold(conversation.compile_and_wait(body, wait_s, check))

    def get(self, key: str, *, include: Iterable[str] = (), wait_s: float = 0) -> Compilation:
        """Return a compilation in its present state, or once it is finished within `wait_s`."""
        return self._hold(conversation.get(key, include, wait_s))

    def artifact(self, key: str, stage: str, *, wait_s: float = 60) -> bytes:
        """Return the bytes of one stage; wait for those that are made on demand, such as `sass`.

        Raises WaitExpired when they are not made within `wait_s`, and ProblemError with the slug
        `stage_not_reached` for a compilation that stopped before, `not_finished` for one under way.
        """
        return self._hold(conversation.artifact(key, stage, wait_s))

    def cancel(self, key: str) -> Compilation:
        """Withdraw this caller's interest; work that interests nobody else is stopped."""
        return self._hold(conversation.cancel(key))

    def targets(self) -> dict[str, Any]:
        """Return what can be compiled for: targets and options of each toolchain."""
        return self._hold(conversation.look("/v1/targets"))

    def system(self) -> dict[str, Any]:
        """Return the state of the deployment: version, store, queues, workers, sandbox."""
        return self._hold(conversation.look("/v1/system"))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _hold(self, talk: conversation.Conversation[Result]) -> Result:
        try:
            question = next(talk)
            while True:
                time.sleep(question.pause_s)
                question = talk.send(self._ask(question))
        except StopIteration as end:
            result: Result = end.value
            return result

    def _ask(self, question: conversation.Question) -> httpx.Response:
        try:
            answer = self._http.request(**connection.arguments(question, self._timeout_s))
        except httpx.RequestError as error:
            raise not_reached(error, self._http.base_url) from error
        return accepted(answer)

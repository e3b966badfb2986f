"""The blocking client. What it asks and in which order is said in the conversations."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, Unpack

import httpx

from tritonc import compiling, launching
from tritonc.batches import Batches
from tritonc.compilation import Compilation
from tritonc.connection import DEFAULT_URL, Connection
from tritonc.conversation import look
from tritonc.event import Event
from tritonc.launch import Launch
from tritonc.launch_request import LaunchMembers, Source, launch_request
from tritonc.launches import Launches
from tritonc.request import FurtherMembers, compile_request, ir_request
from tritonc.tensors import Tensors


class Client:
    """A connection pool to one tritond service; use it as a context manager, or `close()` it.

    `timeout_s` bounds connecting and each silence of the service, beyond the time it was asked to
    wait. `transport` is httpx's: for proxies, certificates, retries or tests. Every method raises
    `ServerUnavailable`, `ProblemError` or `UnexpectedAnswer` when the service does not serve it.

    `launches`, `batches` and `tensors` hold what can be done with those that are there.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        *,
        api_key: str | None = None,
        timeout_s: float = 10,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._connection = Connection(url, api_key, timeout_s, transport)
        self.launches = Launches(self._connection)
        self.batches = Batches(self._connection)
        self.tensors = Tensors(self._connection)

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
        body = compile_request(
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
        return self._connection.hold(compiling.compile_and_wait(body, wait_s, check))

    def compile_ir(
        self,
        text: str,
        *,
        target: str,
        language: str = "ttir",
        canonicalize: bool = False,
        options: Mapping[str, Any] | None = None,
        include: Iterable[str] = (),
        stop_after: str | None = None,
        wait_s: float = 60,
        check: bool = True,
    ) -> Compilation:
        """Compile TTIR or TTGIR text, as `compile` does Python.

        `canonicalize` runs the first passes too: for what a front end wrote and no pass has seen.
        """
        body = ir_request(
            text,
            language=language,
            canonicalize=canonicalize,
            target=target,
            options=options,
            include=include,
            stop_after=stop_after,
        )
        return self._connection.hold(compiling.compile_and_wait(body, wait_s, check))

    def launch(
        self,
        source: Source,
        *,
        arguments: Mapping[str, Any] | Sequence[Any],
        grid: Sequence[int | str],
        wait_s: float = 60,
        check: bool = True,
        idempotency_key: str | None = None,
        **members: Unpack[LaunchMembers],
    ) -> Launch:
        """Run a kernel and return what was found out about it, when it is over.

        `source` is the text of one, or a `Compilation`. `arguments` are numbers, buffers that
        `tritonc.buffers` describes, and arrays, which are uploaded; in `grid` stand numbers and
        expressions such as `"cdiv(n_elements, BLOCK_SIZE)"`. `LaunchMembers` lists the rest.
        A request that gets no answer is repeated under one idempotency key: it runs once.

        A kernel that is wrong has a `verdict` that says so. Raises LaunchFailed when there is no
        verdict, as for a kernel that does not compile, and WaitExpired if it takes longer than
        `wait_s`; with `check=False` the launch is returned in whatever state it then is.
        """
        request = launch_request(source, arguments=arguments, grid=grid, **members)
        talk = launching.launch_and_wait(request, wait_s, check, idempotency_key)
        return self._connection.hold(talk)

    def get(self, key: str, *, include: Iterable[str] = (), wait_s: float = 0) -> Compilation:
        """Return a compilation in its present state, or once it is finished within `wait_s`."""
        return self._connection.hold(compiling.get(key, include, wait_s))

    def artifact(self, key: str, stage: str, *, wait_s: float = 60) -> bytes:
        """Return the bytes of one stage; wait for those that are made on demand, such as `sass`.

        Raises WaitExpired when they are not made within `wait_s`, and ProblemError with the slug
        `stage_not_reached` for a compilation that stopped before, `not_finished` for one under way.
        """
        return self._connection.hold(compiling.artifact(key, stage, wait_s))

    def sass(self, key: str, *, wait_s: float = 60) -> str:
        """Return the machine code disassembled, with the source lines that it stems from."""
        return self._connection.hold(compiling.sass(key, wait_s))

    def lines(self, key: str, *, wait_s: float = 60) -> dict[str, Any]:
        """Return, for each line of the source, the lines of every stage that stem from it."""
        return self._connection.hold(compiling.document(key, "lines", wait_s))

    def passes(self, key: str, *, wait_s: float = 60) -> dict[str, Any]:
        """Return the compiler's passes, with the module before and after those that changed it."""
        return self._connection.hold(compiling.document(key, "passes", wait_s))

    def export(self, key: str, kind: str, *, wait_s: float = 60) -> bytes:
        """Return the kernel to take away: `c`, `cuda-inline`, `rust`, `python`, `triton-cache`."""
        return self._connection.hold(compiling.export(key, kind, wait_s))

    def request(self, key: str) -> dict[str, Any]:
        """Return what was posted for a compilation, with options resolved."""
        return self._connection.hold(compiling.document(key, "request", 0))

    def events(self, key: str, *, after: str | None = None) -> Iterator[Event]:
        """Yield what happens to a compilation until it is finished, as `launches.events` does."""
        return self._connection.follow(compiling.path_of(key) + "/events", after)

    def cancel(self, key: str) -> Compilation:
        """Withdraw this caller's interest; work that interests nobody else is stopped."""
        return self._connection.hold(compiling.cancel(key))

    def inspect(
        self, source: str, *, files: Mapping[str, str] | None = None, wait_s: float = 60
    ) -> dict[str, Any]:
        """Return the kernels of a source: parameters, configurations, what they call.

        Nothing is executed. A source that cannot be read has a `problem` and no kernels.
        """
        return self._connection.hold(compiling.inspect(source, files, wait_s))

    def targets(self) -> dict[str, Any]:
        """Return what can be compiled for: targets and options of each toolchain."""
        return self._connection.hold(look("/v1/targets"))

    def devices(self) -> dict[str, Any]:
        """Return the GPUs that kernels can be launched on now."""
        return self._connection.hold(look("/v1/devices"))

    def system(self) -> dict[str, Any]:
        """Return the state of the deployment: version, store, queues, workers, sandbox."""
        return self._connection.hold(look("/v1/system"))

    def close(self) -> None:
        """Close the connections."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

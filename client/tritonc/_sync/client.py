# Generated from tritonc/_async/client.py by `make client`; change that file instead.
"""The client: its methods, and how compilations are posted and polled."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self, Unpack
from urllib.parse import quote

import httpx

from tritonc._sync.batches import Batches
from tritonc._sync.compilations import (
    Side,
    compared,
    compilation_path,
    compile_and_wait,
    derived,
    get_compilation,
    inspected,
)
from tritonc._sync.http_connection import Connection
from tritonc._sync.launches import Launches, launch_and_wait
from tritonc._sync.programs import Programs, program_and_wait
from tritonc._sync.sweeps import Sweeps, sweep_and_wait
from tritonc._sync.tensors import Tensors
from tritonc.compilation import Compilation
from tritonc.compile_body import FurtherMembers, compile_request, ir_request, string_list
from tritonc.diff import Diff
from tritonc.event import Event
from tritonc.exchange import Request, read
from tritonc.launch import Launch
from tritonc.launch_body import Grid, LaunchMembers, LaunchRequest, Source, launch_request
from tritonc.programs.program import Program
from tritonc.programs.program_body import ProgramMembers, ProgramText, program_request
from tritonc.sweeps.sweep import Sweep
from tritonc.sweeps.sweep_body import Space, sweep_request


class Client:
    """A connection pool to one tritond service; use it with `with`, or `close()` it.

    Without `url` it is at TRITOND_URL, or else on this machine's port 8000; without `api_key` the
    key is that in TRITOND_API_KEY, and `api_key=""` sends none, whatever the environment says.
    `timeout_s` bounds connecting and each silence of the service, beyond the time it was asked to
    wait. `transport` is httpx's: for proxies, certificates, retries or tests. Every method raises
    `ServerUnavailable`, `ProblemError` or `UnexpectedAnswer` when the service does not serve it.
    `launches`, `programs`, `batches`, `sweeps` and `tensors` have the methods for these.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        api_key: str | None = None,
        timeout_s: float = 10,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._connection = Connection(url, api_key, timeout_s, transport)
        self.launches = Launches(self._connection)
        self.batches = Batches(self._connection)
        self.programs = Programs(self._connection)
        self.sweeps = Sweeps(self._connection)
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

        Raises CompileFailed, WaitExpired, and TypeError for values without a JSON form. With
        `check=False` the compilation is returned as it is; `wait_s=0, check=False` only submits.
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
        return compile_and_wait(self._connection, body, wait_s, check)

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
        **further: Unpack[FurtherMembers],
    ) -> Compilation:
        """Compile TTIR or TTGIR as `compile` does Python; `canonicalize` runs first passes, too."""
        body = ir_request(
            text,
            language=language,
            canonicalize=canonicalize,
            target=target,
            options=options,
            include=include,
            stop_after=stop_after,
            **further,
        )
        return compile_and_wait(self._connection, body, wait_s, check)

    def launch(
        self,
        source: Source,
        *,
        arguments: Mapping[str, Any] | Sequence[Any],
        grid: Grid,
        wait_s: float = 60,
        check: bool = True,
        idempotency_key: str | None = None,
        **members: Unpack[LaunchMembers],
    ) -> Launch:
        """Run a kernel and return what was found out about it, when it is over.

        `source` is the text of one, a `Compilation`, or a function under `@triton.jit`. `arguments`
        are numbers, buffers that `tritonc.buffers` describes, and arrays or tensors, which are
        uploaded; in `grid` stand numbers and expressions such as `"cdiv(n_elements, BLOCK_SIZE)"`,
        and for a jit function it may be a function, as in Triton. `LaunchMembers` lists the rest.
        A request that gets no answer is repeated under one idempotency key: it runs once.

        A kernel that is wrong has a `verdict` that says so. Raises LaunchFailed when there is no
        verdict, as for one that does not compile, and WaitExpired; not with `check=False`.
        """
        request = launch_request(source, arguments=arguments, grid=grid, **members)
        return launch_and_wait(self._connection, request, wait_s, check, idempotency_key)

    def program(
        self,
        source: ProgramText,
        *,
        reference: ProgramText | None = None,
        wait_s: float = 120,
        check: bool = True,
        idempotency_key: str | None = None,
        **members: Unpack[ProgramMembers],
    ) -> Program:
        """Run a program that launches kernels, beside its `reference`, and return what came of it.

        One that is wrong has a `verdict` that says so. Raises ProgramFailed when there is none, as
        for one that cannot be recorded, and WaitExpired; not with `check=False`.
        """
        request = program_request(source, reference=reference, **members)
        return program_and_wait(self._connection, request, wait_s, check, idempotency_key)

    def sweep(
        self,
        base: Mapping[str, Any] | LaunchRequest,
        space: Space,
        *,
        where: Iterable[str] = (),
        search: Mapping[str, Any] | None = None,
        budget_s: float | None = None,
        include: Iterable[str] = (),
        sort: str = "",
        wait_s: float = 600,
        check: bool = True,
    ) -> Sweep:
        """Ask the same kernel many ways; return a table with a row for each variant.

        `base` is what `compile_request` or `launch_request` wrote. `space` has the values of axes,
        all combined: `{"constexprs.BLOCK_SIZE": [64, 128], "target": ["cuda:90"]}`, a list of what
        single variants change, or `{"autotune": True}`. Variants stay for which all of `where` is
        true (`"BLOCK_SIZE >= num_warps"`). `search` says how to look for the fastest on a GPU,
        `budget_s` how long; rows come in the order of `sort`, as in `sweeps.get`.

        A variant that fails is a row. Raises WaitExpired if rows are left; `check=False` returns
        the sweep as it then is. It is posted once: ServerUnavailable may be raised of one taken.
        """
        request = sweep_request(
            base, space, where=where, search=search, budget_s=budget_s, include=include
        )
        return sweep_and_wait(self._connection, request, sort, wait_s, check)

    def get(self, key: str, *, include: Iterable[str] = (), wait_s: float = 0) -> Compilation:
        """Return a compilation in its present state, or once it is finished within `wait_s`."""
        return get_compilation(self._connection, key, tuple(string_list(include)), wait_s)

    def artifact(self, key: str, stage: str, *, wait_s: float = 60) -> bytes:
        """Return the bytes of one stage; wait for those that are made on demand, such as `sass`.

        Raises WaitExpired, and ProblemError with the slug `stage_not_reached` or `not_finished`.
        """
        path = f"artifacts/{quote(stage, safe='')}"
        return (derived(self._connection, key, path, wait_s)).content

    def sass(self, key: str, *, wait_s: float = 60) -> str:
        """Return the machine code disassembled, with the source lines that it stems from."""
        return (derived(self._connection, key, "artifacts/sass", wait_s)).text

    def numpy(self, key: str, *, wait_s: float = 60) -> str:
        """Return the kernel as a Python module that runs with NumPy alone."""
        return (derived(self._connection, key, "artifacts/numpy", wait_s)).text

    def lines(self, key: str, *, wait_s: float = 60) -> dict[str, Any]:
        """Return, for each line of the source, the lines of every stage that stem from it."""
        return read(dict[str, Any], derived(self._connection, key, "lines", wait_s))

    def instructions(self, key: str, *, wait_s: float = 60) -> dict[str, Any]:
        """Return how many machine instructions there are, by class, by opcode, and by line."""
        return read(dict[str, Any], derived(self._connection, key, "instructions", wait_s))

    def diff(self, a: Side, b: Side, *, stages: Iterable[str] = (), wait_s: float = 60) -> Diff:
        """Return what came of `b` differently than of `a`, in the texts of `stages` or of all."""
        return compared(self._connection, a, b, string_list(stages), wait_s)

    def passes(self, key: str, *, wait_s: float = 60) -> dict[str, Any]:
        """Return the compiler's passes, with the module before and after those that changed it."""
        return read(dict[str, Any], derived(self._connection, key, "passes", wait_s))

    def export(self, key: str, kind: str, *, wait_s: float = 60) -> bytes:
        """Return the kernel to take away: `c`, `cuda-inline`, `rust`, `python`, `triton-cache`."""
        path = f"exports/{quote(kind, safe='')}"
        return (derived(self._connection, key, path, wait_s)).content

    def request(self, key: str) -> dict[str, Any]:
        """Return what was posted for a compilation, with options resolved."""
        return read(dict[str, Any], derived(self._connection, key, "request", 0))

    def events(self, key: str, *, after: str | None = None) -> Iterator[Event]:
        """Yield what happens to a compilation until it is finished, as `launches.events` does."""
        return self._connection.events(f"{compilation_path(key)}/events", after)

    def cancel(self, key: str) -> Compilation:
        """Withdraw this caller's interest; work that interests nobody else is stopped."""
        request = Request("DELETE", compilation_path(key), repeatable=True)
        return read(Compilation.from_json, self._connection.send(request))

    def inspect(
        self,
        source: str,
        *,
        files: Mapping[str, str] | None = None,
        kernel: str | None = None,
        target: str | None = None,
        triton: str | None = None,
        wait_s: float = 60,
    ) -> dict[str, Any]:
        """Return the kernels of a source: parameters, configurations, what they call.

        Only with a `target` it is executed, for what the autotuner of `kernel` tries (`autotune`).
        A source that cannot be read has a `problem` and no kernels.
        """
        asked = {"files": files or None, "kernel": kernel, "target": target, "triton": triton}
        return inspected(self._connection, source, asked, wait_s)

    def targets(self) -> dict[str, Any]:
        """Return what can be compiled for: targets and options of each toolchain."""
        return self._document("/v1/targets")

    def devices(self) -> dict[str, Any]:
        """Return the GPUs that kernels can be launched on now."""
        return self._document("/v1/devices")

    def system(self) -> dict[str, Any]:
        """Return the state of the deployment: version, store, queues, workers, sandbox."""
        return self._document("/v1/system")

    def close(self) -> None:
        """Close the connections."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _document(self, path: str) -> dict[str, Any]:
        return read(dict[str, Any], self._connection.send(Request("GET", path)))

"""The client, for asyncio: all its methods."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any, Self, Unpack, overload
from urllib.parse import quote

import httpx

from tritonc._async.batches import AsyncBatches
from tritonc._async.compilations import (
    Side,
    compared,
    compilation_path,
    compile_and_wait,
    derived,
    get_compilation,
    inspected,
)
from tritonc._async.http_connection import AsyncConnection
from tritonc._async.launches import AsyncLaunches, launch_and_wait
from tritonc._async.programs import AsyncPrograms, program_and_wait
from tritonc._async.proofs import AsyncProofs, prove_and_wait
from tritonc._async.sweeps import AsyncSweeps, sweep_and_wait
from tritonc._async.tensors import AsyncTensors
from tritonc.compilation import Compilation
from tritonc.compile_body import FurtherMembers, compile_request, ir_request, string_list
from tritonc.diff import Diff
from tritonc.event import Event
from tritonc.exchange import Request, read
from tritonc.launch import Launch
from tritonc.launch_body import Grid, LaunchMembers, LaunchRequest, Source, launch_request
from tritonc.own_list import OwnList, list_request
from tritonc.packages.package import Package
from tritonc.programs.program import Program
from tritonc.programs.program_body import (
    ProgramMembers,
    ProgramRequest,
    ProgramText,
    program_request,
)
from tritonc.proof import Proof, prove_request
from tritonc.service_errors import ServerUnavailable
from tritonc.sweeps.sweep import Sweep
from tritonc.sweeps.sweep_body import Space, SweepRequest, sweep_request


class AsyncClient:
    """A connection pool to one tritond service; use it with `async with`, or `aclose()` it.

    `url` defaults to TRITOND_URL, then to port 8000 of this machine, `api_key` to TRITOND_API_KEY;
    `""` sends none. `timeout_s` bounds connecting and each silence of the service, in addition to
    the requested wait. `transport` is httpx's. `on_loss` is called with the error of a request that
    is about to be repeated, for the first time. Every method raises `ServerUnavailable`,
    `ProblemError` or `UnexpectedAnswer`. `launches`, `programs`, `proofs`, `batches`, `sweeps` and
    `tensors` have further methods.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        api_key: str | None = None,
        timeout_s: float = 10,
        transport: httpx.AsyncBaseTransport | None = None,
        on_loss: Callable[[ServerUnavailable], object] | None = None,
    ) -> None:
        self._connection = AsyncConnection(url, api_key, timeout_s, transport, on_loss)
        self.launches = AsyncLaunches(self._connection)
        self.batches = AsyncBatches(self._connection)
        self.programs = AsyncPrograms(self._connection)
        self.proofs = AsyncProofs(self._connection)
        self.sweeps = AsyncSweeps(self._connection)
        self.tensors = AsyncTensors(self._connection)

    async def compile(
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
        package: Package | None = None,
        **further: Unpack[FurtherMembers],
    ) -> Compilation:
        """Compile a kernel, or fetch an equal earlier compilation, and return the finished result.

        `signature` has Triton's type names by parameter (`"*fp32:16"` is a pointer divisible by
        16), `hints` the long form of such suffixes, and `include` the stages whose artifacts the
        answer should contain; `FurtherMembers` lists the rest. Raises CompileFailed, WaitExpired,
        and TypeError for values that JSON cannot represent. With `check=False` an unfinished one is
        returned; `submit` does not wait. A `package`, as from `Package.of_file`, sends the modules
        of the source's own package that the service asks for.
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
        return await compile_and_wait(self._connection, body, wait_s, check, package)

    async def compile_ir(
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
        """Compile TTIR or TTGIR like `compile`; `canonicalize` first runs Triton's early passes."""
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
        return await compile_and_wait(self._connection, body, wait_s, check)

    async def launch(
        self,
        source: Source,
        *,
        arguments: Mapping[str, Any] | Sequence[Any],
        grid: Grid,
        wait_s: float = 60,
        check: bool = True,
        idempotency_key: str | None = None,
        package: Package | None = None,
        **members: Unpack[LaunchMembers],
    ) -> Launch:
        """Run a kernel, wait for the launch to end, and return its findings.

        `source` is a source text, a `Compilation`, or a function under `@triton.jit`. `arguments`
        are numbers, buffers from `tritonc.buffers`, and arrays or tensors, which are uploaded.
        `grid` has numbers and expressions such as `"cdiv(n_elements, BLOCK_SIZE)"`; for a jit
        function it may be a function, as in Triton. `LaunchMembers` lists the rest.

        A wrong kernel gets a `verdict`. Raises LaunchFailed if there is none, as where the kernel
        does not compile, and WaitExpired; neither with `check=False`. A `package` is that of a
        source text, as for `compile`; a jit function has its own.
        """
        request = launch_request(source, arguments=arguments, grid=grid, package=package, **members)
        return await launch_and_wait(self._connection, request, wait_s, check, idempotency_key)

    async def program(
        self,
        source: ProgramText,
        *,
        reference: ProgramText | None = None,
        wait_s: float = 120,
        check: bool = True,
        idempotency_key: str | None = None,
        **members: Unpack[ProgramMembers],
    ) -> Program:
        """Run a program that launches kernels and its `reference`, and return the result.

        Raises ProgramFailed without a `verdict`, and WaitExpired; neither with `check=False`.
        """
        request = program_request(source, reference=reference, **members)
        return await program_and_wait(self._connection, request, wait_s, check, idempotency_key)

    async def prove(
        self,
        kernel: Mapping[str, Any],
        *,
        contract: str | None = None,
        cases: Sequence[Mapping[str, Any]] = (),
        checks: Iterable[str] = (),
        limits: Mapping[str, int] | None = None,
        wait_s: float = 120,
        check: bool = True,
        idempotency_key: str | None = None,
        package: Package | None = None,
    ) -> Proof:
        """Prove for all sizes that a kernel's accesses are in bounds and its integers exact.

        `kernel` comes from `compile_request`, or is `{"compilation": key}`. Without a `contract` it
        is inferred from `cases`. Raises ProofFailed if nothing was found out, and WaitExpired;
        neither with `check=False`.
        """
        body = prove_request(kernel, contract, cases, checks, limits)
        return await prove_and_wait(self._connection, body, wait_s, check, idempotency_key, package)

    async def sweep(
        self,
        base: Mapping[str, Any] | LaunchRequest,
        space: Space,
        *,
        where: Iterable[str] = (),
        search: Mapping[str, Any] | None = None,
        budget_s: float | None = None,
        contract: str | None = None,
        include: Iterable[str] = (),
        sort: str = "",
        wait_s: float = 600,
        check: bool = True,
        idempotency_key: str | None = None,
        package: Package | None = None,
    ) -> Sweep:
        """Compile or run many variants of a kernel; return a table with a row for each.

        `base` comes from `compile_request` or `launch_request`. `space` has the values of axes,
        all combined: `{"constexprs.BLOCK_SIZE": [64, 128], "target": ["cuda:90"]}`, or a list of
        changes for single variants, or `{"autotune": True}`. Only variants for which all of `where`
        are true are kept (`"BLOCK_SIZE >= num_warps"`). With a `contract`, each row has the
        verdict of a proof. A failed variant is a row. Raises WaitExpired if rows are unfinished;
        with `check=False` the sweep is returned as it is.
        """
        request = sweep_request(
            base,
            space,
            where=where,
            search=search,
            budget_s=budget_s,
            contract=contract,
            include=include,
            package=package,
        )
        return await sweep_and_wait(self._connection, request, sort, wait_s, check, idempotency_key)

    @overload
    async def submit(
        self, request: LaunchRequest, *, idempotency_key: str | None = None
    ) -> Launch: ...
    @overload
    async def submit(
        self, request: ProgramRequest, *, idempotency_key: str | None = None
    ) -> Program: ...
    @overload
    async def submit(
        self, request: SweepRequest, *, idempotency_key: str | None = None
    ) -> Sweep: ...
    @overload
    async def submit(
        self, request: Mapping[str, Any], *, idempotency_key: str | None = None
    ) -> Compilation: ...
    async def submit(
        self,
        request: LaunchRequest | ProgramRequest | SweepRequest | Mapping[str, Any],
        *,
        idempotency_key: str | None = None,
    ) -> Launch | Program | Sweep | Compilation:
        """Post a request without waiting for its end, and return its current state.

        Ask again by its id, as with `launches.get(id, wait_s=60)`, or by its key with `get`.
        """
        connection, key = self._connection, idempotency_key
        match request:
            case LaunchRequest():
                return await launch_and_wait(connection, request, 0, False, key)
            case ProgramRequest():
                return await program_and_wait(connection, request, 0, False, key)
            case SweepRequest():
                return await sweep_and_wait(connection, request, "", 0, False, key)
            case _:
                return await compile_and_wait(connection, request, 0, False)

    async def list(
        self,
        kind: str,
        *,
        state: Iterable[str] = (),
        limit: int = 20,
        after: str | None = None,
        prefix: str = "",
    ) -> OwnList:
        """Return a page of the caller's own jobs of a kind, such as `launches`, newest first.

        `prefix` keeps those whose ids start with it. `after` is `next` of the page before.
        """
        request = list_request(kind, state, limit, after, prefix)
        return read(OwnList.from_json, await self._connection.send(request))

    async def get(self, key: str, *, include: Iterable[str] = (), wait_s: float = 0) -> Compilation:
        """Return the current state of a compilation, waiting up to `wait_s` for its end."""
        return await get_compilation(self._connection, key, tuple(string_list(include)), wait_s)

    async def artifact(self, key: str, stage: str, *, wait_s: float = 60) -> bytes:
        """Return one stage's bytes; wait for one made on demand (`sass`), or raise WaitExpired."""
        path = f"artifacts/{quote(stage, safe='')}"
        return (await derived(self._connection, key, path, wait_s)).content

    async def sass(self, key: str, *, wait_s: float = 60) -> str:
        """Return the disassembled machine code with its source lines."""
        return (await derived(self._connection, key, "artifacts/sass", wait_s)).text

    async def numpy(self, key: str, *, wait_s: float = 60) -> str:
        """Return the kernel as a Python module that only needs NumPy."""
        return (await derived(self._connection, key, "artifacts/numpy", wait_s)).text

    async def lines(self, key: str, *, wait_s: float = 60) -> dict[str, Any]:
        """Return, for each source line, its lines in every stage."""
        return read(dict[str, Any], await derived(self._connection, key, "lines", wait_s))

    async def instructions(self, key: str, *, wait_s: float = 60) -> dict[str, Any]:
        """Return the number of machine instructions by class, by opcode and by line."""
        return read(dict[str, Any], await derived(self._connection, key, "instructions", wait_s))

    async def explain(self, key: str, *, wait_s: float = 60) -> dict[str, Any]:
        """Return, by line, units that multiply matrices, narrow accesses, and conversions."""
        return read(dict[str, Any], await derived(self._connection, key, "explanation", wait_s))

    async def diff(
        self, a: Side, b: Side, *, stages: Iterable[str] = (), wait_s: float = 60
    ) -> Diff:
        """Return the differences from `a` to `b`, with the texts of `stages`, by default of all."""
        return await compared(self._connection, a, b, string_list(stages), wait_s)

    async def passes(self, key: str, *, wait_s: float = 60) -> dict[str, Any]:
        """Return the compiler's passes, with the module before and after each that changed it."""
        return read(dict[str, Any], await derived(self._connection, key, "passes", wait_s))

    async def layouts(self, key: str, *, wait_s: float = 60) -> dict[str, Any]:
        """Return, for each type of the TTGIR, which lane, register and warp holds its elements."""
        return read(dict[str, Any], await derived(self._connection, key, "layouts", wait_s))

    async def export(self, key: str, kind: str, *, wait_s: float = 60) -> bytes:
        """Return the kernel as `c`, `cuda-inline`, `rust`, `python` or `triton-cache`."""
        path = f"exports/{quote(kind, safe='')}"
        return (await derived(self._connection, key, path, wait_s)).content

    async def request(self, key: str) -> dict[str, Any]:
        """Return the request of a compilation, with resolved options."""
        return read(dict[str, Any], await derived(self._connection, key, "request", 0))

    async def why(self, key: str) -> dict[str, Any]:
        """Return what made a compilation a miss: `differs` from the `nearest` of your own."""
        return read(dict[str, Any], await derived(self._connection, key, "why", 0))

    def events(self, key: str, *, after: str | None = None) -> AsyncIterator[Event]:
        """Yield the events of a compilation until it is finished, as `launches.events` does."""
        return self._connection.events(f"{compilation_path(key)}/events", after)

    async def cancel(self, key: str) -> Compilation:
        """Withdraw this caller's interest; the service stops work without interested callers."""
        request = Request("DELETE", compilation_path(key), repeatable=True)
        return read(Compilation.from_json, await self._connection.send(request))

    async def inspect(
        self,
        source: str,
        *,
        files: Mapping[str, str] | None = None,
        kernel: str | None = None,
        target: str | None = None,
        triton: str | None = None,
        wait_s: float = 60,
        package: Package | None = None,
    ) -> dict[str, Any]:
        """Return the kernels of a source: parameters, configurations, called functions.

        The source is executed only with a `target`, to find what the autotuner of `kernel` tries. A
        `package` is as for `compile`.
        """
        asked = {"files": files or None, "kernel": kernel, "target": target, "triton": triton}
        return await inspected(self._connection, source, asked, wait_s, package)

    async def targets(self) -> dict[str, Any]:
        """Return the targets and options of each toolchain."""
        return await self._document("/v1/targets")

    async def devices(self) -> dict[str, Any]:
        """Return the devices that can run kernels now."""
        return await self._document("/v1/devices")

    async def language(self, triton: str | None = None) -> dict[str, Any]:
        """Return the names of `triton.language`, with signatures, of a Triton."""
        return await self._document("/v1/language", {} if triton is None else {"triton": triton})

    async def lessons(self) -> dict[str, Any]:
        """Return the lessons: texts, hints, and the requests that judge a kernel."""
        return await self._document("/v1/lessons")

    async def workers(self) -> dict[str, Any]:
        """Return the workers that are there now, and what each does."""
        return await self._document("/v1/workers")

    async def system(self) -> dict[str, Any]:
        """Return the state of the deployment: version, store, queues, workers, sandbox."""
        return await self._document("/v1/system")

    async def usage(self, caller: str | None = None) -> dict[str, Any]:
        """Return what this caller used, by day; an admin names another's id, or `*` for all."""
        return await self._document("/v1/usage", {} if caller is None else {"caller": caller})

    async def aclose(self) -> None:
        """Close the connections."""
        await self._connection.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.aclose()

    async def _document(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        request = Request("GET", path, query=query or {})
        return read(dict[str, Any], await self._connection.send(request))

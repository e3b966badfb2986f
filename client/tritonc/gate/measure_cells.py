"""Compiles and launches every cell in the service, in batches, and reads the results.

PTX and instructions cost more than records, so they are requested only if a budget needs them.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from time import monotonic, sleep
from typing import Any

from tritonc._sync.client import Client
from tritonc.batch import Batch, BatchItem
from tritonc.compilation import Compilation
from tritonc.exchange import RETRY_PAUSES_S
from tritonc.gate.cell_numbers import (
    CellNumbers,
    compilation_measured,
    launch_measured,
)
from tritonc.gate.cells import Cell, InspectedKernels, compile_body, launch_body
from tritonc.gate.gated_kernel import GatedKernel
from tritonc.gate.metric_budget import CLASSES, OPCODES, PROVED, PTX
from tritonc.gate.toml_reading import FileProblem
from tritonc.launch import Launch
from tritonc.launch_body import LaunchRequest
from tritonc.packages.package import Package
from tritonc.proof import Proof
from tritonc.service_errors import ProblemError, ServerUnavailable, UnexpectedAnswer, WaitExpired
from tritonc.signature_sources import chosen_kernel

MAX_BATCH = 400
MAX_BATCH_BYTES = 8 << 20  # half of the service's default limit
AT_ONCE = 8
OF_INSTRUCTIONS = frozenset({"instructions", "code_bytes", CLASSES, OPCODES})
SPILLED = frozenset({"spill_bytes", "spilled_registers", "stack_bytes"})
TOO_LARGE, WORKER_LOST = "too_large", "worker_lost"
INVALID = 422
UNAVAILABLE = frozenset({404, INVALID})  # no machine code, or no tool reads it

Say = Callable[[str], None]


class CellMeasuring:
    """One run against a service; `wait_s` bounds all of it, `say` shows progress.

    The methods raise WaitExpired, and the errors of the client.
    """

    def __init__(self, client: Client, wait_s: float, say: Say) -> None:
        self._client = client
        self._until = monotonic() + wait_s
        self._wait_s = wait_s
        self._say = say
        self.problems: list[FileProblem] = []

    def inspected(self, kernels: Iterable[GatedKernel]) -> InspectedKernels:
        """Return what `inspect` answers for the kernels without a signature."""
        inspected = {k.name: self._inspected(k) for k in kernels if "signature" not in k.members}
        return {name: kernel for name, kernel in inspected.items() if kernel is not None}

    def compilations(
        self, cells: Sequence[Cell], inspected: InspectedKernels
    ) -> dict[Cell, CellNumbers]:
        """Compile the cells, and count instructions if a budget needs them."""

        def compiled(some: Sequence[Cell]) -> dict[Cell, CellNumbers]:
            bodies = dict(self._bodies(some, lambda cell: compile_body(cell, inspected)))

            def post(chunk: list[Cell]) -> Batch:
                requests = [bodies[cell] for cell in chunk]
                return self._client.batches.compile(requests, wait_s=0, check=False)

            return self._all(bodies, post, self._compilation)

        measured = self._with_modules(cells, compiled)
        return self._with_proofs(self.with_instructions(measured))

    def launches(self, cells: Sequence[Cell]) -> dict[Cell, CellNumbers]:
        """Launch the cells."""

        def launched(some: Sequence[Cell]) -> dict[Cell, CellNumbers]:
            requests: dict[Cell, LaunchRequest] = dict(self._bodies(some, launch_body))

            def post(chunk: list[Cell]) -> Batch:
                posted = [requests[cell] for cell in chunk]
                return self._client.batches.launch(posted, wait_s=0, check=False)

            bodies = {cell: request.body for cell, request in requests.items()}
            return self._all(bodies, post, self._launch)

        return self._with_modules(cells, launched)

    def _with_modules(
        self,
        cells: Sequence[Cell],
        measure: Callable[[Sequence[Cell]], dict[Cell, CellNumbers]],
    ) -> dict[Cell, CellNumbers]:
        """Measure the cells; those that ask for modules of their packages again, with these."""
        measured = measure(cells)
        left = [*measured]
        while left:
            needs: dict[Package, list[str]] = {}
            for cell in left:
                if cell.kernel.package is not None:
                    needs.setdefault(cell.kernel.package, []).extend(measured[cell].needs)
            supplied = {package for package, names in needs.items() if package.supply(names)}
            left = [c for c in left if c.kernel.package in supplied and measured[c].needs]
            for kernel, package in {c.kernel: c.kernel.package for c in left}.items():
                for name, reason in package.unreadable.items() if package else ():
                    message = f"{name}: the module cannot be read: {reason}"
                    self._add_problem(FileProblem(f"{kernel.place}.source", message))
            measured |= measure(left) if left else {}
        return measured

    def with_instructions(self, measured: Mapping[Cell, CellNumbers]) -> dict[Cell, CellNumbers]:
        """Return the measurements, with instructions for cells whose budgets need them."""
        wanted = [cell for cell, numbers in measured.items() if _needs_instructions(cell, numbers)]
        keys = [str(measured[cell].key) for cell in wanted]
        counted = dict(measured)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            answers = zip(wanted, pool.map(self._instructions, keys), strict=True)
            for done, (cell, answer) in enumerate(answers, 1):
                self._say(f"instructions of {done} of {len(wanted)}")
                if answer is not None:
                    counted[cell] = _counted(cell, measured[cell], answer)
        return counted

    def _with_proofs(self, measured: Mapping[Cell, CellNumbers]) -> dict[Cell, CellNumbers]:
        """Return the measurements, with proofs of cells that have a budget of them."""
        wanted = [cell for cell, numbers in measured.items() if numbers.key and _is_proved(cell)]
        keys = [str(measured[cell].key) for cell in wanted]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            proofs = zip(wanted, pool.map(self._proof, wanted, keys), strict=True)
            proved = {cell: replace(measured[cell], proof=proof) for cell, proof in proofs}
        return {**measured, **proved}

    def _proof(self, cell: Cell, key: str) -> Proof:
        kernel = {"compilation": key, "priority": "batch"}
        wait_s = self._remaining_s()
        try:
            proof = self._client.prove(
                kernel, contract=cell.kernel.contract, wait_s=wait_s, check=False
            )
        except ProblemError as error:
            mistakes = [item.message for item in error.errors if item.pointer == "/contract"]
            if not mistakes:
                raise
            place = f"{cell.kernel.place}.contract"
            self._add_problem(FileProblem(place, "; ".join(mistakes)))
            return Proof("", "failed", problem=error.problem)
        if not proof.finished:
            self._client.proofs.cancel(proof.id)
            raise WaitExpired(proof.id, f"it is {proof.state}", self._wait_s)
        self._say(f"{cell.title}: {proof.verdict or proof.state}")
        return proof

    def _all(
        self,
        bodies: Mapping[Cell, Any],
        post: Callable[[list[Cell]], Batch],
        read: Callable[[Cell, BatchItem], CellNumbers],
    ) -> dict[Cell, CellNumbers]:
        """Post all in batches; items that are temporarily refused or lost are posted again."""
        measured: dict[Cell, CellNumbers] = {}
        left = list(bodies)
        for pause_s in (*RETRY_PAUSES_S, None):
            items: dict[Cell, BatchItem] = {}
            for chunk in _chunks(left, bodies):
                batch = self._finished(post(chunk))
                if len(batch.items) != len(chunk):
                    raise UnexpectedAnswer(f"{len(batch.items)} answers to {len(chunk)} requests")
                items |= zip(chunk, batch.items, strict=True)
                self._say(f"{len(measured) + len(items)} of {len(bodies)} done")
            left = [] if pause_s is None else [cell for cell in items if _is_passing(items[cell])]
            over = [cell for cell in items if cell not in left]
            measured |= {cell: _understood(cell, items[cell], read) for cell in over}
            if not left:
                break
            sleep(min(pause_s or 0, self._remaining_s()))
        return measured

    def _inspected(self, kernel: GatedKernel) -> Mapping[str, Any] | None:
        left_s, package = self._remaining_s(), kernel.package
        inspection = self._client.inspect(kernel.source, package=package, wait_s=left_s)
        name = kernel.members.get("kernel")
        try:
            return chosen_kernel(inspection, name)
        except (KeyError, TypeError, AttributeError) as error:
            message = f"the inspection of {kernel.name} is malformed: {error!r}"
            raise UnexpectedAnswer(message) from error

    def _bodies(
        self, cells: Sequence[Cell], body: Callable[[Cell], Any]
    ) -> Iterator[tuple[Cell, Any]]:
        """Yield the requests; note an error for values without a JSON form."""
        for cell in cells:
            place = f"{cell.kernel.place}.launch" if cell.is_launch else cell.kernel.place
            try:
                made = body(cell)
                json.dumps(made.body if isinstance(made, LaunchRequest) else made, allow_nan=False)
            except (TypeError, ValueError, AttributeError) as error:
                self._add_problem(FileProblem(place, f"this cannot be sent as JSON: {error}"))
            else:
                yield cell, made

    def _finished(self, batch: Batch) -> Batch:
        """Return the finished batch; cancel it if the wait ends early."""
        if batch.finished:
            return batch
        try:
            self._wait_for(batch)
        except (KeyboardInterrupt, WaitExpired):
            self._client.batches.cancel(batch.id)
            raise
        return self._client.batches.get(batch.id, wait_s=self._remaining_s())

    def _wait_for(self, batch: Batch) -> None:
        left = sum(not item.finished for item in batch.items)
        for event in self._client.batches.events(batch.id):
            left -= event.kind == "item"
            self._say(f"compiled or run {len(batch.items) - max(left, 0)} of {len(batch.items)}")
            if monotonic() > self._until:
                raise WaitExpired(batch.id, f"{left} are not finished", self._wait_s)

    def _compilation(self, cell: Cell, item: BatchItem) -> CellNumbers:
        if isinstance(item.result, Compilation):
            return compilation_measured(item.result)
        if item.problem is not None and item.problem.slug == TOO_LARGE and item.url:
            key = item.url.rpartition("/")[2]
            include = (PTX,) if PTX in cell.budgets else ()
            return compilation_measured(self._client.get(key, include=include))
        return self._refused(cell, item)

    def _launch(self, cell: Cell, item: BatchItem) -> CellNumbers:
        if isinstance(item.result, Launch):
            return launch_measured(item.result)
        if item.problem is not None and item.problem.slug == TOO_LARGE and item.url:
            return launch_measured(self._client.launches.get(item.url.rpartition("/")[2]))
        return self._refused(cell, item)

    def _refused(self, cell: Cell, item: BatchItem) -> CellNumbers:
        """Note the errors of a request as errors of the gate file.

        Raises ServerUnavailable if the request is not at fault.
        """
        problem = item.problem
        if item.status != INVALID or problem is None:
            message = f"the service refused {cell.title}: {problem or item.state}"
            raise ServerUnavailable(message, problem)
        for error in problem.errors:
            below = error.pointer.removeprefix("/compilation").replace("/", ".")
            place = f"{cell.kernel.place}{'.launch' if cell.is_launch else ''}{below}"
            self._add_problem(FileProblem(place, error.message))
        if not problem.errors:
            self._add_problem(FileProblem(cell.kernel.place, str(problem)))
        return CellNumbers(failure=str(problem))

    def _instructions(self, key: str) -> dict[str, Any] | None:
        """Return the instructions of a compilation, None if they are unavailable."""
        try:
            document: dict[str, Any] = self._client.instructions(key, wait_s=self._remaining_s())
        except ProblemError as error:
            if error.status not in UNAVAILABLE:
                raise
            return None
        return document

    def _add_problem(self, problem: FileProblem) -> None:
        if problem not in self.problems:
            self.problems.append(problem)

    def _remaining_s(self) -> float:
        return max(0.1, self._until - monotonic())


def _needs_instructions(cell: Cell, numbers: CellNumbers) -> bool:
    """Return whether a budget bounds instructions, or needs them to locate spills."""
    if numbers.failure is not None or not numbers.key:
        return False
    names = {metric.partition(".")[0] for metric in cell.budgets}
    return bool(names & OF_INSTRUCTIONS) or any(numbers.metrics.get(m) for m in names & SPILLED)


def _is_proved(cell: Cell) -> bool:
    return bool(cell.budgets.get(PROVED)) and not cell.is_reference


def _understood(
    cell: Cell, item: BatchItem, read: Callable[[Cell, BatchItem], CellNumbers]
) -> CellNumbers:
    """Return the measurement in an answer. Raises UnexpectedAnswer if it is malformed."""
    try:
        return read(cell, item)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise UnexpectedAnswer(f"the answer for {cell.title} is malformed: {error!r}") from error


def _counted(cell: Cell, numbers: CellNumbers, answer: dict[str, Any]) -> CellNumbers:
    try:
        return numbers.with_instructions(answer)
    except (KeyError, TypeError, AttributeError) as error:
        message = f"the instruction counts of {cell.title} are malformed"
        raise UnexpectedAnswer(f"{message}: {error}") from error


def _is_passing(item: BatchItem) -> bool:
    """Return whether to post the item again: the queue was full, or its worker was lost."""
    if item.result is not None:
        return item.result.problem is not None and item.result.problem.slug == WORKER_LOST
    return item.problem is not None and bool(item.problem.retryable)


def _chunks(cells: Sequence[Cell], bodies: Mapping[Cell, Any]) -> Iterator[list[Cell]]:
    """Yield the cells in batches within the service's limits."""
    chunk: list[Cell] = []
    size = 0
    for cell in cells:
        length = len(json.dumps(bodies[cell]))
        if chunk and (len(chunk) == MAX_BATCH or size + length > MAX_BATCH_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(cell)
        size += length
    if chunk:
        yield chunk

"""One launch from its job to its result: memory, parameters, runs, checks, timing.

Everything that a kernel can do wrong ends here as a fault or a finding. Imported in launchers only.
"""

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from launch.messages import Finding
from worker.gpu.launcher.contents import (
    MAX_FIRST_RUN_MS,
    Contents,
    Flags,
    Outputs,
    missing_of,
    wrote_to_copies,
)
from worker.gpu.launcher.device import CudaError
from worker.gpu.launcher.fault import (
    MESSAGES,
    GpuFault,
    JobFailed,
    KernelFault,
    fault_of,
    leaves_context,
)
from worker.gpu.launcher.guarded_buffers import (
    BufferReport,
    Buffers,
    InitialContents,
    fresh_sets,
)
from worker.gpu.launcher.launcher_context import LauncherContext
from worker.gpu.launcher.launcher_order import LauncherOrder, TimingOrder
from worker.gpu.launcher.loaded_kernel import LoadedKernel, load
from worker.gpu.launcher.memory_checks import MemoryCheck
from worker.gpu.launcher.run_outputs import Digests, RunOutputs, Send, digests_of, send_missing
from worker.gpu.timing_integrity.fresh_values import TimedKernel
from worker.gpu.timing_integrity.iteration_checker import Blocks
from worker.gpu.timing_integrity.module_state import ModuleState
from worker.gpu.timing_integrity.timed_runs import (
    FirstRun,
    TimedRuns,
    copies_of_first,
    send_iterations,
)

_LONG_STAGES = frozenset({"inputs", "run", "unwritten", "again", "timing"})


class DeviceRun:
    """One job in a launcher. `send` takes progress frames."""

    def __init__(self, context: LauncherContext, job: LauncherOrder, send: Send) -> None:
        self._context = context
        self._memory = context.memory
        self._job = job
        self._send = send
        self._timings_ms: dict[str, float] = {}
        self._findings: list[Finding] = []
        self._modified: set[int] = set()
        self._outputs: RunOutputs | None = None
        self._kept_initial: InitialContents | None = None
        self._copies: Blocks = {}

    def perform(self) -> dict[str, Any]:
        """Return the result. Raises KernelFault, JobFailed, CudaError."""
        with self._stage("inputs"), _faults():
            self._contents = Contents(self._job)
            self._firsts = self._context.inputs.contents_of(self._contents)
        with self._stage("load"), _faults():
            self._kernel = self._load()
            self._state = ModuleState(
                self._kernel.module, self._job.cubin, self._memory, self._context.comparison
            )
        try:
            result = self._with_kernel(self._kernel)
        except (KernelFault, JobFailed) as error:
            if leaves_clean(error):
                self._tidy()
            raise
        finally:
            if self._outputs is not None:
                self._outputs.release()
        self._tidy()
        return result | {"timings_ms": self._timings_ms}

    def _load(self) -> LoadedKernel:
        job = self._job
        return load(self._context.device, job.cubin, job.abi, job.grid)

    def _tidy(self) -> None:
        """Leave nothing of this job on the GPU."""
        with self._stage("tidy"), _faults():
            self._kernel.unload()
            self._memory.scrub()
            if self._kept_initial is not None:
                self._kept_initial.close()

    def _with_kernel(self, kernel: LoadedKernel) -> dict[str, Any]:
        with self._stage("write"), _faults():
            self._buffers = Buffers(self._context, self._job, self._contents)
            self._buffers.fill(self._firsts)
            self._watched = self._digests_before()
        with self._stage("run"), _faults():
            self._run(kernel)
            self._memory.wait()
        with self._stage("read"), _faults():
            if self._job.timing is not None:
                self._copies = copies_of_first(
                    self._memory, self._contents, self._buffers, self._job.timing
                )
            inspection = self._inspect(self._buffers, further=self._checks_of_copies())
            self._copied = inspection.further
            outputs = self._outputs = RunOutputs(self._contents, self._buffers)
            outputs.send(self._send, "output")
        self._restored = self._contents.written | self._modified
        self._missing = self._find_missing(kernel, inspection)
        result: dict[str, Any] = {"resources": kernel.resources}
        result |= self._again(kernel, outputs.digests(inspection))
        with _faults():
            result["module_state"] = self._state.report()
        names = [str(self._job.allocations[index]["name"]) for index in sorted(self._modified)]
        result["modified_inputs"] = names
        result["findings"] = [asdict(finding) for finding in self._findings]
        return result

    def _run(self, kernel: LoadedKernel) -> None:
        """Queue a run, which finds nothing in registers."""
        self._context.registers.clear()
        kernel.launch(self._buffers.parameters)

    def _digests_before(self) -> dict[int, int]:
        """Return the digests of the memory that the kernel must not change, by allocation."""
        firsts = self._firsts
        known = {
            index: first.digest
            for index, first in enumerate(firsts)
            if first is not None and first.size_bytes and index not in self._contents.written
        }
        unknown = [index for index, digest in known.items() if digest is None]
        measured = self._buffers.inspect(unknown).inputs if unknown else {}
        return {
            index: digest if digest is not None else measured[index]
            for index, digest in known.items()
        }

    def _checks_of_copies(self) -> list[MemoryCheck]:
        """Ask for the digests of the copies of the first run's memory: no run may change them."""
        checks = self._context.checks
        return [checks.digest_of(copy.address, copy.size_bytes) for copy in self._copies.values()]

    def _inspect(
        self, buffers: Buffers, but: Collection[int] = (), further: Sequence[MemoryCheck] = ()
    ) -> BufferReport:
        """Look at buffers after a run; note what was written that was not to be.

        Allocations of `but` hold other values than at first.
        """
        watched = {index: digest for index, digest in self._watched.items() if index not in but}
        inspection = buffers.inspect(list(watched), further)
        if inspection.is_damaged:
            self._findings += buffers.damages()
        digests = inspection.inputs
        self._modified |= {index for index in watched if digests[index] != watched[index]}
        return inspection

    @property
    def _first_elements(self) -> Outputs:
        assert self._outputs is not None
        return self._outputs.elements

    def _find_missing(self, kernel: LoadedKernel, inspection: BufferReport) -> dict[str, Flags]:
        """Find out and send what the kernel did not write, if need be by another run."""
        if not inspection.may_be_unwritten:
            return {}

        def run_again() -> Outputs:
            with self._stage("unwritten"), _faults():
                self._initial.restore(self._buffers, other_poison=True)
                self._run(kernel)
                outputs = RunOutputs(self._contents, self._buffers)
                elements = outputs.elements
                outputs.release()
                return elements

        is_short = self._timings_ms["run"] <= MAX_FIRST_RUN_MS and not self._findings
        missing = missing_of(self._contents, self._first_elements, run_again if is_short else None)
        send_missing(self._send, "unwritten", missing)
        return missing

    @property
    def _initial(self) -> InitialContents:
        if self._kept_initial is None:
            with self._stage("restore"), _faults():
                self._kept_initial = InitialContents(
                    self._context, self._contents, self._firsts, self._restored
                )
        return self._kept_initial

    def _again(self, kernel: LoadedKernel, first: Digests) -> dict[str, Any]:
        """Run for determinism and timing, where asked; outputs must come out the same."""
        outcome: dict[str, Any] = {"digest": first}
        outcome |= {"differing": None, "timing": None}
        if self._findings or not (self._job.determinism or self._job.timing):
            return outcome
        initial = self._initial
        if self._job.determinism:
            with self._stage("again"), _faults():
                initial.restore(self._buffers)
                self._run(kernel)
                again = digests_of(self._contents, self._buffers)
                outcome["differing"] = [
                    name for name, digest in first.items() if again[name] != digest
                ]
        if self._job.timing is not None and not kernel.empty:
            before = outcome["differing"]
            outcome |= self._time(kernel, initial, self._job.timing)
            if before is not None:
                outcome["differing"] = sorted({*before, *(outcome["differing"] or [])})
        return outcome

    def _time(
        self, kernel: LoadedKernel, initial: InitialContents, order: TimingOrder
    ) -> dict[str, Any]:
        """Time the kernel, and look at what its runs left."""
        with self._stage("timing"), _faults():
            sets = [self._buffers]
            if order.fresh_inputs:
                initial.restore(self._buffers)
                sets = fresh_sets(
                    self._context, self._job, self._contents, self._buffers, order.min_repeats
                )
            timed = TimedKernel(kernel, self._load, self._contents, initial, sets, self._copies)
            runs = TimedRuns(self._context, self._job, timed, order)
            timing = self._context.stopwatch.time(runs.work, order)
        with self._stage("timed_read"), _faults():
            repeats = self._look_at_timed(runs, sets, timing["repeats"])
        timing["input_sets"] = len(sets)
        return {"timing": timing, **repeats}

    def _look_at_timed(
        self, runs: TimedRuns, sets: Sequence[Buffers], timed: int
    ) -> dict[str, Any]:
        """Send what the runs left that are to be looked at, and return what is known of all.

        What they wrote that they were not to is noted as for the first run.
        """
        *others, last = sets
        for buffers in others:
            self._inspect(buffers, but=runs.random)
        inspection = self._inspect(last, but=runs.random, further=self._checks_of_copies())
        if inspection.further != self._copied:
            self._findings.append(wrote_to_copies())
        self._modified |= runs.modified
        reported = runs.report(timed)
        if reported is None:
            return {}
        report, left = reported
        first = FirstRun(self._first_elements, self._missing)
        names = send_iterations(self._send, self._contents, first, report, left)
        return report.to_json() | {"differing": None if runs.random else sorted(names)}

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        """Report a stage to the worker, so that it can name the stage at a deadline.

        Stages that are always short are not reported.
        """
        if name in _LONG_STAGES:
            self._send({"kind": "stage", "stage": name, "ms": 0.0}, b"")
        started = time.perf_counter()
        try:
            yield
        finally:
            self._timings_ms[name] = round((time.perf_counter() - started) * 1000, 3)


def leaves_clean(error: KernelFault | JobFailed) -> bool:
    """Return True if the context can take another job after `error`."""
    if isinstance(error, KernelFault):
        return leaves_context(error.fault)
    return error.slug != "device_error"


@contextmanager
def _faults() -> Iterator[None]:
    """Turn CUDA's errors into the faults of the kernel that they are."""
    try:
        yield
    except CudaError as error:
        fault = fault_of(error.name)
        if fault is None:
            raise JobFailed("device_error", str(error)) from error
        words = MESSAGES[fault]
        if fault is GpuFault.CRASHED:
            words = f"{words} ({error.name})"
        raise KernelFault(fault, words, error.name) from error

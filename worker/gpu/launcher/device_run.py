"""One launch from its job to its result: memory, parameters, runs, checks, timing.

Everything that a kernel can do wrong ends here as a fault or a finding. Imported in launchers only.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from functools import cached_property
from typing import Any

import numpy as np

from launch.messages import Finding
from worker.gpu.launcher.contents import (
    LONGEST_FIRST_RUN_MS,
    Contents,
    Flags,
    digest,
    missing_later,
    missing_of,
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
from worker.gpu.launcher.guarded_buffers import Buffers, Pristine, Rotation, fresh_sets
from worker.gpu.launcher.launcher_context import LauncherContext
from worker.gpu.launcher.launcher_order import LauncherOrder, TimingOrder
from worker.gpu.launcher.loaded_kernel import LoadedKernel, load

Send = Callable[[dict[str, Any], bytes], None]
Digests = dict[str, str]
"""Of outputs, by name: two runs made the same when these are equal."""

CHUNK_BYTES = 16 << 20
"""Outputs are sent in pieces of this size."""


class DeviceRun:
    """One job in a launcher. `send` takes progress frames."""

    def __init__(self, context: LauncherContext, job: LauncherOrder, send: Send) -> None:
        self._context = context
        self._memory = context.memory
        self._job = job
        self._send = send
        self._timings_ms: dict[str, float] = {}
        self._findings: list[Finding] = []

    def perform(self) -> dict[str, Any]:
        """Return the result. Raises KernelFault, JobFailed, CudaError."""
        with self._stage("inputs"):
            self._contents = Contents(self._job)
        with self._stage("load"), _faults():
            job = self._job
            self._kernel = load(self._context.device, job.cubin, job.abi, job.grid)
        try:
            result = self._with_kernel(self._kernel)
        except (KernelFault, JobFailed) as error:
            if leaves_clean(error):
                self._tidy()
            raise
        self._tidy()
        return result

    def _tidy(self) -> None:
        """Leave nothing of this job on the GPU."""
        with self._stage("tidy"), _faults():
            self._kernel.unload()
            self._memory.scrub()

    def _with_kernel(self, kernel: LoadedKernel) -> dict[str, Any]:
        with self._stage("write"), _faults():
            self._buffers = Buffers(self._context, self._job, self._contents)
            self._buffers.fill()
        with self._stage("run"), _faults():
            kernel.launch(self._buffers.parameters)
            self._memory.wait()
        with self._stage("read"), _faults():
            modified = self._buffers.modified(self._contents.written)
            self._outputs = dict(self._buffers.outputs())
            first = self._send_outputs("output", self._outputs)
            self._findings += self._buffers.damages()
        self._restored = self._contents.written | set(modified)
        self._missing = self._find_missing(kernel)
        result: dict[str, Any] = {
            "resources": kernel.resources,
            "modified_inputs": [str(self._job.allocations[index]["name"]) for index in modified],
            "digest": first,
        }
        result |= self._again(kernel, first)
        result["findings"] = [asdict(one) for one in self._findings]
        result["timings_ms"] = self._timings_ms
        return result

    def _find_missing(self, kernel: LoadedKernel) -> dict[str, Flags]:
        """Find out and send what the kernel did not write, if need be by another run."""

        def run_again() -> dict[str, bytes]:
            with self._stage("unwritten"), _faults():
                self._pristine.restore(self._buffers, other_poison=True)
                kernel.launch(self._buffers.parameters)
                return dict(self._buffers.outputs())

        is_short = self._timings_ms["run"] <= LONGEST_FIRST_RUN_MS and not self._findings
        missing = missing_of(self._contents, self._outputs, run_again if is_short else None)
        self._send_missing("unwritten", missing)
        return missing

    @cached_property
    def _pristine(self) -> Pristine:
        with self._stage("restore"), _faults():
            return Pristine(self._context, self._contents, self._restored)

    def _again(self, kernel: LoadedKernel, first: Digests) -> dict[str, Any]:
        """Run for determinism and timing, where asked; outputs must come out the same."""
        found: dict[str, Any] = {"differing": None, "timed_digest": None, "timing": None}
        if self._findings or not (self._job.determinism or self._job.timing):
            return found
        pristine = self._pristine
        if self._job.determinism:
            with self._stage("again"), _faults():
                pristine.restore(self._buffers)
                kernel.launch(self._buffers.parameters)
                again = digests_of(self._buffers)
                found["differing"] = [name for name in first if again[name] != first[name]]
        if self._job.timing is not None and not kernel.empty:
            found |= self._time(kernel, pristine, self._job.timing, first)
        return found

    def _time(
        self, kernel: LoadedKernel, pristine: Pristine, order: TimingOrder, first: Digests
    ) -> dict[str, Any]:
        """Time the kernel, and look at what its last run made."""
        with self._stage("timing"), _faults():
            sets = [self._buffers]
            if order.fresh_inputs:
                pristine.restore(self._buffers)
                sets = fresh_sets(
                    self._context, self._job, self._contents, self._buffers, order.min_repeats
                )
            rotation = Rotation(kernel, pristine, sets)
            timing = self._context.stopwatch.time(rotation.work, order)
        with self._stage("timed_read"), _faults():
            outputs = dict(rotation.current.outputs())
            last = {name: digest(content) for name, content in outputs.items()}
            if last != first:
                self._send_outputs("timed", outputs)
                later = missing_later(self._contents, self._outputs, self._missing, outputs)
                self._send_missing("timed_unwritten", later)
        timing["input_sets"] = len(sets)
        return {"timing": timing, "timed_digest": last}

    def _send_missing(self, kind: str, missing: Mapping[str, Flags]) -> None:
        """Send which elements of outputs nobody wrote: a bit for each."""
        self._send_outputs(
            kind, {name: np.packbits(flags).tobytes() for name, flags in missing.items()}
        )

    def _send_outputs(self, kind: str, outputs: Mapping[str, bytes]) -> Digests:
        """Send every output in logical order; return their digests."""
        sent = {}
        for name, content in outputs.items():
            for start in range(0, max(1, len(content)), CHUNK_BYTES):
                piece = content[start : start + CHUNK_BYTES]
                header = {"kind": "stage", "stage": f"{kind}:{name}", "ms": 0.0, "offset": start}
                self._send(header, piece)
            sent[name] = digest(content)
        return sent

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        """Tell the worker what is being done, so that it knows where a deadline struck."""
        self._send({"kind": "stage", "stage": name, "ms": 0.0}, b"")
        started = time.perf_counter()
        try:
            yield
        finally:
            self._timings_ms[name] = round((time.perf_counter() - started) * 1000, 3)


def digests_of(buffers: Buffers) -> Digests:
    """Return the digests of all outputs. Raises CudaError."""
    return {name: digest(content) for name, content in buffers.outputs()}


def leaves_clean(error: KernelFault | JobFailed) -> bool:
    """Whether the context can take another job after `error`."""
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

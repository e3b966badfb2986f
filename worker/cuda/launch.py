"""One launch from its job to its result: memory, parameters, runs, checks, timing.

Everything that a kernel can do wrong ends here as a fault or a finding. Imported in launchers only.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from worker.cuda.arguments import Packer, Scratch
from worker.cuda.bench import Bench
from worker.cuda.contents import Bytes, Contents, digest
from worker.cuda.driver import CudaError
from worker.cuda.fault import (
    MESSAGES,
    Fault,
    JobFailed,
    KernelFault,
    fault_of,
    leaves_context,
)
from worker.cuda.job import LaunchJob
from worker.cuda.kernel import Kernel, load
from worker.cuda.memory import POISON, Block
from worker.cuda.parameters import ParameterBlock
from worker.cuda.stopwatch import Work

Send = Callable[[dict[str, Any], bytes], None]

CHUNK_BYTES = 16 << 20
"""Outputs are sent in pieces of this size."""


class Run:
    """One job on the bench. `send` takes progress frames."""

    def __init__(self, bench: Bench, job: LaunchJob, send: Send) -> None:
        self._bench = bench
        self._memory = bench.memory
        self._job = job
        self._send = send
        self._timings_ms: dict[str, float] = {}
        self._findings: list[dict[str, Any]] = []

    def perform(self) -> dict[str, Any]:
        """Return the result. Raises KernelFault, JobFailed, CudaError."""
        with self._stage("inputs"):
            self._contents = Contents(self._job)
        with self._stage("load"), _faults():
            job = self._job
            self._kernel = load(self._bench.device, job.cubin, job.abi, job.grid)
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

    def _with_kernel(self, kernel: Kernel) -> dict[str, Any]:
        with self._stage("write"), _faults():
            self._blocks = self._take_blocks()
            self._pristine: dict[int, Block] = {}
            self._parameters = ParameterBlock(self._pack())
            self._fill()
        with self._stage("run"), _faults():
            kernel.launch(self._parameters.address)
            self._memory.wait()
        with self._stage("read"), _faults():
            modified = self._modified()
            first = self._read_outputs("output")
            self._check_zones()
        result: dict[str, Any] = {
            "resources": kernel.resources,
            "modified_inputs": modified,
            "digest": first,
        }
        result |= self._again(kernel, first)
        result |= {"findings": self._findings, "timings_ms": self._timings_ms}
        return result

    def _again(self, kernel: Kernel, first: str) -> dict[str, Any]:
        """Run for determinism and timing, where asked; outputs must come out the same."""
        found: dict[str, Any] = {"deterministic": None, "timed_digest": None, "timing": None}
        if self._findings or not (self._job.determinism or self._job.timing):
            return found
        self._keep_pristine()
        if self._job.determinism:
            with self._stage("again"), _faults():
                self._restore()
                kernel.launch(self._parameters.address)
                found["deterministic"] = self._digest_outputs() == first
        if self._job.timing is not None and not kernel.empty:
            with self._stage("timing"), _faults():
                work = Work(
                    lambda: kernel.launch(self._parameters.address),
                    self._restore,
                    len(self._restored),
                )
                found["timing"] = self._bench.stopwatch.time(work, self._job.timing)
            with self._stage("timed_read"), _faults():
                found["timed_digest"] = self._digest_outputs()
                if found["timed_digest"] != first:
                    self._read_outputs("timed")
        return found

    def _take_blocks(self) -> list[Block]:
        sizes = self._contents.sizes_bytes
        return [
            self._memory.take(size, int(one["align_bytes"]))
            for one, size in zip(self._job.allocations, sizes, strict=True)
        ]

    def _pack(self) -> list[bytes]:
        packer = Packer(
            [block.address for block in self._blocks], self._scratch(), self._bench.maps.encode
        )
        return packer.pack(self._job.abi, self._job.arguments)

    def _scratch(self) -> Scratch:
        addresses = {}
        for name in ("global_scratch", "profile_scratch"):
            wanted = self._job.abi[name]
            x, y, z = self._job.grid
            size = wanted["size_bytes"] * x * y * z * self._job.abi["cluster"][0]
            addresses[name] = 0
            if size:
                block = self._memory.take(size, max(int(wanted["align_bytes"]), 16))
                self._memory.fill(block.address, size, 0)
                addresses[name] = block.address
        return Scratch(addresses["global_scratch"], addresses["profile_scratch"])

    def _fill(self) -> None:
        for block, content in zip(self._blocks, self._contents.initial, strict=True):
            if content is None:
                self._memory.fill(block.address, block.size_bytes, POISON)
            else:
                self._memory.write(block.address, content)

    def _modified(self) -> list[str]:
        """Return the inputs that the kernel wrote to, though nobody said it would."""
        self._restored = set(self._contents.written)
        names = []
        for index, content in enumerate(self._contents.initial):
            if index in self._restored or content is None:
                continue
            block = self._blocks[index]
            if (self._memory.read(block.address, block.size_bytes) != content).any():
                names.append(str(self._job.allocations[index]["name"]))
                self._restored.add(index)
        return names

    def _keep_pristine(self) -> None:
        """Keep on the GPU what has to be restored before every further run."""
        with self._stage("restore"), _faults():
            for index in self._restored:
                content = self._contents.initial[index]
                if content is not None and content.nbytes:
                    block = self._memory.take(content.nbytes, 16)
                    self._memory.write(block.address, content)
                    self._pristine[index] = block

    def _restore(self) -> None:
        for index in self._restored:
            block, pristine = self._blocks[index], self._pristine.get(index)
            if pristine is None:
                self._memory.fill(block.address, block.size_bytes, POISON)
            else:
                self._memory.copy(block.address, pristine.address, block.size_bytes)

    def _check_zones(self) -> None:
        for index, block in enumerate(self._blocks):
            at_byte = self._memory.damage(block)
            if at_byte is not None:
                self._findings.append(self._contents.damaged(index, at_byte))

    def _read_outputs(self, kind: str) -> str:
        """Send every output in logical order; return the digest of all of them."""
        sent = []
        for name, content in self._outputs():
            for start in range(0, max(1, len(content)), CHUNK_BYTES):
                piece = content[start : start + CHUNK_BYTES]
                header = {"kind": "stage", "stage": f"{kind}:{name}", "ms": 0.0, "offset": start}
                self._send(header, piece)
            sent.append(content)
        return digest(sent)

    def _digest_outputs(self) -> str:
        return digest(content for _, content in self._outputs())

    def _outputs(self) -> Iterator[tuple[str, bytes]]:
        memories: dict[int, Bytes] = {}
        for leaf in self._contents.outputs:
            if leaf.allocation not in memories:
                block = self._blocks[leaf.allocation]
                memories[leaf.allocation] = self._memory.read(block.address, block.size_bytes)
            yield leaf.name, self._contents.elements(leaf, memories[leaf.allocation])

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        """Tell the worker what is being done, so that it knows where a deadline struck."""
        self._send({"kind": "stage", "stage": name, "ms": 0.0}, b"")
        started = time.perf_counter()
        try:
            yield
        finally:
            self._timings_ms[name] = round((time.perf_counter() - started) * 1000, 3)


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
        if fault is Fault.CRASHED:
            words = f"{words} ({error.name})"
        raise KernelFault(fault, words, error.name) from error

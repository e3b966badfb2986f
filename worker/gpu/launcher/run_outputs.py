"""Outputs of the runs of one job: read once, compared by digests, sent to the worker.

Imported in launchers only.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from launch.buffers.allocation import Leaf
from worker.gpu.launcher.contents import Contents, Flags, Outputs
from worker.gpu.launcher.guarded_buffers import BufferReport, Buffers
from worker.gpu.launcher.output_memory import SharedOutput
from worker.gpu.launcher.result_channel import CHUNK_BYTES

Output = bytes | SharedOutput
Send = Callable[[dict[str, Any], Output], None]
Digests = dict[str, str]
"""Digests of outputs, by name: equal digests mean equal outputs."""


class Readable(Protocol):
    """Where a run left its outputs: the buffers themselves, or copies of them."""

    def read(self, leaf: Leaf) -> Output:
        """Return the elements of one output in C order. Raises CudaError, JobFailed."""


class RunOutputs:
    """The outputs of one run, by name, elements in C order. Use it with `with`, or `release` it."""

    def __init__(self, contents: Contents, buffers: Readable) -> None:
        """Read all outputs. Raises CudaError, JobFailed."""
        self._held = {leaf.name: buffers.read(leaf) for leaf in contents.outputs}

    @property
    def elements(self) -> Outputs:
        """The elements of each; they live on when the outputs are released."""
        return {
            name: output.content if isinstance(output, SharedOutput) else output
            for name, output in self._held.items()
        }

    def digests(self, inspection: BufferReport) -> Digests:
        """Return the GPU's digests, and those of outputs with gaps, which it does not take."""
        gapped = {
            name: hashlib.sha256(output).hexdigest()
            for name, output in self._held.items()
            if isinstance(output, bytes) and name not in inspection.outputs
        }
        return inspection.outputs | gapped

    def send(self, send: Send, kind: str) -> None:
        """Send each as stages `kind`:name."""
        for name, output in self._held.items():
            send_output(send, kind, name, output)

    def release(self) -> None:
        """Let go of the memory of outputs that are shared."""
        for output in self._held.values():
            if isinstance(output, SharedOutput):
                output.close()
        self._held = {}


def digests_of(contents: Contents, buffers: Buffers) -> Digests:
    """Return the digests of the outputs of a run, of which no more is read than must be."""
    inspection = buffers.inspect([])
    if len(inspection.outputs) == len(contents.outputs):
        return inspection.outputs
    outputs = RunOutputs(contents, buffers)
    digests = outputs.digests(inspection)
    outputs.release()
    return digests


def send_output(send: Send, kind: str, name: str, output: Output) -> None:
    """Send one output: as memory, or in pieces."""
    header = {"kind": "stage", "stage": f"{kind}:{name}", "ms": 0.0, "offset": 0}
    if isinstance(output, SharedOutput):
        send(header, output)
        return
    for start in range(0, max(1, len(output)), CHUNK_BYTES):
        send(header | {"offset": start}, output[start : start + CHUNK_BYTES])


def send_missing(send: Send, kind: str, missing: Mapping[str, Flags]) -> None:
    """Send the unwritten elements of outputs: a bit for each element."""
    for name, flags in missing.items():
        send_output(send, kind, name, np.packbits(flags).tobytes())

"""The orders that come to a launcher, read while it is at work on another one.

What the buffers of the next order start with is made meanwhile, in the launcher's memory; the GPU
is not touched here. Runs in launchers.
"""

import contextlib
import os
import queue
import threading

from worker.gpu.launcher.contents import Contents
from worker.gpu.launcher.fault import JobFailed
from worker.gpu.launcher.kept_inputs import KeptInputs
from worker.gpu.launcher.launcher_order import LauncherOrder
from worker.pool import frame

_READ_BYTES = 1 << 20


class OrderPrefetch(threading.Thread):
    """Reads frames from a descriptor; `next` gives one after the other."""

    def __init__(self, descriptor: int, inputs: KeptInputs) -> None:
        super().__init__(daemon=True)
        self._descriptor = descriptor
        self._inputs = inputs
        self._read: queue.Queue[frame.Frame | BaseException | None] = queue.Queue(maxsize=1)

    def run(self) -> None:
        """Read until the end, one order ahead."""
        decoder = frame.Decoder()
        try:
            while data := os.read(self._descriptor, _READ_BYTES):
                for order in decoder.feed(data):
                    self._prepare(order)
                    self._read.put(order)
        except BaseException as error:  # noqa: BLE001 - raised again by `next`
            self._read.put(error)
        self._read.put(None)

    def next(self) -> frame.Frame | None:
        """Return the next order, when it is there; None at the end. Raises FrameError, OSError."""
        order = self._read.get()
        if isinstance(order, BaseException):
            raise order
        return order

    def _prepare(self, order: frame.Frame) -> None:
        """Make inputs; errors of an order are reported at its turn."""
        if order.header.get("task") != "launch":
            return
        with contextlib.suppress(JobFailed, MemoryError):
            job = LauncherOrder.from_frame(order.header, order.body)
            self._inputs.prepare(Contents(job))

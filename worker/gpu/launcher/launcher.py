"""The process that holds a GPU: opens a context, then serves launches of one caller, one at a time.

Reads frames from its standard input, sends frames to the descriptor that it is started with, and
ends after the first fault. Runs on the standard library, NumPy, ml_dtypes and cuda-bindings; never
runs user code.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
import traceback
from typing import TYPE_CHECKING, Any, NoReturn

from worker.pool import frame

if TYPE_CHECKING:  # the worker reads this file, too, and has no use for what they import
    from worker.gpu.launcher.launcher_context import LauncherContext
    from worker.gpu.launcher.output_memory import SharedOutput
    from worker.gpu.launcher.result_channel import ResultChannel
    from worker.gpu.launcher.run_outputs import Send

BOOTSTRAP = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from worker.gpu.launcher.launcher import main; main(sys.argv[2:])"
)
"""The launcher's program for the interpreter (`-c`), with these arguments.

Source root, result descriptor, the worker's pid, the GPU's number; how many bytes of first contents
may be kept on the GPU (-1: as many as it finds right), and on the host.
"""
_SWITCH_S = 0.0005
"""The interpreter's switch interval: the longest delay by the thread that prepares an order."""


def main(arguments: list[str]) -> NoReturn:
    """Run a launcher. Never returns, and runs no finalizer: the driver frees what is left."""
    from worker.gpu.launcher.result_channel import ResultChannel

    status = 1
    try:
        descriptor, parent_pid, ordinal, gpu_bytes, host_bytes = map(int, arguments)
        status = _live(ResultChannel(descriptor), parent_pid, ordinal, (gpu_bytes, host_bytes))
    except BaseException:  # noqa: BLE001 - the worker sees exit status 1 and this text
        traceback.print_exc()
    finally:
        flush_printed()
        os._exit(status)


def _live(
    channel: ResultChannel, parent_pid: int, ordinal: int, kept_bytes: tuple[int, int]
) -> int:
    from worker.gpu.launcher import launcher_sandbox
    from worker.gpu.launcher.output_memory import MAX_SHARED_BYTES

    started = time.monotonic()
    layers = launcher_sandbox.before_cuda(parent_pid, largest_file_bytes=MAX_SHARED_BYTES)
    context = _open(ordinal, kept_bytes)
    layers += launcher_sandbox.after_cuda(channel.descriptor)
    facts = context.device.facts() | {
        "driver": context.clocks.driver,
        "sandbox": layers,
        "start_ms": round((time.monotonic() - started) * 1000, 1),
    }
    channel.send(frame.NO_JOB, {"kind": "ready", "facts": facts})
    return _serve(channel, context)


def _open(ordinal: int, kept_bytes: tuple[int, int]) -> LauncherContext:
    from worker.gpu.launcher.device import open_device
    from worker.gpu.launcher.kept_inputs import KeptBudget
    from worker.gpu.launcher.launcher_context import LauncherContext

    device = open_device(ordinal)
    context = LauncherContext(device, KeptBudget.of(device, *kept_bytes))
    context.warm_up()
    return context


def _serve(channel: ResultChannel, context: LauncherContext) -> int:
    from worker.gpu.launcher.prefetch import OrderPrefetch

    sys.setswitchinterval(_SWITCH_S)
    orders = OrderPrefetch(0, context.inputs)
    orders.start()
    while (order := orders.next()) is not None:
        last = _perform(channel, context, order)
        flush_printed()
        last["printed_bytes"] = os.lseek(1, 0, os.SEEK_CUR)  # a next order may be here already
        channel.send(order.nonce, last)
        if not last["clean"]:
            return 0
    return 0


def _perform(
    channel: ResultChannel, context: LauncherContext, order: frame.Frame
) -> dict[str, Any]:
    """Return the last frame's header. `clean` is whether another job may follow."""
    from worker.gpu.launcher.device import CudaError
    from worker.gpu.launcher.device_run import leaves_clean
    from worker.gpu.launcher.fault import JobFailed, KernelFault

    def send(header: dict[str, Any], body: bytes | SharedOutput) -> None:
        channel.send(order.nonce, header, body)

    try:
        return {"kind": "result", "fault": None, "clean": True, **_do(context, order, send)}
    except KernelFault as fault:
        named = {"kind": fault.fault.value, "error": fault.error, "message": str(fault)}
        return {"kind": "result", "fault": named, "clean": leaves_clean(fault)}
    except JobFailed as failed:
        return _failure(failed.slug, str(failed), clean=leaves_clean(failed))
    except CudaError as error:
        return _failure("device_error", str(error), clean=False)
    except MemoryError:
        return _failure(
            "malformed_job", "the arguments need more memory than there is", clean=False
        )


def _do(context: LauncherContext, order: frame.Frame, send: Send) -> dict[str, Any]:
    """Do what an order asks for. Raises KernelFault, JobFailed, CudaError, MemoryError."""
    from worker.gpu.launcher.device_run import DeviceRun
    from worker.gpu.launcher.health import check_health
    from worker.gpu.launcher.launcher_order import LauncherOrder
    from worker.gpu.timing_integrity.ceilings import measure_ceilings

    match order.header.get("task"):
        case "health":
            check_health(context.device, context.memory)
            return {}
        case "ceilings":
            return {"ceilings": measure_ceilings(context).to_json()}
    job = LauncherOrder.from_frame(order.header, order.body)
    return DeviceRun(context, job, send).perform()


def _failure(slug: str, message: str, *, clean: bool) -> dict[str, Any]:
    return {"kind": "failure", "slug": slug, "message": message, "clean": clean}


def flush_printed() -> None:
    """Write out what kernels printed: CUDA prints through the C library's buffers."""
    sys.stdout.flush()
    sys.stderr.flush()
    ctypes.CDLL(None).fflush(None)

"""The process that holds a GPU with torch and replays programs of one caller, one at a time.

It starts and communicates like other launchers (`worker.gpu.launcher.launcher`). It keeps nothing
of a program after its order, and exits after the first fault of the GPU. It never imports a
program.
"""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from worker.pool import frame

if TYPE_CHECKING:  # the worker imports this module, too, and needs no torch
    from programs.gpu.program_context import GpuProgramContext
    from worker.gpu.launcher.output_memory import SharedOutput
    from worker.gpu.launcher.result_channel import ResultChannel
    from worker.gpu.launcher.run_outputs import Send

BOOTSTRAP = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from programs.gpu.program_launcher import main; main(sys.argv[2:])"
)
"""The code for `python -c`; its arguments are those of launchers."""
_READ_BYTES = 1 << 20
_VISIBLE = "CUDA_VISIBLE_DEVICES"
_ENVIRONMENT = {
    "USE_PYTORCH_KERNEL_CACHE": "0",  # the cache would need files
    "PYTORCH_NVML_BASED_CUDA_CHECK": "0",
}


def main(arguments: list[str]) -> NoReturn:
    """Run a program launcher. Never returns, and runs no finalizers."""
    from worker.gpu.launcher.launcher import flush_printed
    from worker.gpu.launcher.result_channel import ResultChannel

    status = 1
    try:
        descriptor, parent_pid, ordinal, *_ = map(int, arguments)
        status = _live(ResultChannel(descriptor), parent_pid, ordinal)
    except BaseException:  # noqa: BLE001 - the worker sees exit status 1 and this text
        traceback.print_exc()
    finally:
        flush_printed()
        os._exit(status)


def _live(channel: ResultChannel, parent_pid: int, ordinal: int) -> int:
    from worker.gpu.launcher import launcher_sandbox
    from worker.gpu.launcher.output_memory import MAX_SHARED_BYTES

    started = time.monotonic()
    layers = launcher_sandbox.before_cuda(parent_pid, largest_file_bytes=MAX_SHARED_BYTES)
    os.environ |= _ENVIRONMENT | {_VISIBLE: visible(os.environ.get(_VISIBLE), ordinal)}
    context = _open()
    layers += launcher_sandbox.after_cuda(channel.descriptor)
    facts = context.facts() | {
        "sandbox": layers,
        "start_ms": round((time.monotonic() - started) * 1000, 1),
    }
    channel.send(frame.NO_JOB, {"kind": "ready", "facts": facts})
    return _serve(channel, context)


def visible(all_visible: str | None, ordinal: int) -> str:
    """Return the value of CUDA_VISIBLE_DEVICES for one of the GPUs that are visible now."""
    if all_visible is None:
        return str(ordinal)
    return [name.strip() for name in all_visible.split(",")][ordinal]


def _open() -> GpuProgramContext:
    """Start torch and CUDA. Raises CudaError, and RuntimeError if torch has no GPU."""
    import torch

    from programs.gpu.program_context import GpuProgramContext
    from worker.gpu.launcher.device import open_device

    if not torch.backends.cuda.is_built():
        message = f"torch {torch.__version__} is built without CUDA: install a CUDA build"
        raise RuntimeError(message)
    context = GpuProgramContext(open_device(0))
    context.warm_up()
    return context


def _serve(channel: ResultChannel, context: GpuProgramContext) -> int:
    from worker.gpu.launcher.launcher import flush_printed

    for order in _orders():
        last = _without_data(context, _perform(channel, context, order))
        flush_printed()
        last["printed_bytes"] = os.lseek(1, 0, os.SEEK_CUR)
        channel.send(order.nonce, last)
        if not last["clean"]:
            return 0
    return 0


def _orders() -> Iterator[frame.Frame]:
    """Yield one order after the other. Raises FrameError, OSError."""
    decoder = frame.Decoder()
    while data := os.read(0, _READ_BYTES):
        yield from decoder.feed(data)


def _perform(
    channel: ResultChannel, context: GpuProgramContext, order: frame.Frame
) -> dict[str, Any]:
    """Return the last frame's header. With `clean`, another program may follow."""
    from programs.gpu.op_fault import OpFault
    from worker.gpu.launcher.device import CudaError
    from worker.gpu.launcher.fault import JobFailed

    def send(header: dict[str, Any], body: bytes | SharedOutput) -> None:
        channel.send(order.nonce, header, body)

    try:
        return {"kind": "result", "fault": None, "clean": True, **_do(context, order, send)}
    except OpFault as ended:
        fault = ended.fault
        op = ended.index if ended.index >= 0 else None
        named = {"kind": fault.fault.value, "error": fault.error, "message": str(fault), "op": op}
        return {"kind": "result", "fault": named, "clean": ended.leaves_context}
    except JobFailed as failed:
        return _failure(failed.slug, str(failed), clean=failed.slug != "device_error")
    except CudaError as error:
        return _failure("device_error", str(error), clean=False)
    except MemoryError:
        return _failure("out_of_memory", "the process has no memory left", clean=False)


def _do(context: GpuProgramContext, order: frame.Frame, send: Send) -> dict[str, Any]:
    """Run an order. Raises OpFault, JobFailed, CudaError, MemoryError."""
    from programs.gpu.compared_replays import perform
    from programs.gpu.program_order import TASK, ProgramOrder
    from programs.replay.checked_tapes import NoMetaKernel
    from programs.tape.schema import InvalidTape
    from worker.gpu.launcher.fault import JobFailed

    if order.header.get("task") != TASK:
        raise JobFailed("malformed_job", f"{order.header.get('task')!r:.80} is not a known order")
    asked = ProgramOrder.from_frame(order.header, order.body)
    try:
        return perform(context, asked, send)
    except InvalidTape as error:
        raise JobFailed("forged_tape", str(error)) from error
    except NoMetaKernel as error:
        raise JobFailed("unsupported_op", str(error)) from error


def _without_data(context: GpuProgramContext, last: dict[str, Any]) -> dict[str, Any]:
    """Remove the program's data from a GPU that still works, and return the last header."""
    from worker.gpu.launcher.device import CudaError

    if not last["clean"]:
        return last
    try:
        return last | {"clean": context.remove_data()}
    except CudaError as error:
        return _failure("device_error", str(error), clean=False)


def _failure(slug: str, message: str, *, clean: bool) -> dict[str, Any]:
    return {"kind": "failure", "slug": slug, "message": message, "clean": clean}

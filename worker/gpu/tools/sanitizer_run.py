"""One run of a kernel for a tool that watches it: plain allocations of exactly the arguments' size.

Started by a tool (compute-sanitizer, ncu) as its only program; ends after one launch. A map written
before it shows which allocation an address belongs to. Runs on the standard library, NumPy,
ml_dtypes and cuda-bindings; never runs user Python.
"""

import json
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Any, NoReturn

from worker.pool import frame
from worker.sandbox import libc

BOOTSTRAP = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from worker.gpu.tools.sanitizer_run import main; main(*sys.argv[2:])"
)
"""The program for the interpreter (`-c`); arguments: source root, folder, GPU, poison."""
JOB, PLACES, ENDING = "job", "places.json", "ending.json"
"""Files of the folder: a frame in; the map of addresses and how the run ended out."""


def main(folder: str, ordinal: str, poison: str) -> NoReturn:
    """Run the job of `folder` once. With `poison` "0", what has no `init` stays as it came.

    Never returns, and runs no finalizer.
    """
    status = 1
    try:
        libc.prctl(libc.PR_SET_PDEATHSIG, signal.SIGKILL)  # the parent is the tool
        status = _run(Path(folder), int(ordinal), poison=poison == "1")
    except BaseException:  # noqa: BLE001 - the tool runner sees exit status 1 and this text
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _run(folder: Path, ordinal: int, *, poison: bool) -> int:
    from cuda.bindings import driver as cu

    from worker.gpu.launcher.device import CudaError, check, open_device
    from worker.gpu.launcher.fault import JobFailed, KernelFault

    try:
        device = open_device(ordinal)
        kernel, parameters = _prepare(folder, device, poison=poison)
        kernel.launch(parameters.address)
        check(cu.cuStreamSynchronize(device.stream), "waiting for the kernel")
    except (CudaError, KernelFault, JobFailed) as error:
        (folder / ENDING).write_text(json.dumps({"error": str(error)}))
        return 0
    (folder / ENDING).write_text(json.dumps({"error": None}))
    return 0


def _prepare(folder: Path, device: Any, *, poison: bool) -> tuple[Any, Any]:
    """Return the loaded kernel and its parameters, everything in place."""
    from worker.gpu.launcher.contents import Contents
    from worker.gpu.launcher.launcher_order import LauncherOrder
    from worker.gpu.launcher.loaded_kernel import load
    from worker.gpu.tools.exact_memory import ExactMemory

    (order,) = frame.Decoder().feed((folder / JOB).read_bytes())
    job = LauncherOrder.from_frame(order.header, order.body)
    contents = Contents(job)
    kernel = load(device, job.cubin, job.abi, job.grid)
    memory = ExactMemory(device)
    addresses = []
    for index, (allocation, size, byte) in enumerate(
        zip(job.allocations, contents.sizes_bytes, contents.poisons, strict=True)
    ):
        addresses.append(memory.take(size, int(allocation["align_bytes"])))
        memory.put(addresses[-1], size, contents.initial(index), poison=byte if poison else None)
    (folder / PLACES).write_text(json.dumps(contents.places(addresses)))
    return kernel, _parameters(device, memory, job, addresses)


def _parameters(device: Any, memory: Any, job: Any, addresses: list[int]) -> Any:
    from worker.gpu.launcher.kernel_parameters import Packer, ParameterBlock, scratch_of
    from worker.gpu.launcher.tensor_map import TensorMaps

    scratch = scratch_of(job, memory.take, memory.fill)
    packer = Packer(addresses, scratch, TensorMaps(device.driver_version).encode)
    memory.wait()
    return ParameterBlock(packer.pack(job.abi, job.arguments))

"""Lists this machine's GPUs in a separate process: the worker never imports CUDA."""

import asyncio
import json
import sys
from typing import Any

from worker.gpu.supervisor.launcher_process import LauncherCommand

_BOOTSTRAP = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from worker.gpu.supervisor.devices import main; main()"
)


class NoDevices(Exception):
    """GPUs cannot be counted: no driver, no cuda-python. The message holds the reason."""


async def find_devices(command: LauncherCommand, timeout_s: float = 60.0) -> list[dict[str, Any]]:
    """Return the facts of every GPU: ordinal, target, model, uuid, num_sms, l2_bytes and others.

    Raises NoDevices.
    """
    process = await asyncio.create_subprocess_exec(
        *(command.python, "-s", "-P", "-c", _BOOTSTRAP, command.root),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=command.environ(),
        cwd="/",
    )
    try:
        async with asyncio.timeout(timeout_s):
            output, errors = await process.communicate()
    except TimeoutError:
        raise NoDevices(f"counting GPUs took more than {timeout_s:g} s") from None
    finally:
        if process.returncode is None:  # too late, or the caller was cancelled
            process.kill()
            await process.wait()
    if process.returncode != 0:
        raise NoDevices(errors.decode(errors="replace")[-2000:])
    listed: list[dict[str, Any]] = json.loads(output)
    return listed


def main() -> None:
    """Print the facts of all GPUs as JSON. Runs in the process that may import CUDA."""
    try:
        from worker.gpu.launcher.device import count, describe
    except ModuleNotFoundError as missing:
        sys.exit(
            f"there is no module {missing.name!r} here; with a GPU, install the extra `gpu`: "
            "pip install 'tritond[gpu]', or `make gpu` in a checkout"
        )
    json.dump([describe(ordinal) for ordinal in range(count())], sys.stdout)

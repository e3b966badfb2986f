"""The worker's side of a rerun under a tool, which happens in separate processes.

Runs in the worker, which never imports CUDA and never reads a tool's report itself.
"""

import asyncio
import contextlib
import os
import signal
import tempfile
from dataclasses import asdict, dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import Any

from worker.gpu.launcher.launcher_order import LauncherOrder
from worker.gpu.supervisor.launcher_process import LauncherCommand
from worker.gpu.tools.installed_tools import Tools
from worker.gpu.tools.tool_runner import BOOTSTRAP
from worker.pool import frame

_ANSWER_BYTES = 32 << 20
"""Counters of 50,000 instructions take a third of it."""
_LAST_WORDS_CHARS = 500
_EXIT_S = 10.0


@dataclass(frozen=True, slots=True)
class SanitizerReport:
    """The findings of a tool. `incomplete` is the reason why it did not finish, None if it did.

    `counters` are what each instruction was counted, as `compiler.lines.hot_lines` reads them.
    """

    findings: list[dict[str, Any]] = field(default_factory=list)
    profile: dict[str, Any] | None = None
    incomplete: str | None = None
    counters: bytes = b""


async def run_under_tool(
    command: LauncherCommand,
    tools: Tools,
    ordinal: int,
    job: LauncherOrder,
    tool: str,
    limit_s: float,
) -> SanitizerReport:
    """Have `tool` watch one run of `job` on GPU `ordinal`; whatever happens to it is in the result.

    Everything that was started is killed after `limit_s`, and when the caller is cancelled.
    """
    if not tools.can(tool):
        return SanitizerReport(incomplete="this worker does not have the tool installed")
    header, body = job.to_frame()
    header["examine"] = {"tool": tool, "tools": asdict(tools)}
    with tempfile.TemporaryDirectory(prefix="tritond-examine-") as folder:
        nonce = os.urandom(frame.NONCE_BYTES)
        encoded = frame.encode(nonce, header, body)
        return await _run_in_processes(command, ordinal, Path(folder), encoded, nonce, limit_s)


async def _run_in_processes(
    command: LauncherCommand,
    ordinal: int,
    folder: Path,
    encoded: bytes,
    nonce: bytes,
    limit_s: float,
) -> SanitizerReport:
    process, results = await _start(command, ordinal, folder)
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), results
    )
    try:
        async with asyncio.timeout(limit_s):
            (_, words), answer = await asyncio.gather(
                process.communicate(encoded), _read_answer(reader)
            )
    except TimeoutError:
        return SanitizerReport(incomplete=f"it did not finish within {limit_s:g} s")
    except frame.FrameError as error:
        return SanitizerReport(incomplete=f"its answer cannot be read ({error})")
    finally:
        transport.close()
        await _end(process)
    return _read(answer, nonce, words.decode(errors="replace"))


async def _read_answer(reader: asyncio.StreamReader) -> bytes:
    """Return what comes until the end. Raises FrameError for more than an answer may have."""
    answer = bytearray()
    while data := await reader.read(_ANSWER_BYTES):
        answer += data
        if len(answer) > _ANSWER_BYTES:
            raise frame.FrameError(f"it has more than {_ANSWER_BYTES >> 20} MiB")
    return bytes(answer)


async def _start(
    command: LauncherCommand, ordinal: int, folder: Path
) -> tuple[asyncio.subprocess.Process, BufferedReader]:
    """Start a tool runner; also return the file that it answers into."""
    ours, theirs = os.pipe2(os.O_CLOEXEC)
    results = os.fdopen(ours, "rb")
    try:
        process = await asyncio.create_subprocess_exec(
            *(command.python, "-s", "-P", "-c", BOOTSTRAP, command.root),
            *map(str, (theirs, os.getpid(), ordinal, folder)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            env=command.environ() | {"TMPDIR": str(folder), "HOME": str(folder)},
            cwd="/",
            pass_fds=[theirs],
            process_group=0,  # the tool and the run it watches end with it
        )
    except BaseException:
        results.close()
        raise
    finally:
        os.close(theirs)
    return process, results


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kill the whole group, and wait for its first process for a while."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(TimeoutError):  # stuck in the driver: the health check reports it
        async with asyncio.timeout(_EXIT_S):
            await process.wait()


def _read(answer: bytes, nonce: bytes, words: str) -> SanitizerReport:
    try:
        frames = frame.Decoder().feed(answer)
    except frame.FrameError as error:
        return SanitizerReport(incomplete=f"its answer cannot be read ({error})")
    if len(frames) != 1 or frames[0].nonce != nonce or frames[0].header.get("kind") != "examined":
        return SanitizerReport(
            incomplete=f"it stopped early ({words.strip()[-_LAST_WORDS_CHARS:]})"
        )
    report = frames[0].header
    return SanitizerReport(
        report["findings"], report["profile"], report["incomplete"], frames[0].body
    )

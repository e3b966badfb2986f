"""The process that runs a kernel under a tool and turns the tool's report into findings.

Reads one job from its standard input, starts the tool with `sanitizer_run` behind it, answers one
frame and ends. Runs on the standard library and NumPy; imports no CUDA, never runs user Python.
"""

import json
import os
import signal
import subprocess
import sys
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

from compiler.abi import Abi
from worker.pool import frame
from worker.sandbox import libc

BOOTSTRAP = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from worker.gpu.tools.tool_runner import main; main(*sys.argv[1:])"
)
"""The tool runner's program for the interpreter (`-c`), with these arguments.

Source root, result descriptor, the worker's pid, the GPU's number, a separate folder.
"""
_READ_BYTES = 1 << 20
_REPORT_BYTES = 16 << 20
_FILE_BYTES = frame.MAX_BODY_BYTES + frame.MAX_HEADER_BYTES + (1 << 20)
_PRINTED = "printed"
_LAST_WORDS_CHARS = 500


def main(root: str, descriptor: str, parent_pid: str, ordinal: str, folder: str) -> NoReturn:
    """Run a tool. Never returns."""
    status = 1
    try:
        from worker.gpu.launcher import launcher_sandbox

        launcher_sandbox.before_cuda(int(parent_pid), file_bytes=_FILE_BYTES)
        order = _read_order()
        answer, body = _examine(order, root, ordinal, Path(folder))
        _send(int(descriptor), frame.encode(order.nonce, answer, body))
        status = 0
    except BaseException:  # noqa: BLE001 - the worker sees exit status 1 and this text
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def _read_order() -> frame.Frame:
    decoder = frame.Decoder()
    while data := os.read(0, _READ_BYTES):
        if orders := decoder.feed(data):
            return orders[0]
    raise EOFError("the worker left before it sent a job")


def _send(descriptor: int, encoded: bytes) -> None:
    view = memoryview(encoded)
    while view:
        view = view[os.write(descriptor, view) :]


def _examine(
    order: frame.Frame, root: str, ordinal: str, folder: Path
) -> tuple[dict[str, Any], bytes]:
    """Return the answer: findings, profile, why the tool did not get to the end; and counters."""
    from worker.gpu.tools.installed_tools import PROFILE, SOURCE_COUNTERS

    tool = order.header["examine"]["tool"]
    printed = _run(_command(order, root, ordinal, folder), folder)
    answer: dict[str, Any] = {
        "kind": "examined",
        "findings": [],
        "profile": None,
        "incomplete": None,
    }
    if tool == SOURCE_COUNTERS:
        incomplete, counters = _read_counters(folder, printed)
        return answer | {"incomplete": incomplete}, counters
    read = _read_profiler if tool == PROFILE else _read_sanitizer
    return answer | read(order.header, folder, printed), b""


def _command(order: frame.Frame, root: str, ordinal: str, folder: Path) -> list[str]:
    """Leave the job where the run that is watched finds it; return what starts tool and run."""
    from worker.gpu.tools import sanitizer_run
    from worker.gpu.tools.installed_tools import INITCHECK, Tools, command_of
    from worker.gpu.tools.profile_report import METRICS

    asked = order.header["examine"]
    job = frame.encode(order.nonce, order.header, order.body)
    (folder / sanitizer_run.JOB).write_bytes(job)
    watching = command_of(
        Tools(**asked["tools"]),
        asked["tool"],
        Abi.from_json(order.header["abi"]).entry,
        folder,
        metrics=METRICS,
        allocations=len(order.header["allocations"]),
    )
    poison = "0" if asked["tool"] == INITCHECK else "1"
    program = [sys.executable, "-s", "-P", "-c", sanitizer_run.BOOTSTRAP]
    return [*watching, *program, root, str(folder), ordinal, poison]


def _run(command: list[str], folder: Path) -> str:
    """Run the tool to its end; return its last words."""
    with (folder / _PRINTED).open("wb") as printed:
        subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=printed,
            cwd=folder,
            check=False,
            preexec_fn=_die_with_us,  # this process has one thread
        )
    text = _text(folder / _PRINTED)
    return text.strip()[-_LAST_WORDS_CHARS:]


def _die_with_us() -> None:
    libc.prctl(libc.PR_SET_PDEATHSIG, signal.SIGKILL)


def _text(path: Path) -> str:
    if not path.exists():
        return ""
    with path.open("rb") as stream:
        return stream.read(_REPORT_BYTES).decode(errors="replace")


def _read_sanitizer(header: dict[str, Any], folder: Path, printed: str) -> dict[str, Any]:
    from worker.gpu.tools.installed_tools import REPORT
    from worker.gpu.tools.sanitizer_findings import Map, findings_of
    from worker.gpu.tools.sanitizer_report import read
    from worker.gpu.tools.sanitizer_run import PLACES

    report = _text(folder / REPORT)
    error, ended = _ending(folder)
    places = json.loads(_text(folder / PLACES) or "[]")
    seen = Map.of(places, Abi.from_json(header["abi"]).cluster[0])
    findings = findings_of(read(report), seen)
    if findings:
        return {"findings": [asdict(finding) for finding in findings]}
    if not ended or "SUMMARY" not in report:
        return {
            "incomplete": f"it stopped early ({printed or report.strip()[-_LAST_WORDS_CHARS:]})"
        }
    return {"incomplete": f"the kernel failed under it ({error})" if error else None}


def _read_profiler(_: dict[str, Any], folder: Path, printed: str) -> dict[str, Any]:
    from worker.gpu.tools.installed_tools import REPORT
    from worker.gpu.tools.profile_report import NoProfile, read

    error, _ended = _ending(folder)
    try:
        return {"profile": read(_text(folder / REPORT))}
    except NoProfile as none:
        return {"incomplete": str(error or none or printed)}


def _read_counters(folder: Path, printed: str) -> tuple[str | None, bytes]:
    """Return why there are none, or the counters of each instruction as JSON."""
    from compiler.lines.hot_lines import counters_json
    from worker.gpu.tools.installed_tools import REPORT
    from worker.gpu.tools.profile_report import NoProfile
    from worker.gpu.tools.source_counters import read

    error, _ended = _ending(folder)
    try:
        return None, counters_json(read(_text(folder / REPORT)))
    except NoProfile as none:
        return str(error or none or printed), b""


def _ending(folder: Path) -> tuple[str | None, bool]:
    """Return the error that the bare run met, and whether it came to its end at all."""
    from worker.gpu.tools.sanitizer_run import ENDING

    text = _text(folder / ENDING)
    return (json.loads(text)["error"], True) if text else (None, False)

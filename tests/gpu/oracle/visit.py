"""Launches every case on a GPU and returns the changes of its buffers, in one short visit.

`python3 -m tests.gpu.oracle.visit visit.tar.xz` on a GPU machine, with the archive that `make`
packed. Needs the driver, numpy, ml_dtypes and cuda-bindings.

It writes `results.json` and `changed-N.zip` to `$OUT`; the latter has the exclusive or of the bytes
before and after, by case and argument. A few processes share the cases. A process that hangs or
dies costs only its current case.
"""
# ruff: noqa: T201 - a program that reports

import io
import json
import multiprocessing
import os
import sys
import tarfile
import tempfile
import time
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

PROCESSES = int(os.environ.get("ORACLE_PROCESSES", "8"))
SILENCE_S = 25.0
"""Kills the process of a case that takes longer. The first case starts CUDA, too."""
HOPELESS = 24
"""This many failed cases without one success mean that something else is wrong."""
ZIP_BYTES = 14 << 20
ZIPS = 6


def main() -> None:
    """Run all cases and write the results."""
    started, out = time.monotonic(), Path(os.environ.get("OUT", tempfile.gettempdir()))
    cases = list(unpacked(Path(sys.argv[1])))
    print(f"{len(cases)} cases unpacked in {time.monotonic() - started:.1f} s", flush=True)
    limit_s = float(sys.argv[2]) if len(sys.argv) > 2 else 150.0
    crew = LaunchingProcesses(cases)
    crew.run(started + limit_s)
    results = crew.results
    kept = zipped(results, out)
    (out / "results.json").write_text(
        json.dumps([{k: v for k, v in one.items() if k != "changed"} for one in results])
    )
    counts = Counter(one["state"] for one in results)
    print(f"{dict(counts)}; changed bytes of {kept} kept; {time.monotonic() - started:.1f} s")
    for one in results:
        if one["state"] != "ran" or one["findings"]:
            print(one["id"], one["state"], one.get("why", ""), str(one.get("findings"))[:150])


def unpacked(archive: Path) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Yield every case and its cubin."""
    cubins: dict[str, bytes] = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            folder, _, name = member.name.partition("/")
            file = tar.extractfile(member)
            assert file is not None
            if name == "kernel.cubin":
                cubins[folder] = file.read()
            else:
                yield json.load(file), cubins.pop(folder)


Case = tuple[dict[str, Any], bytes]


class LaunchingProcesses:
    """Processes that each launch one case at a time."""

    def __init__(self, cases: list[Case]) -> None:
        self._context = multiprocessing.get_context("fork")
        self._waiting = list(reversed(cases))
        self._running: dict[Connection, tuple[Any, Case, float]] = {}
        self.results: list[dict[str, Any]] = []

    def run(self, end: float) -> None:
        """Launch as many cases as time permits."""
        while (self._waiting or self._running) and time.monotonic() < end and not self._hopeless:
            while self._waiting and len(self._running) < PROCESSES:
                self._start()
            ready = wait(list(self._running), timeout=0.5)
            for connection in list(self._running):
                self._look_at(connection, is_ready=connection in ready)
        for process, (case, _), _ in self._running.values():
            process.kill()
            self._ended(case, "no time")

    @property
    def _hopeless(self) -> bool:
        return len(self.results) >= HOPELESS and all(one["state"] != "ran" for one in self.results)

    def _start(self) -> None:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=serve, args=(theirs,), daemon=True)
        process.start()
        theirs.close()
        self._give(ours, process)

    def _give(self, connection: Connection, process: Any) -> None:
        case = self._waiting.pop()
        with suppress(BrokenPipeError):  # the process died; the next read reports it
            connection.send(case)
        self._running[connection] = process, case, time.monotonic()

    def _look_at(self, connection: Connection, *, is_ready: bool) -> None:
        process, (case, _), since = self._running[connection]
        if not is_ready and time.monotonic() - since <= SILENCE_S:
            return
        del self._running[connection]
        try:
            result = connection.recv() if is_ready else self._ended(case, "hung")
        except (EOFError, OSError):
            result = self._ended(case, "died")
        else:
            self.results += [result] if is_ready else []
        if result["state"] == "ran" and self._waiting:
            self._give(connection, process)
            return
        connection.close()
        if result["state"] != "ran":
            process.kill()

    def _ended(self, case: dict[str, Any], state: str) -> dict[str, Any]:
        self.results.append({"id": case["id"], "state": state, "findings": []})
        return self.results[-1]


def serve(connection: Connection) -> None:
    """Launch incoming cases until a fault breaks the context."""
    perform = performer()
    while True:
        try:
            case, cubin = connection.recv()
        except EOFError:
            return
        result = perform(case, cubin)
        connection.send(result)
        if result["state"] == "faulted":
            return


def performer() -> Any:
    """Return a function that launches a case on GPU 0 with the project's launcher."""
    from compiler.abi import Abi
    from worker.gpu.launcher.contents import Contents
    from worker.gpu.launcher.device import open_device
    from worker.gpu.launcher.device_run import DeviceRun
    from worker.gpu.launcher.fault import JobFailed, KernelFault
    from worker.gpu.launcher.launcher_context import LauncherContext
    from worker.gpu.launcher.launcher_order import LauncherOrder

    context = LauncherContext(open_device(0))

    def perform(case: dict[str, Any], cubin: bytes) -> dict[str, Any]:
        started = time.monotonic()
        order = LauncherOrder(
            cubin, Abi.from_json(case["abi"]), tuple(case["grid"]), case["allocations"],
            case["arguments"], determinism=True,
        )  # fmt: skip
        outputs: dict[str, bytearray] = {}

        def send(header: dict[str, Any], body: Any) -> None:
            kind, _, name = header["stage"].partition(":")
            if kind == "output":
                content = body if isinstance(body, bytes) else body.content.tobytes()
                outputs.setdefault(name, bytearray()).extend(content)

        try:
            done = DeviceRun(context, order, send).perform()
        except (KernelFault, JobFailed) as error:
            return {"id": case["id"], "state": "faulted", "why": f"{error}"[:300], "findings": []}
        contents = Contents(order)
        before = {
            one["name"]: contents.initial(index) for index, one in enumerate(case["allocations"])
        }
        changes = {name: changed(before[name].tobytes(), bytes(o)) for name, o in outputs.items()}
        return {
            "id": case["id"], "state": "ran", "findings": done["findings"],
            "differing": done["differing"], "resources": done["resources"],
            "facts": context.device.facts(), "s": round(time.monotonic() - started, 3),
            "changed": changes,
        }  # fmt: skip

    return perform


def changed(before: bytes, after: bytes) -> bytes:
    """Return the exclusive or of two contents, compressed."""
    import numpy as np

    return zlib.compress((np.frombuffer(before, "u1") ^ np.frombuffer(after, "u1")).tobytes(), 6)


def zipped(results: list[dict[str, Any]], out: Path) -> int:
    """Write the changes to at most the permitted number of archives; return the count of cases."""
    kept = number = 0
    buffer = io.BytesIO()
    archive = zipfile.ZipFile(buffer, "w")

    def close() -> None:
        archive.close()
        (out / f"changed-{number}.zip").write_bytes(buffer.getvalue())

    for one in results:
        size = sum(map(len, one.get("changed", {}).values()))
        if buffer.tell() + size > ZIP_BYTES:
            close()
            number += 1
            if number == ZIPS:
                return kept
            buffer = io.BytesIO()
            archive = zipfile.ZipFile(buffer, "w")
        for name, content in one.get("changed", {}).items():
            archive.writestr(f"{one['id']}/{name}", content)
        kept += bool(size)
    close()
    return kept


if __name__ == "__main__":
    main()

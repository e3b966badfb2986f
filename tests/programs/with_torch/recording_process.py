"""A process that records programs, each in a forked child, like a worker's zygote.

Tests use a separate process, since preparing to record changes torch permanently.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from programs.tape.read_tape import read_tape
from programs.tape.schema import Tape
from programs.worker.program_children import ENVIRONMENT


class RecordingProcess:
    """Records programs; close it after use."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.programs.with_torch.recording_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **ENVIRONMENT},
            cwd=Path(__file__).parents[3],
        )

    def record(self, source: str, *entries: dict[str, Any], **order: Any) -> dict[str, Any]:
        """Return a tape, {"not_recordable": …}, or {"died": exit status}."""
        order.setdefault("files", {})
        entries = entries or ({"kind": "script", "outputs": None},)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(
            json.dumps({"source": source, "entries": entries, **order}),
            file=self._process.stdin,
            flush=True,
        )
        return json.loads(self._process.stdout.readline())

    def tape(self, source: str, *entries: Any, **order: Any) -> Tape:
        """Return the tape of a program, which must be recordable."""
        answer = self.record(source, *entries, **order)
        assert "ops" in answer, answer
        return read_tape(json.dumps(answer).encode())

    def refusal(self, source: str, *entries: Any, **order: Any) -> dict[str, Any]:
        """Return the reason for refusing a program."""
        answer = self.record(source, *entries, **order)
        assert "not_recordable" in answer, answer
        found: dict[str, Any] = answer["not_recordable"]
        return found

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        try:
            self._process.wait(timeout=10)
        finally:
            self._process.kill()
            self._process.wait()


def _serve() -> None:
    from programs.recorder.record_tasks import warm_up

    answers = os.dup(1)
    os.dup2(2, 1)
    warm_up()
    for line in sys.stdin:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.closerange(answers, answers + 1)
            _record(json.loads(line), writing)
        os.close(writing)
        with os.fdopen(reading, "rb") as stream:
            answer = stream.read()
        _, status = os.waitpid(child, 0)
        text = answer or json.dumps({"died": os.waitstatus_to_exitcode(status)}).encode()
        view = memoryview(text + b"\n")
        while view:
            view = view[os.write(answers, view) :]
    os._exit(0)  # Triton's library prints warnings while it is unloaded


def _record(order: dict[str, Any], writing: int) -> None:
    from programs.recorder.record import record
    from programs.recorder.record_order import NotRecordable, RecordOrder

    status = 1
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        source, files = order.pop("source"), order.pop("files")
        try:
            answer = record(RecordOrder(**order), source, files).tape
        except NotRecordable as refusal:
            file, line = refusal.place or (None, None)
            why = {"reason": refusal.reason, "detail": refusal.detail, "file": file, "line": line}
            answer = json.dumps({"not_recordable": why}).encode()
        with os.fdopen(writing, "wb") as stream:
            stream.write(answer)
        status = 0
    finally:
        os._exit(status)


if __name__ == "__main__":
    _serve()

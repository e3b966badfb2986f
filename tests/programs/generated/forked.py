"""Runs a function in a forked child, which may die."""

from __future__ import annotations

import json
import os
import select
import signal
from collections.abc import Callable
from typing import Any


def in_child(run: Callable[[], Any], timeout_s: float) -> Any:
    """Return what `run` returns as JSON; a text if it raises, dies or does not end."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            answer = json.dumps(run())
        except BaseException as error:  # noqa: BLE001 - the answer of the child
            answer = json.dumps(f"{type(error).__name__}: {error}"[:500])
        with os.fdopen(writing, "w") as pipe:
            pipe.write(answer)
        os._exit(0)
    os.close(writing)
    parts = []
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        while True:
            ready, _, _ = select.select([pipe], [], [], timeout_s)
            if not ready:
                os.kill(child, signal.SIGKILL)
                break
            part = pipe.read(1 << 16)
            if not part:
                break
            parts.append(part)
    os.waitpid(child, 0)
    text = b"".join(parts)
    return json.loads(text) if text else "it died"

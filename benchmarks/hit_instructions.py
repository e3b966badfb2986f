"""Counts the instructions of a hit from memory, in this process, under valgrind's callgrind.

    $ .venv/bin/python benchmarks/hit_instructions.py

The application is called as the server calls it, without the server itself, whose part no change
of ours alters. Instructions are counted between its first hits and its end alone.
"""

import asyncio
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from service import application
from service.caller import ANONYMOUS
from service.compilations.answer import Answer
from service.compilations.response_cache import request_digest
from service.composition import composed_app
from service.settings import ServiceSettings
from store.embedded import EmbeddedValkey

WARM, COUNTED = 100, 400
BODY = b'{"source": "' + b"x" * 2000 + b'"}'
ANSWER = b'{"state":"succeeded","included":"' + b"x" * 24_000 + b'"}'
HEADERS = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")]


def main() -> None:
    if len(sys.argv) == 2:
        asyncio.run(hits(sys.argv[1]))
        return
    with tempfile.TemporaryDirectory() as folder:
        print(f"{asyncio.run(per_hit(Path(folder))):.0f} instructions a hit")


async def per_hit(folder: Path) -> float:
    async with EmbeddedValkey(folder) as valkey:
        return await asyncio.to_thread(instructions, valkey.url) / COUNTED


def instructions(redis_url: str) -> int:
    """Return the instructions of `COUNTED` hits."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    command += ["--instr-atstart=no", sys.executable, __file__, redis_url]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONHASHSEED": "0"},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for counting in ("on", "off"):
            if process.stdout.readline() != "\n":
                break  # it failed, and says why below
            control = ["callgrind_control", f"--instr={counting}", str(process.pid)]
            subprocess.run(control, capture_output=True, check=True)
            process.stdin.write("\n")
            process.stdin.flush()
        errors = process.communicate()[1]
    match = re.search(r"Collected : (\d+)", errors)
    if process.returncode or match is None:
        raise RuntimeError(f"callgrind reported no instructions: {errors[-2000:]}")
    return int(match[1])


async def hits(redis_url: str) -> None:
    application.FLUSH_S = 1e6  # what is written every few seconds is no part of a hit
    app = composed_app(ServiceSettings(redis_url=redis_url))
    async with app.router.lifespan_context(app):
        state = app.state.service
        toolchains = await state.toolchains.current()
        state.toolchains.current = _returning(toolchains)  # its clock is not that of a hit
        await asyncio.sleep(1)  # until it hears of changes of API keys
        caller = await state.callers._find("")
        if caller is not ANONYMOUS:
            raise RuntimeError("the hits must be anonymous")
        state.callers._find = _returning(caller)
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for other in others:  # what the service does by the clock is no part of a hit
            other.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        answer = Answer("0" * 64, "succeeded", ANSWER, "hit").rendered
        state.responses.put(request_digest("", toolchains.digest, BODY), answer)
        for count in (WARM, COUNTED):
            for _ in range(count):
                if await status(app) != 200:
                    raise RuntimeError("that was no hit")
            print(flush=True)  # has the counting begin, and end
            sys.stdin.readline()
        os._exit(0)  # nothing is left that could end as the service does


def _returning(value: Any) -> Any:
    async def answer(*_: object) -> Any:
        return value

    return answer


async def status(app: Any) -> int:
    sent: list[Any] = []
    parts = [{"type": "http.request", "body": BODY, "more_body": False}]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/v1/compilations",
        "raw_path": b"/v1/compilations",
        "query_string": b"wait=60",
        "root_path": "",
        "headers": HEADERS,
        "client": ("127.0.0.1", 50_000),
        "server": ("127.0.0.1", 8000),
        "state": {},
    }

    async def receive() -> Any:
        return parts.pop()

    async def send(message: Any) -> None:
        sent.append(message)

    await asyncio.create_task(app(scope, receive, send))
    return int(sent[0]["status"])


if __name__ == "__main__":
    main()

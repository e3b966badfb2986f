"""The command `tritonc`: results on standard output, everything about them on standard error."""

import json
import os
import sys
from argparse import ArgumentTypeError, Namespace
from collections.abc import Mapping, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any

from httpx import BaseTransport, InvalidURL

from tritonc import arguments, emission
from tritonc.client import Client
from tritonc.compilation import Compilation
from tritonc.connection import DEFAULT_URL
from tritonc.diagnostic import printable, render_all
from tritonc.errors import (
    CompileFailed,
    ProblemError,
    ServerUnavailable,
    UnexpectedAnswer,
    WaitExpired,
)


class Exit(IntEnum):
    """What the exit code says; `tritonc --help` has a sentence for each."""

    DONE = 0
    NOT_COMPILED = 1
    WRONG_REQUEST = 2
    NOT_SERVED = 3
    NOT_FINISHED = 4
    INTERRUPTED = 130  # 128 + SIGINT, as shells say it


def main(
    argv: Sequence[str] | None = None,
    *,
    environment: Mapping[str, str] = os.environ,
    transport: BaseTransport | None = None,
) -> int:
    """Run one command and return its exit code; `transport` is the client's, for tests."""
    given = arguments.parser().parse_args(argv)
    url = given.url or environment.get("TRITOND_URL") or DEFAULT_URL
    try:
        with Client(url, api_key=environment.get("TRITOND_API_KEY"), transport=transport) as client:
            _run(given, client)
    except CompileFailed as error:
        return _end(Exit.NOT_COMPILED, error.render(_name(given.source)))
    except WaitExpired as error:
        return _end(Exit.NOT_FINISHED, f"tritonc: {error}")
    except (ServerUnavailable, UnexpectedAnswer) as error:
        return _end(Exit.NOT_SERVED, f"tritonc: {error}")
    except (ProblemError, ArgumentTypeError, InvalidURL, OSError, UnicodeDecodeError) as error:
        return _end(Exit.WRONG_REQUEST, f"tritonc: {error}")
    except KeyboardInterrupt:
        return _end(Exit.INTERRUPTED, "tritonc: interrupted; what was submitted goes on")
    return Exit.DONE


def _run(given: Namespace, client: Client) -> None:
    match given.command:
        case "compile":
            _compile(given, client)
        case "get":
            _write_json(client.get(given.key, wait_s=given.wait_s).raw)
        case "artifact":
            emission.write(client.artifact(given.key, given.stage, wait_s=given.wait_s), "-")
        case "cancel":
            _write_json(client.cancel(given.key).raw)
        case "targets":
            _write_json(client.targets())
        case "system":
            _write_json(client.system())


def _compile(given: Namespace, client: Client) -> None:
    emissions = emission.planned(given.emit, given.source)
    compilation = client.compile(
        _read(given.source),
        include=[stage for stage in emissions if stage not in emission.ON_DEMAND],
        check=False,
        **_members(given),
    )
    if not compilation.finished:
        raise WaitExpired(compilation.key, f"it is {compilation.state}", given.wait_s)
    sys.stderr.write(printable(compilation.stdout))
    if given.json:
        _write_json(compilation.raw)
    # what was reached is written before the failure is told: it is what one debugs with
    for stage, path in emissions.items():
        if stage in compilation.included:
            emission.write(compilation.included[stage], path)
    compilation.raise_unless_succeeded()
    for stage, path in emissions.items():
        if stage not in compilation.included:
            emission.write(client.artifact(compilation.key, stage, wait_s=given.wait_s), path)
    sys.stderr.write(_summary(compilation, _name(given.source)))


def _members(given: Namespace) -> dict[str, Any]:
    rare = {
        "files": {name: _read(path) for name, path in given.file} or None,
        "triton": given.triton,
        "priority": given.priority,
        "timeout_s": given.timeout_s,
        "refresh": given.refresh or None,
    }
    return {
        "target": given.target,
        "kernel": given.kernel,
        "signature": arguments.signature(given.signature),
        "constexprs": {name: arguments.value(text) for name, text in given.constexpr},
        "hints": {name: text.split(",") for name, text in given.hint} or None,
        "options": {name: arguments.value(text) for name, text in given.option},
        "stop_after": given.stop_after,
        "wait_s": given.wait_s,
        **{name: member for name, member in rare.items() if member is not None},
    }


def _read(path: str) -> str:
    return sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")


def _name(source: str) -> str:
    return "<stdin>" if source == emission.STDOUT else source


def _summary(compilation: Compilation, source_name: str) -> str:
    diagnostics, resources = compilation.diagnostics, compilation.resources
    sizes = [f"{stage} {a.size_bytes} bytes" for stage, a in compilation.artifacts.items()]
    numbers = [f"{name} {number}" for name, number in resources.items() if _is_number(number)]
    lines = [
        render_all(diagnostics, source_name),
        f"{compilation.kernel or source_name} for {compilation.target}: {compilation.cache}",
        f"key {compilation.key}",
        ", ".join(sizes),
        ", ".join(numbers),
    ]
    return "\n".join(filter(None, lines)) + "\n"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _write_json(document: Mapping[str, Any]) -> None:
    json.dump(document, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


def _end(code: Exit, message: str) -> Exit:
    sys.stderr.write(message.rstrip("\n") + "\n")
    return code

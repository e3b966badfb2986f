"""The entry point of `tritonc`: runs one command and turns failures into exit codes.

Results go to standard output, everything about them to standard error.
"""

import os
import sys
import traceback
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from enum import IntEnum
from pathlib import Path
from types import TracebackType
from typing import Any

from httpx import BaseTransport, InvalidURL
from tritonc_version import __version__

from tritonc._sync.client import Client
from tritonc.cli.completion_command import ASKED, complete
from tritonc.cli.interruption import Interrupted
from tritonc.cli.parser import command_parser, joined
from tritonc.cli.recent_keys import RecentKeys, whole_key
from tritonc.cli.refusal_words import refused
from tritonc.cli.streams import write_json
from tritonc.cli.terminal import Terminal
from tritonc.compile_body import SourceIsPath
from tritonc.diagnostic import printable
from tritonc.errors import (
    CompileFailed,
    LaunchFailed,
    ProblemError,
    ProgramFailed,
    ProofFailed,
    ServerUnavailable,
    TritoncError,
    UnexpectedAnswer,
    WaitExpired,
)
from tritonc.exchange import DEFAULT_URL, URL_VARIABLE, environment_key

_KEYS = ("key", "id", "a", "b")  # what users may shorten, by its attribute
TIMEOUT_S = 10.0  # for connecting, and for each silence of the service


class Exit(IntEnum):
    """Exit codes; `tritonc --help` explains each in a sentence."""

    DONE = 0
    NOT_GOOD = 1
    WRONG_REQUEST = 2
    NOT_SERVED = 3
    NOT_FINISHED = 4
    INTERRUPTED = 130  # 128 + SIGINT, as shells report it


_CODES: tuple[tuple[type[Exception], Exit], ...] = (
    (WaitExpired, Exit.NOT_FINISHED),
    (ServerUnavailable, Exit.NOT_SERVED),
    (UnexpectedAnswer, Exit.NOT_SERVED),
    (Interrupted, Exit.INTERRUPTED),
    (CompileFailed, Exit.NOT_GOOD),
    (LaunchFailed, Exit.NOT_GOOD),
    (ProgramFailed, Exit.NOT_GOOD),
    (ProofFailed, Exit.WRONG_REQUEST),
    (Exception, Exit.WRONG_REQUEST),
)


def main(
    argv: Sequence[str] | None = None,
    *,
    environment: Mapping[str, str] = os.environ,
    transport: BaseTransport | None = None,
) -> int:
    """Run one command and return its exit code; tests pass a `transport` for the client."""
    if argv is None:  # this process belongs to the command
        sys.excepthook = _say_traceback
    parser, terminal = command_parser(), Terminal(environment)
    if ASKED in environment:
        complete(parser)
    args = parser.parse_args(joined(sys.argv[1:] if argv is None else argv))
    if args.version:
        version = {"tritonc": __version__}
        write_json(version) if args.json else terminal.text(f"tritonc {__version__}")
        return Exit.DONE
    if args.command is None:
        terminal.say(parser.format_help())
        return Exit.WRONG_REQUEST
    url = args.url or environment.get(URL_VARIABLE) or DEFAULT_URL
    try:
        return _run(args, url, environment, terminal, transport)
    except BrokenPipeError:
        # the reader has closed the pipe, as in `tritonc targets | head`; flush nothing more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.DONE


def _say_traceback(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Write a traceback as Python does, with control characters of a server's text escaped."""
    sys.stderr.write(printable("".join(traceback.format_exception(kind, error, trace))))


def _run(
    args: Namespace,
    url: str,
    environment: Mapping[str, str],
    terminal: Terminal,
    transport: BaseTransport | None,
) -> Exit:
    try:
        key = environment_key(environment)
        on_loss = _loss_line(url, terminal)
        with Client(
            url, api_key=key, timeout_s=TIMEOUT_S, transport=transport, on_loss=on_loss
        ) as client:
            args.recent = RecentKeys.of(environment, url)
            for name in _KEYS:
                if (word := getattr(args, name, None)) and not Path(word).exists():
                    setattr(args, name, whole_key(word, args.recent, client))
            ended = args.run(args, client, terminal)
            if isinstance(ended, bool):
                return Exit.DONE if ended else Exit.NOT_GOOD
            return Exit(ended)
    except BrokenPipeError:
        raise
    except (
        TritoncError,
        Interrupted,
        ArgumentTypeError,
        InvalidURL,
        SourceIsPath,
        OSError,
    ) as error:
        return _failed(error, args, terminal)
    except KeyboardInterrupt:
        return _failed(Interrupted("interrupted"), args, terminal)


def _loss_line(url: str, terminal: Terminal) -> Callable[[ServerUnavailable], None]:
    """Return a function that writes, once and on terminals only, why a command waits."""
    is_written = not terminal.is_live

    def write(error: ServerUnavailable) -> None:
        nonlocal is_written
        if not is_written:
            is_written = True
            terminal.say(f"waiting for {url}: {error.problem or error.__cause__ or error}")

    return write


def _failed(error: Exception, args: Namespace, terminal: Terminal) -> Exit:
    """Report an error, also as the document of --json; return the exit code."""
    message = refused(error, args) if isinstance(error, ProblemError) else _message(error)
    code = next(code for kind, code in _CODES if isinstance(error, kind))
    if args.json:
        report: dict[str, Any] = {"exit_code": int(code), "message": message}
        if isinstance(error, ProblemError):
            report["problem"] = error.problem.raw
        if isinstance(error, WaitExpired):
            report["key"] = error.key
        with suppress(OSError):  # standard output itself may have failed
            write_json({"error": report})
    terminal.say(f"tritonc: {message}")
    return code


def _message(error: Exception) -> str:
    if isinstance(error, IsADirectoryError) and error.filename is not None:
        return f"{error.filename}: this is a folder; give a file in it"
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error)

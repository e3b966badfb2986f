"""The entry point of `tritonc`: runs one command and turns failures into exit codes.

Results go to standard output, everything about them to standard error.
"""

import os
import sys
from argparse import ArgumentTypeError
from collections.abc import Mapping, Sequence
from enum import IntEnum

from httpx import BaseTransport, InvalidURL

from tritonc._sync.client import Client
from tritonc.cli.parser import command_parser
from tritonc.cli.streams import name_of
from tritonc.cli.terminal import Terminal
from tritonc.errors import (
    CompileFailed,
    ProblemError,
    ServerUnavailable,
    UnexpectedAnswer,
    WaitExpired,
)
from tritonc.exchange import DEFAULT_URL


class Exit(IntEnum):
    """What the exit code says; `tritonc --help` has a sentence for each."""

    DONE = 0
    NOT_GOOD = 1
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
    parser, terminal = command_parser(), Terminal(environment)
    given = parser.parse_args(argv)
    if given.command is None:
        return _end(terminal, Exit.WRONG_REQUEST, parser.format_help())
    url = given.url or environment.get("TRITOND_URL") or DEFAULT_URL
    try:
        with Client(url, api_key=environment.get("TRITOND_API_KEY"), transport=transport) as client:
            return Exit.DONE if given.run(given, client, terminal) else Exit.NOT_GOOD
    except CompileFailed as error:
        return _end(terminal, Exit.NOT_GOOD, error.render(name_of(given.source)))
    except WaitExpired as error:
        return _end(terminal, Exit.NOT_FINISHED, f"tritonc: {error}")
    except (ServerUnavailable, UnexpectedAnswer) as error:
        return _end(terminal, Exit.NOT_SERVED, f"tritonc: {error}")
    except BrokenPipeError:
        # whoever reads has seen enough, as in `tritonc targets | head`; nothing more is flushed
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.DONE
    except (ProblemError, ArgumentTypeError, InvalidURL, OSError, UnicodeDecodeError) as error:
        return _end(terminal, Exit.WRONG_REQUEST, f"tritonc: {error}")
    except KeyboardInterrupt:
        return _end(terminal, Exit.INTERRUPTED, "tritonc: interrupted; what was submitted goes on")


def _end(terminal: Terminal, code: Exit, message: str) -> Exit:
    terminal.say(message)
    return code

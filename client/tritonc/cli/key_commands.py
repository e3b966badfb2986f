"""Commands on the key of a compilation: its stages, and what is made of it."""

import argparse
import base64
import re
from argparse import ArgumentTypeError, Namespace
from typing import Any

from tritonc._sync.client import Client
from tritonc.cli.compiling.emissions import EXPORTS, ON_DEMAND
from tritonc.cli.document_tables import show_tables
from tritonc.cli.get_command import compilation_of
from tritonc.cli.interruption import waiting
from tritonc.cli.kernel_flags import add_json, add_wait
from tritonc.cli.streams import STANDARD, write, write_json
from tritonc.cli.terminal import Terminal
from tritonc.diagnostic import with_own_name

_KEY = re.compile("[0-9a-f]{1,64}")
_ARTIFACTS = frozenset({"artifact", "export", *ON_DEMAND})
_TABLES = frozenset({"lines", "instructions", "passes"})
_MADE = {
    **{stage: f"write {what} to stdout" for stage, what in ON_DEMAND.items()},
    "lines": "show the output lines of each source line",
    "instructions": "count the machine instructions of each kind",
    "passes": "show which compiler passes changed the IR",
}


def add_commands(commands: Any) -> None:
    """Add these commands to the parser's."""
    artifact = _add(commands, "artifact", "write one stage to stdout")
    artifact.add_argument("stage", metavar="STAGE", help="ttir, ttgir, llir, ptx, cubin, ...")
    add_wait(artifact, default=60)
    export = _add(commands, "export", "write the kernel as source code to stdout")
    export.add_argument("format", metavar="FORMAT", choices=EXPORTS, help=", ".join(EXPORTS))
    add_wait(export, default=60)
    for name, text in _MADE.items():
        add_wait(_add(commands, name, text), default=60)


def run(args: Namespace, client: Client, terminal: Terminal) -> bool:
    """Write what is made of a compilation; return True.

    Raises ArgumentTypeError for a word that cannot be a key, such as a file's name.
    """
    if not _KEY.fullmatch(args.key):
        message = f"{args.key} is not a key: `{args.command}` takes that of a finished compilation"
        raise ArgumentTypeError(f"{message}, its beginning, or @last; `tritonc compile` prints it")
    args.key = compilation_of(args.key, args, client, terminal.say)
    wait_s = getattr(args, "wait_s", 0)
    with waiting(args, terminal, f"waiting for {args.command} of {args.key}", [args.key]):
        if args.command in _ARTIFACTS:
            content = _artifact(args, client, wait_s)
            if args.command == "sass" and not args.json:
                content = with_own_name(content, args.recent.name_of(args.key))
        else:
            document = _document(args, client, wait_s)
    if args.command in _TABLES:
        show_tables(args, document, terminal)
    elif args.json:
        write_json({"key": args.key, "artifact": _name(args), **_content(content)})
    else:
        write(content, STANDARD)
    return True


def _add(
    commands: Any, name: str, text: str, key: str = "the compilation's key, a prefix, or @last"
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text)
    parser.add_argument("key", metavar="KEY", help=key)
    add_json(parser)
    parser.set_defaults(run=run)
    return parser


def _document(args: Namespace, client: Client, wait_s: float) -> Any:
    made = {
        "lines": client.lines,
        "instructions": client.instructions,
        "passes": client.passes,
    }
    return made[args.command](args.key, wait_s=wait_s)


def _artifact(args: Namespace, client: Client, wait_s: float) -> bytes:
    if args.command == "export":
        return client.export(args.key, args.format, wait_s=wait_s)
    return client.artifact(args.key, _name(args), wait_s=wait_s)


def _name(args: Namespace) -> str:
    name: str = {"artifact": "stage", "export": "format"}.get(args.command, "command")
    return str(getattr(args, name))


def _content(content: bytes) -> dict[str, str]:
    """Return bytes as JSON members: text if possible, otherwise base64."""
    try:
        return {"text": content.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}

"""`tritonc completion`: scripts that let a shell complete commands, flags and targets.

argcomplete takes the candidates from the parser; the service lists the targets.
"""

import os
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from typing import Any

from tritonc._sync.client import Client
from tritonc.cli.terminal import Terminal
from tritonc.service_errors import TritoncError

SHELLS = ("bash", "zsh", "fish")
ASKED = "_ARGCOMPLETE"  # the script sets it while the shell collects candidates
_TIMEOUT_S = 1.0  # the user is waiting after pressing Tab
_HOW = """\
bash, in ~/.bashrc:                eval "$(tritonc completion bash)"
zsh, in ~/.zshrc after compinit:   eval "$(tritonc completion zsh)"
fish:                              tritonc completion fish > ~/.config/fish/completions/tritonc.fish
"""


def add_command(commands: Any) -> None:
    """Add `completion` to the parser's commands."""
    parser = commands.add_parser(
        "completion",
        help="write a shell completion script",
        epilog=_HOW,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=SHELLS)
    parser.set_defaults(run=run)


def run(args: Namespace, client: Client, terminal: Terminal) -> bool:  # noqa: ARG001
    """Write the script; return True."""
    from argcomplete.shell_integration import shellcode

    terminal.text(shellcode(["tritonc"], shell=args.shell))
    return True


def complete(parser: ArgumentParser) -> None:
    """Answer the shell's request for candidates, and end this process."""
    import argcomplete

    argcomplete.autocomplete(parser)


def targets(prefix: str, parsed_args: Namespace, **_: Any) -> list[str]:
    """Return the service's targets that start with `prefix`; none if the service is down."""
    try:
        url = parsed_args.url or os.environ.get("TRITOND_URL")
        with Client(url, timeout_s=_TIMEOUT_S) as client:
            known = client.targets()["targets"]
    except (TritoncError, KeyError):
        return []
    before, comma, last = prefix.rpartition(",")
    # the shell interprets these names
    shown = [name for name in known if name.isascii() and name.isprintable()]
    return [before + comma + name for name in shown if name.startswith(last)]

"""The command line: all commands and their `--help`. Nothing is executed here."""

import argparse
import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any, NoReturn

from tritonc.cli import (
    completion_command,
    diff_command,
    explain_command,
    gate_command,
    get_command,
    key_commands,
    learn_command,
    lookup_commands,
    prove_command,
    upgrade_command,
)
from tritonc.cli.compiling import compile_command, watch_command
from tritonc.cli.launching import launch_command
from tritonc.cli.programs import program_command, warm_command
from tritonc.cli.sweeping import sweep_command
from tritonc.diagnostic import IR_SUFFIXES

EPILOG = """\
exit codes:
  0  success; for launches and programs: the verdict is passed, or not_checked without reference,
     and no serious flag makes a program that passed incorrect
  1  the kernel did not compile or run, or the verdict of the launch or program is not good
  2  the request is wrong: unknown option, type, target, file or key, or no permission
  3  the service is unreachable, or cannot serve now
  4  not finished within --wait-s; `tritonc get KEY` waits again
  130  interrupted by Ctrl-C; a message lists what is still running

environment:
  TRITOND_URL      URL of the service (default http://127.0.0.1:8000)
  TRITOND_API_KEY  API key; there is no flag, since other users can see command lines
  TRITOND_API_KEY_FILE  a file with the key instead
  NO_COLOR         no colours; FORCE_COLOR=1: colours even if the output is not a terminal

examples:
  tritonc compile vector_add.py --target cuda:90 --constexpr BLOCK_SIZE=1024 \\
      --like 'x_ptr=fp32[4096]' 'y_ptr=fp32[4096]' 'output_ptr=fp32[4096]' n_elements=4096 \\
      --emit ptx=-
  tritonc compile a.py b.py --target cuda:80 --target cuda:90 --signature '*fp32:16,i32'
"""
_MAX_CHARS = 100
_CHOICE = re.compile(r"invalid choice: '(?P<word>[^']*)'")
_UNKNOWN = re.compile(r"unrecognized arguments: (?P<words>.*)")
_MEANT = {
    ("prove", "--races"): "--check races",
    ("prove", "--racecheck"): "--check races",
    ("launch", "--races"): "--check racecheck",
    ("launch", "--racecheck"): "--check racecheck",
    ("launch", "--fuzz"): "--check fuzz",
}
"""Flags that users expect, by command, and how it writes them."""
_TARGET = re.compile(r"(?:cuda|hip):\w+|sm_\w+|gfx\w+|[a-z]{1,4}\d+\w*|\d+", re.IGNORECASE)
_SOURCES = frozenset({".py", ".toml", *IR_SUFFIXES})
_REQUIRED = "the following arguments are required"

_EXAMPLES = {
    "compile": "compile vector_add.py --target cuda:90 --emit ptx=-",
    "watch": "watch vector_add.py --target cuda:90",
    "inspect": "inspect vector_add.py --template",
    "list": "list launches --state failed",
    "get": "get @last --wait-s 60",
    "cancel": "cancel @last",
    "artifact": "artifact @last cubin > kernel.cubin",
    "export": "export @last rust > kernel.rs",
    **{name: f"{name} @last" for name in ("sass", "numpy", "lines", "instructions", "passes")},
    "targets": "targets --json",
    "devices": "devices --json",
    "system": "system --json",
    "usage": "usage --json",
}
"""An example of each command whose own help has none."""


@cache
def command_parser() -> argparse.ArgumentParser:
    """Return the parser of `tritonc`, built once; `run` of its namespace is the command.

    A notebook uses it for every cell.
    """
    root = _SuggestingParser(
        prog="tritonc",
        description="Compile and run Triton GPU kernels on a tritond service.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    where = ("--url", "--server")
    root.add_argument(*where, help="URL of the service; overrides TRITOND_URL")
    root.add_argument("--json", action="store_true", help="write one JSON document to stdout")
    text = "show the version of this client; `tritonc system` shows that of the service"
    root.add_argument("--version", action="store_true", help=text)
    commands = root.add_subparsers(dest="command", metavar="COMMAND")
    compile_command.add_command(commands)
    diff_command.add_command(commands)
    explain_command.add_command(commands)
    launch_command.add_command(commands)
    program_command.add_command(commands)
    warm_command.add_command(commands)
    prove_command.add_command(commands)
    sweep_command.add_command(commands)
    watch_command.add_command(commands)
    gate_command.add_command(commands)
    upgrade_command.add_command(commands)
    learn_command.add_command(commands)
    get_command.add_command(commands)
    get_command.add_commands(commands)
    lookup_commands.add_commands(commands)
    key_commands.add_commands(commands)
    lookup_commands.add_command(commands)
    completion_command.add_command(commands)
    for name, example in _EXAMPLES.items():
        commands.choices[name].epilog = f"example:\n  tritonc {example}"
        commands.choices[name].formatter_class = argparse.RawDescriptionHelpFormatter
    for parser in _below(root):  # users may write it after the command, too
        parser.add_argument(*where, default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    return root


def _below(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield the parsers of all commands and subcommands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield inner
                yield from _below(inner)


def joined(words: Sequence[str]) -> list[str]:
    """Join the value of --sort to its flag, such as `--sort -registers`.

    argparse mistakes a word that begins with a dash for a flag.
    """
    kept: list[str] = []
    for word in words:
        is_column = word.startswith("-") and not word.startswith("--")
        if kept and kept[-1] == "--sort" and is_column:
            kept[-1] = f"--sort={word}"
        else:
            kept.append(word)
    return kept


class _SuggestingParser(argparse.ArgumentParser):
    """Parses like argparse. A wrong command or flag is answered with the closest one.

    A mistyped flag is reported before one that is missing, since it may be the same.
    """

    _words: Sequence[str] = ()

    # typed as in argparse, whose overloads are of no use here
    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse, and remember the words for errors."""
        self._words = list(args or ())
        return super().parse_known_args(self._arranged(self._words), namespace)

    def _arranged(self, words: Sequence[str]) -> list[str]:
        """Return the words with FILE before a flag that would take it, and joined targets.

        argparse gives a flag for several words all that follow it.
        """
        kept: list[str] = []
        files: list[str] = []
        flag: argparse.Action | None = None
        own = 0  # words of the flag so far
        for index, word in enumerate(words):
            if word == "--":
                kept += words[index:]
                break
            if word.startswith("-") and word != "-":
                flag, own = self._flag(word), 0
                kept.append(word)
                continue
            if flag is not None and _may_take_file(flag) and _is_source(word):
                files.append(word)
            elif flag is not None and flag.dest == "targets" and own and _is_target(word):
                kept[-1] += f",{word}"
            else:
                kept.append(word)
                if own and flag is not None and flag.nargs is None:
                    flag = None
            own += 1
        leading = [*takewhile(lambda word: not word.startswith("-"), kept)]
        return [*leading, *files, *kept[len(leading) :]]

    def _flag(self, word: str) -> argparse.Action | None:
        return next((each for each in self._actions if word in each.option_strings), None)

    def error(self, message: str) -> NoReturn:
        """Write the usage and the error, and exit with 2, as argparse does."""
        if _UNKNOWN.match(message) and (command := self._command()):
            command.error(message)  # argparse reports it by the root, with the root's usage
        if message.startswith(_REQUIRED) and (unknown := self._unknown_flags()):
            message = f"unrecognized arguments: {' '.join(unknown)}"
        super().error(message + self._suggestion(message))

    def _command(self) -> argparse.ArgumentParser | None:
        """Return the parser of the command that the words name, None without one."""
        chosen: argparse.ArgumentParser | None = None
        actions = self._actions
        for word in self._words:
            commands = (each for each in actions if isinstance(each, argparse._SubParsersAction))
            if inner := next((each.choices.get(word) for each in commands), None):
                chosen, actions = inner, inner._actions
        return chosen

    def _unknown_flags(self) -> list[str]:
        """Return the words that look like long flags and abbreviate none of this command."""
        known = sorted(set(self._flags()))
        words = [word.partition("=")[0] for word in self._words if word.startswith("--")]
        return [word for word in words if not any(flag.startswith(word) for flag in known)]

    def _suggestion(self, message: str) -> str:
        if (match := _UNKNOWN.search(message)) and (repeated := self._repeated(match["words"])):
            return repeated
        if match and "--" in self._words:
            return f"; {self.prog} passes no arguments to FILE"
        if match := _CHOICE.search(message):
            word, known = match["word"], self._choices(message)
        elif match := _UNKNOWN.search(message):
            flags = (word for word in match["words"].split() if word.startswith("-"))
            word, known = next(flags, "").partition("=")[0], self._flags()
        else:
            return ""
        if meant := _MEANT.get((self.prog.split()[-1], word)):
            return f"; did you mean {meant}?"
        others = sorted({*known} - {word})
        close = get_close_matches(word[:_MAX_CHARS], others, n=1, cutoff=0.6)
        return f"; did you mean {close[0]}?" if close else ""

    def _repeated(self, unknown: str) -> str:
        """Return how many targets a command takes if unknown words follow one, "" elsewhere."""
        if "--target" not in self._flags() or "--target" not in self._words:
            return ""
        first = self._words.index("--target") + 1
        words = [*self._words[first : first + 1]]
        words += takewhile(lambda word: word in unknown.split(), self._words[first + 1 :])
        if len(words) < 2 or not all(map(_TARGET.fullmatch, words)):
            return ""
        return f"; {self.prog} takes one target"

    def _choices(self, message: str) -> Iterable[str]:
        """Return the choices of the argument that a message names, in argparse's words."""
        for action in self._actions:
            if action.choices is not None and message.startswith(f"argument {_name(action)}:"):
                yield from map(str, action.choices)

    def _flags(self) -> Iterable[str]:
        for action in self._actions:
            yield from action.option_strings


def _may_take_file(flag: argparse.Action) -> bool:
    return flag.nargs in {"+", "?"} and flag.metavar != "SOURCE"


def _is_source(word: str) -> bool:
    return Path(word).suffix in _SOURCES and Path(word).is_file()


def _is_target(word: str) -> bool:
    return _TARGET.fullmatch(word) is not None and not Path(word).exists()


def _name(action: argparse.Action) -> str:
    return "/".join(action.option_strings) or str(action.metavar or action.dest)

"""An argument parser whose errors suggest what was probably meant."""

import argparse
import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

MOST_CHARS = 100
_CHOICE = re.compile(r"invalid choice: '(?P<word>[^']*)'")
_UNKNOWN = re.compile(r"unrecognized arguments: (?P<words>.*)")
_REQUIRED = "the following arguments are required"


class SuggestingParser(argparse.ArgumentParser):
    """Parses like argparse. A wrong command or flag is answered with the closest one.

    A mistyped flag is reported before one that is missing, since it may be the same.
    """

    _words: Sequence[str] = ()

    # typed as in argparse, whose overloads are of no use here
    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse, and remember the words for errors."""
        self._words = list(args or ())
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Write the usage and the error, and exit with 2, as argparse does."""
        if message.startswith(_REQUIRED) and (unknown := self._unknown_flags()):
            message = f"unrecognized arguments: {' '.join(unknown)}"
        super().error(message + self._suggestion(message))

    def _unknown_flags(self) -> list[str]:
        """Return the words that look like long flags and abbreviate none of this command."""
        known = sorted(set(self._flags()))
        words = [word.partition("=")[0] for word in self._words if word.startswith("--")]
        return [word for word in words if not any(flag.startswith(word) for flag in known)]

    def _suggestion(self, message: str) -> str:
        if match := _CHOICE.search(message):
            word, known = match["word"], self._choices(message)
        elif match := _UNKNOWN.search(message):
            flags = (word for word in match["words"].split() if word.startswith("-"))
            word, known = next(flags, "").partition("=")[0], self._flags()
        else:
            return ""
        close = get_close_matches(word[:MOST_CHARS], sorted(set(known)), n=1, cutoff=0.6)
        return f"; did you mean {close[0]}?" if close else ""

    def _choices(self, message: str) -> Iterable[str]:
        """Return the choices of the argument that a message names, in argparse's words."""
        for action in self._actions:
            if action.choices is not None and message.startswith(f"argument {_name(action)}:"):
                yield from map(str, action.choices)

    def _flags(self) -> Iterable[str]:
        for action in self._actions:
            yield from action.option_strings
            if isinstance(action, argparse._SubParsersAction):
                for parser in action.choices.values():
                    yield from (flag for a in parser._actions for flag in a.option_strings)


def _name(action: argparse.Action) -> str:
    return "/".join(action.option_strings) or str(action.metavar or action.dest)

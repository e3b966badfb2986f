"""`userArguments`: a plug-in's compiler flags, with the syntax of `tritonc compile`.

This module splits the flags. The compile request checks the values.
"""

import json
import math
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from compiler.rejection import did_you_mean

MAX_CHARS = 16 << 10
USAGE = (
    "--kernel NAME  --signature NAME=TYPE ...  --constexpr NAME=VALUE ...  "
    "--option NAME=VALUE ...  --stage STAGE"
)
_PYTHON = {"True": True, "False": False, "None": None}
_EXACT_DIGITS = 15


class ArgumentsRefused(ValueError):
    """Invalid `userArguments`; the message has the place."""


@dataclass(frozen=True)
class UserArguments:
    """Parsed flags; absent ones are empty."""

    kernel: str | None = None
    signature: Mapping[str, str] = field(default_factory=dict)
    signature_by_position: str | None = None
    constexprs: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    stage: str | None = None


def read_arguments(text: str) -> UserArguments:
    """Parse `text`.

    `--flag=value` equals `--flag value`. A flag of pairs takes all pairs that follow it.
    Raises ArgumentsRefused.
    """
    if len(text) > MAX_CHARS:
        raise ArgumentsRefused(
            f"the arguments have {len(text)} characters; at most {MAX_CHARS} are allowed"
        )
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ArgumentsRefused(f"{error} in {text[:200]!r}") from None
    arguments, flag, took = UserArguments(), "", True
    for word in words:
        name, equals, value = word.partition("=")
        if word.startswith("--"):
            _require_value(flag, took)
            flag, took = name, False
            if name not in _FLAGS:
                raise ArgumentsRefused(
                    f"{name[:100]!r} is not a flag here.{did_you_mean(name, _FLAGS)} Write {USAGE}"
                )
            word = value if equals else ""
        if word:
            arguments, took = _take(arguments, flag, word, took), True
    _require_value(flag, took)
    return arguments


def value_of(text: str) -> Any:
    """Parse a value as `tritonc` does: JSON, True, False or None, otherwise a string."""
    if text in _PYTHON:
        return _PYTHON[text]
    try:
        return json.loads(text, parse_int=_int, parse_float=_float, parse_constant=_no_json)
    except (ValueError, RecursionError):
        return text


def _int(digits: str) -> Any:
    return int(digits) if len(digits) <= _EXACT_DIGITS else {"int": digits}


def _float(digits: str) -> Any:
    number = float(digits)
    return number if math.isfinite(number) else {"float": str(number)}


def _no_json(name: str) -> Any:
    raise ValueError(name)


def _take(read: UserArguments, flag: str, word: str, took: bool) -> UserArguments:
    if not flag:
        raise ArgumentsRefused(f"{word[:100]!r} is not a flag; write {USAGE}")
    if took and flag in _SINGLE:
        raise ArgumentsRefused(f"{word[:100]!r} is a second value of {flag}, which takes only one")
    return _FLAGS[flag](read, word)


def _require_value(flag: str, took: bool) -> None:
    if not took:
        raise ArgumentsRefused(f"{flag} has no value; write {USAGE}")


def _pair(flag: str, word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not name or not equals:
        raise ArgumentsRefused(f"{flag} {word[:100]!r} is not NAME=VALUE")
    return name, value


def _signature(read: UserArguments, word: str) -> UserArguments:
    if "=" not in word:
        return replace(read, signature_by_position=word)
    name, kind = _pair("--signature", word)
    return replace(read, signature={**read.signature, name: kind})


def _constexpr(read: UserArguments, word: str) -> UserArguments:
    name, value = _pair("--constexpr", word)
    return replace(read, constexprs={**read.constexprs, name: value_of(value)})


def _option(read: UserArguments, word: str) -> UserArguments:
    name, value = _pair("--option", word)
    return replace(read, options={**read.options, name: value_of(value)})


_FLAGS: Mapping[str, Callable[[UserArguments, str], UserArguments]] = {
    "--kernel": lambda read, word: replace(read, kernel=word),
    "--signature": _signature,
    "--constexpr": _constexpr,
    "--option": _option,
    "--stage": lambda read, word: replace(read, stage=word),
}
_SINGLE = frozenset({"--kernel", "--stage"})

"""Converts pydantic's errors of a request's fields to our own, with suggestions.

Work that it makes is bounded by the errors that are answered, whatever was posted.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from compiler.rejection import MAX_ERRORS, FieldError, did_you_mean, pointer
from compiler.request.options import BACK_OPTIONS

_MAX_GUESSES = 5
_QUOTED = re.compile("'([^']+)'")


def field_errors(
    error: ValidationError, model: type[BaseModel], at: str = ""
) -> tuple[FieldError, ...]:
    """Return the first errors that `model` reported, at most MAX_ERRORS, of a body at pointer `at`.

    A slip in a field's name is held against the fields of the part that it is in, and one in a
    word against the words that are allowed there.
    """
    guesses = _Guesses(model)
    items = islice(error.errors(include_url=False), MAX_ERRORS)
    return tuple(_fault(item, guesses, at) for item in items)


def _fault(item: ErrorDetails, guesses: "_Guesses", at: str) -> FieldError:
    message, place = item["msg"], item["loc"]
    match item["type"]:
        case "literal_error":
            message += guesses.of_word(item["input"], item["ctx"]["expected"])
        case "extra_forbidden":
            message = guesses.removed(place) or f"unknown field{guesses.of(place)}"
        case "model_type" | "dict_type":
            message = "must be a JSON object"
        case "missing":
            message = "this field is needed"
    return FieldError(at + pointer(*place), message)


class _Guesses:
    """Suggestions for the first unknown fields and words of a request; each one takes time."""

    def __init__(self, model: type[BaseModel]) -> None:
        self._model = model
        self._left = _MAX_GUESSES

    def removed(self, place: tuple[str | int, ...]) -> str | None:
        """Return why a field of the request is there no longer; None: it never was."""
        removed: Mapping[str, str] = getattr(self._model, "removed_fields", {})
        return removed.get(str(place[0])) if len(place) == 1 else None

    def of_word(self, word: object, allowed: str) -> str:
        """Return a suggestion for a word that is none of those in quotes in `allowed`."""
        if self._left == 0 or not isinstance(word, str):
            return ""
        self._left -= 1
        meant = did_you_mean(word, _QUOTED.findall(allowed))
        return f".{meant}" if meant else ""

    def of(self, place: tuple[str | int, ...]) -> str:
        if self._left == 0:
            return ""
        self._left -= 1
        name = str(place[-1])
        names = _names(self._model, place[:-1])
        inner = _member_with(self._model, name) if len(place) == 1 else None
        if name in BACK_OPTIONS and "options" in names:
            inner = "options"
        if inner is not None:
            return f"; it belongs in `{inner}`"
        meant = did_you_mean(name, names)
        return f".{meant}" if meant else ""


def _member_with(model: type[BaseModel], name: str) -> str | None:
    """Return the first member of a request that has a field of this name, None without one."""
    for member, field in model.model_fields.items():
        parts = _models([field.annotation])
        if any(
            name in (own, field.alias) for part in parts for own, field in part.model_fields.items()
        ):
            return field.alias or member
    return None


def _names(model: type[BaseModel], place: tuple[str | int, ...]) -> list[str]:
    """Return the names that the fields of the part at `place` have in JSON."""
    parts = [model]
    for step in place:
        inner = [
            field.annotation
            for part in parts
            for name, field in part.model_fields.items()
            if step in (name, field.alias)
        ]
        # any other step is an index of a list or a key of a dict: the models are the same
        parts = list(_models(inner)) if inner else parts
    return [field.alias or name for part in parts for name, field in part.model_fields.items()]


def _models(annotations: Iterable[Any]) -> Iterator[type[BaseModel]]:
    for annotation in annotations:
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield annotation
        else:
            yield from _models(get_args(annotation))

"""Reads examples in the OpenAPI document: JSON files in folders `examples` next to routes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel

_Model = TypeVar("_Model", bound=BaseModel)


def example(file: Path) -> Any:
    """Return the example in `file`."""
    return orjson.loads(file.read_bytes())


def _answer(record: BaseModel) -> Any:
    return record.model_dump(mode="json")


def answers(
    file: Path, model: type[_Model], answer: Callable[[_Model], Any] = _answer
) -> dict[str, Any]:
    """Return the answers in `file`, by title, as `answer` writes their records.

    The file leaves out members with defaults, which the record adds. Raises ValidationError.
    """
    records = {title: model.model_validate(item) for title, item in example(file).items()}
    return {title: answer(record) for title, record in records.items()}

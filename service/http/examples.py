"""Examples of answers in the OpenAPI document: files of `service/examples`, by name."""

from functools import cache
from pathlib import Path
from typing import Any, Final

import orjson

_FOLDER: Final = Path(__file__).parent.parent / "examples"


@cache
def example(name: str) -> Any:
    """Return the example, None if there is no such file."""
    file = _FOLDER / f"{name}.json"
    return orjson.loads(file.read_bytes()) if file.exists() else None

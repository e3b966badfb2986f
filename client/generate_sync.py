"""Writes the blocking client, `tritonc/_sync`, from the asyncio client.

Builds of the distribution call it, editable ones too. `make` calls it after `_async` changed.
"""

import re
import tempfile
from pathlib import Path
from typing import Any

import unasync
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE = Path(__file__).parent / "tritonc" / "_async"
TARGET = SOURCE.with_name("_sync")
HEADER = "# Generated from tritonc/_async/{name} by client/generate_sync.py; change that file.\n"
NAMES = {
    "_async": "_sync",
    "asyncio": "time",
    "AsyncBaseTransport": "BaseTransport",
    "AsyncBatches": "Batches",
    "AsyncClient": "Client",
    "AsyncConnection": "Connection",
    "AsyncLaunches": "Launches",
    "AsyncPrograms": "Programs",
    "AsyncProofs": "Proofs",
    "AsyncSweeps": "Sweeps",
    "AsyncTensors": "Tensors",
    "aclose": "close",
    "aiter_raw": "iter_raw",
    "aiter_text": "iter_text",
}
PROSE = {
    ", for asyncio": "",
    "`async with`": "`with`",
}


class GenerateSync(BuildHookInterface[Any]):
    """Generates the blocking client before hatchling collects files."""

    def initialize(self, _version: str, _build_data: dict[str, Any]) -> None:
        """Generate; called by hatchling."""
        generate()


def generate() -> None:
    """Write the blocking form of every file of `_async` into `_sync`, where it differs."""
    with tempfile.TemporaryDirectory() as folder:
        rule = unasync.Rule(f"{SOURCE}/", f"{folder}/", additional_replacements=NAMES)
        unasync.unasync_files([str(path) for path in SOURCE.glob("*.py")], [rule])
        texts = {path.name: path.read_text() for path in Path(folder).glob("*.py")}
    TARGET.mkdir(exist_ok=True)
    for path in TARGET.glob("*.py"):
        if path.name not in texts:
            path.unlink()
    for name, text in texts.items():
        path, generated = TARGET / name, HEADER.format(name=name) + _prose(text)
        if not path.exists() or path.read_text() != generated:
            path.write_text(generated)
    (TARGET / "__init__.py").touch()  # newer than its sources, for make


def _prose(text: str) -> str:
    """Return the text with its docstrings adapted to the blocking client."""
    for words, instead in PROSE.items():
        text = text.replace(words, instead)
    return re.sub(r"\b(\w+)\b", lambda word: NAMES.get(word[0], word[0]), text)


if __name__ == "__main__":
    generate()

"""Writes the blocking client, `tritonc/_sync`, from the asyncio client: `make client`.

The generated files are committed, so that installing the client needs no build step.
"""

import re
import subprocess
import sys
from pathlib import Path

import unasync

SOURCE = Path(__file__).parent / "tritonc" / "_async"
LINT = [
    f"--config={Path(__file__).parents[1] / 'pyproject.toml'}",
    '--config=lint.isort.known-first-party=["tritonc"]',  # the target folder may be anywhere
]
HEADER = "# Generated from tritonc/_async/{name} by `make client`; change that file instead.\n"
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


def generate(folder: Path) -> None:
    """Write the blocking form of every file of `_async` into `folder`."""
    rule = unasync.Rule(f"{SOURCE}/", f"{folder}/", additional_replacements=NAMES)
    unasync.unasync_files([str(path) for path in SOURCE.glob("*.py")], [rule])
    for path in folder.glob("*.py"):
        path.write_text(HEADER.format(name=path.name) + _prose(path.read_text()))
    mend = ["check", "--select=I,UP028", "--fix", "--unsafe-fixes"]  # imports, `yield from`
    for action in (mend, ["format"]):
        ruff = [sys.executable, "-m", "ruff", *action, "--quiet", *LINT, str(folder)]
        subprocess.run(ruff, check=True)


def _prose(text: str) -> str:
    """Return the text with its docstrings adapted to the blocking client."""
    for words, instead in PROSE.items():
        text = text.replace(words, instead)
    return re.sub(r"\b(\w+)\b", lambda word: NAMES.get(word[0], word[0]), text)


if __name__ == "__main__":
    generate(Path(sys.argv[1]) if sys.argv[1:] else SOURCE.with_name("_sync"))

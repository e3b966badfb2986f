"""Programs of public suites as requests; the folders are the caller's checkouts.

Nothing is executed here. In TritonBench's files the part below the line of `#` is a test; code
there that turns tensors into numbers is removed, since it is not part of the program.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_LINE = re.compile(r"^#{20,}\s*$", re.MULTILINE)
_TO_NUMBERS = re.compile(
    r"(?:\.detach\(\)|\.cpu\(\))*\.(?:item|numpy|tolist)\(\)|(?<=\w)\.cpu\(\)(?=[,\])}\s])"
)
_COMPARISONS = re.compile(r"\btorch\.(?:allclose|equal)\(")
_NO_COMPARISON = "\n\ndef _not_compared(*_, **__):\n    return True\n\n"
_TOLERANCE = {"rtol": 1e-2, "atol": 1e-2}
_NEW = {"kind": "model", "class": "ModelNew"}
_OLD = {"kind": "model", "class": "Model"}


@dataclass(frozen=True)
class SuiteProgram:
    """A program of a suite; without a `reference` it is only recorded and compiled."""

    name: str
    source: str
    entry: dict[str, Any]
    reference: str | None = None
    reference_entry: dict[str, Any] | None = None
    tolerance: dict[str, float] | None = None

    def body(self, timeout_s: float) -> dict[str, Any]:
        """Return the body of POST /v1/programs."""
        body: dict[str, Any] = {
            "source": self.source,
            "entry": self.entry,
            "timeout_s": timeout_s,
            "priority": "batch",
            "tolerance": self.tolerance,
        }
        if self.reference is not None:
            body["reference"] = {
                "source": self.reference,
                "entry": self.reference_entry or self.entry,
            }
        return body


def kernelbench(folder: Path) -> Iterator[SuiteProgram]:
    """Yield the references of levels 1 to 3, each against itself."""
    for path in sorted(folder.glob("KernelBench/level[123]/*.py"), key=_number):
        text = path.read_text()
        yield SuiteProgram(f"{path.parent.name}/{path.stem}", text, _OLD, text)


def models(folder: Path) -> Iterator[SuiteProgram]:
    """Yield `<name>.py` with `ModelNew` against `<name>_reference.py`, for any folder.

    The tolerance is KernelBench's, since such programs multiply matrices as TF32.
    """
    for path in sorted(folder.glob("*.py")):
        reference = path.with_name(f"{path.stem}_reference.py")
        if reference.exists():
            texts = path.read_text(), _NEW, reference.read_text(), _OLD
            yield SuiteProgram(path.stem, *texts, _TOLERANCE)


def tritonbench_g(folder: Path) -> Iterator[SuiteProgram]:
    """Yield kernels with their wrappers and tests, as scripts against themselves."""
    yield from _scripts(folder / "data/TritonBench_G_v1")


def tritonbench_t(folder: Path) -> Iterator[SuiteProgram]:
    """Yield functions of torch with their tests, as scripts against themselves."""
    yield from _scripts(folder / "data/TritonBench_T_v1")


def scripts(folder: Path) -> Iterator[SuiteProgram]:
    """Yield every file of any folder as a script against itself."""
    for path in sorted(folder.glob("*.py")):
        text = path.read_text()
        yield SuiteProgram(path.stem, text, {"kind": "script"}, text)


SUITES: dict[str, Callable[[Path], Iterator[SuiteProgram]]] = {
    "kernelbench": kernelbench,
    "tritonbench-g": tritonbench_g,
    "tritonbench-t": tritonbench_t,
    "models": models,
    "scripts": scripts,
}


def _scripts(folder: Path) -> Iterator[SuiteProgram]:
    for path in sorted(folder.glob("*.py")):
        text = without_numbers(path.read_text())
        yield SuiteProgram(path.stem, text, {"kind": "script"}, text)


def without_numbers(text: str) -> str:
    """Return a file of TritonBench whose test keeps tensors as tensors."""
    lines = list(_LINE.finditer(text))
    if not lines:
        return text
    place = lines[-1].start()
    program, test = text[:place], text[place:]
    test = _COMPARISONS.sub("_not_compared(", _TO_NUMBERS.sub("", test))
    return program + _NO_COMPARISON + test if "_not_compared(" in test else program + test


def _number(path: Path) -> tuple[str, int]:
    return path.parent.name, int(path.stem.partition("_")[0])

"""Files of a hostile checkout end the gate with a reason, within its time and memory."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.client.gate.gate_service import KERNEL, GateService, asking_for, gate, write_gate

FILE, SOURCE = Path("kernels.toml"), Path("double.py")


def more(text: str) -> Callable[[], None]:
    """Return what adds a text to the gate file."""
    return lambda: FILE.write_text(FILE.read_text() + text) and None


def source(text: str) -> Callable[[], None]:
    return lambda: SOURCE.write_text(text + KERNEL) and None


def pipe(path: Path) -> Callable[[], None]:
    """Return what puts a pipe without a writer in the place of a file."""

    def make() -> None:
        path.unlink(missing_ok=True)
        os.mkfifo(path)

    return make


def sparse(path: Path, size_bytes: int = 5 << 30) -> Callable[[], None]:
    """Return what creates a file whose size takes no room on the disk."""

    def make() -> None:
        path.touch()
        os.truncate(path, size_bytes)

    return make


def many_cells() -> None:
    targets = [f"cuda:{number}" for number in range(1000)]
    kernels = (f"[kernels.k{number}]\nsource = 'double.py'\n" for number in range(100))
    FILE.write_text(f"[matrix]\ntargets = {targets}\n" + "".join(kernels))


def large_sources() -> None:
    for number in range(17):
        Path(f"k{number}.py").write_text(("#" * 127 + "\n") * (4 << 13))
    kernels = (f"[kernels.k{number}]\nsource = 'k{number}.py'\n" for number in range(17))
    FILE.write_text("[matrix]\ntargets = ['cuda:90']\n" + "".join(kernels))


HOSTILE: dict[str, tuple[Callable[[], None], str]] = {
    "a gate file that is a pipe": (pipe(FILE), "this is not a regular file"),
    "a large gate file": (sparse(FILE), "more than the 1 MiB allowed"),
    "lists in lists": (more("x = " + "[" * 50_000), "nested too deeply"),
    "tables in tables": (more("x = " + "{a=" * 50_000), "nested too deeply"),
    "a key of many levels": (more("a" + ".a" * 100_000 + " = 1\n"), "more than 32 levels"),
    "a quoted key of many levels": (more("'a'" + ".'b'" * 33 + " = 1\n"), "more than 32 levels"),
    "a table of many levels": (more("[x" + ". y" * 100_000 + "]\n"), "more than 32 levels"),
    "many unknown keys": (more("".join(f"z{n} = 1\n" for n in range(20_000))), "unknown key"),
    "many cells": (many_cells, "are more than the 10000 allowed"),
    "a source that is a pipe": (pipe(SOURCE), "this is not a regular file"),
    "a large source": (sparse(SOURCE), "more than the 4 MiB allowed"),
    "many large sources": (large_sources, "at most 64 MiB of sources"),
    "a baseline that is a pipe": (pipe(Path("kernels.baseline.json")), "not a regular file"),
    "a large baseline": (sparse(Path("kernels.baseline.json")), "more than the 64 MiB"),
}


@pytest.mark.parametrize(("make", "reason"), HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.timeout(120)
def test_a_hostile_file_is_refused_by_its_reason(
    service: GateService, capsys: Any, make: Callable[[], None], reason: str
) -> None:
    write_gate("[budgets]\nregisters = 'baseline'")
    make()

    assert gate(service) == 2

    said = capsys.readouterr().err
    assert reason in said
    assert len(said) < 200_000
    assert not service.requests


def test_an_imported_module_is_read_within_its_limit(service: GateService, capsys: Any) -> None:
    write_gate("")
    source("import large\n")()
    sparse(Path("large.py"))()
    service.compiled = asking_for("large")

    assert gate(service) == 2

    assert "large: the module cannot be read: " in capsys.readouterr().err


@pytest.mark.parametrize(
    "imported",
    [
        pytest.param("import a" + ".a" * 100_000, id="many levels"),
        pytest.param("import " + "a" * 100_000, id="a long name"),
        pytest.param("from " + "." * 5000 + " import a", id="many folders above"),
    ],
)
def test_an_import_that_no_file_can_have_is_left_to_the_service(
    service: GateService, imported: str
) -> None:
    write_gate("[budgets]\nregisters = 100")
    source(f"{imported}\n")()

    assert gate(service) == 0
    assert not service.requests[0].get("files")


def test_one_file_may_have_many_kernels(service: GateService) -> None:
    """It is read once, so it counts once."""
    SOURCE.write_text(("#" * 127 + "\n") * (3 << 13) + KERNEL)
    kernels = (
        f"[kernels.k{n}]\nsource = 'double.py'\nkernel = 'double'\nsignature = '*fp32'\n"
        for n in range(22)
    )
    FILE.write_text("[matrix]\ntargets = ['cuda:90']\n" + "".join(kernels))

    assert gate(service) == 0


def test_a_baseline_nested_deeply_is_no_baseline(service: GateService, capsys: Any) -> None:
    write_gate("[budgets]\nregisters = 'baseline'")
    head = json.dumps({"version": 1})[:-1]
    Path("kernels.baseline.json").write_text(f'{head}, "kernels": ' + "[" * 100_000)

    assert gate(service) == 2
    assert "this is not a baseline" in capsys.readouterr().err

"""Code at module level ends in bounded CPU time, with an error at the line that ran."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.integration.compiler.children import ROOT

LOADS = """
import json, sys
from compiler.diagnostic import Failure
from compiler.front import module_execution, module
module_execution.MAX_CPU_S = 0.05
order = json.load(sys.stdin)
try:
    module.load(order["source"], order["files"], module="pkg.kernels")
except Failure as failure:
    found = failure.diagnostics[0]
    print(json.dumps([failure.slug, failure.message, found.file, found.line, found.excerpt]))
"""
BUSY = "import signal\nwhile True:\n    signal.raise_signal(signal.SIGXCPU)\n"
"""Takes the signal that the sandbox sends each second."""


def failure_of(source: str, **files: str) -> Any:
    order = {"source": source, "files": {f"pkg/{name}.py": text for name, text in files.items()}}
    done = subprocess.run(
        [sys.executable, "-c", LOADS],
        cwd=ROOT,
        input=json.dumps(order),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout or "null")


def test_code_at_module_level_that_takes_too_long_fails_at_its_line() -> None:
    slug, message, file, line, excerpt = failure_of(BUSY)

    assert slug == "compile_timeout"
    assert "longer than 0.05 s of CPU, at user.py:3; move work out of module level" in message
    assert (file, line) == ("user.py", 3)
    assert "signal.raise_signal" in excerpt


def test_it_fails_at_the_line_of_a_further_file() -> None:
    _, message, file, line, _ = failure_of("from .table import TABLE\n", table=BUSY)

    assert "at pkg/table.py:3;" in message
    assert (file, line) == ("pkg/table.py", 3)


@pytest.mark.parametrize("caught", ["Exception", "BaseException"])
def test_code_that_catches_all_exceptions_is_ended_the_next_time(caught: str) -> None:
    swallows = (
        "import signal\nn = 0\ndef ask():\n    signal.raise_signal(signal.SIGXCPU)\n"
        "while n < 3:\n    try:\n        while True:\n            ask()\n"
        f"    except {caught}:\n        n += 1\nask()\n"
    )

    _, message, *_ = failure_of(swallows)

    assert "at user.py:4;" in message


def test_short_code_is_not_ended() -> None:
    assert failure_of("import signal\nsignal.raise_signal(signal.SIGXCPU)\n") is None

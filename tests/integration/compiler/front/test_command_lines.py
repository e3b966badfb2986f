"""Files that read their command line when they are loaded: it has no arguments here."""

from __future__ import annotations

import pytest

from tests.integration.compiler.children import Children
from tests.integration.compiler.front.test_modules_of_packages import (
    HEAD,
    KERNEL,
    compile_text,
    stored,
)

VALUE = "VALUE = tl.constexpr(5.0)\n"
ARGPARSE = (
    "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('n', type=int)\n"
)


@pytest.mark.parametrize(
    "lines",
    ["import sys\nN = int(sys.argv[1])\n", ARGPARSE + "N = parser.parse_args().n\nM = 2 * N\n"],
)
def test_a_kernel_that_does_not_need_an_argument_compiles(children: Children, lines: str) -> None:
    assert stored(compile_text(children, HEAD + VALUE + lines + KERNEL)) == "5.000000e+00"


def test_a_kernel_that_needs_an_argument_is_refused_at_its_line(children: Children) -> None:
    text = HEAD + "import sys\nVALUE = tl.constexpr(float(sys.argv[1]))\n" + KERNEL

    failure = compile_text(children, text).failure

    assert failure is not None
    assert failure["message"].startswith("line 4: IndexError")


def test_a_kernel_that_has_a_default_for_an_argument_assumes_none(children: Children) -> None:
    text = "import sys\ntry:\n    V = float(sys.argv[1])\nexcept IndexError:\n    V = 7.0\n"

    compiled = compile_text(children, f"{HEAD}{text}VALUE = tl.constexpr(V)\n{KERNEL}")

    assert stored(compiled) == "7.000000e+00"
    assert compiled.front is not None
    assert "command line without arguments" in compiled.front["assumptions"][0]["message"]


@pytest.mark.parametrize("line", ["raise RuntimeError('no GPU')\n", "raise SystemExit('usage')\n"])
def test_a_statement_that_ends_the_file_has_a_hint(children: Children, line: str) -> None:
    failure = compile_text(children, HEAD + VALUE + line + KERNEL).failure

    assert failure is not None
    hint = 'put it below `if __name__ == "__main__":`'
    assert hint in failure["diagnostics"][0]["hint"]
    below = f'if __name__ == "__main__":\n    {line}'
    assert stored(compile_text(children, HEAD + VALUE + KERNEL + below)) == "5.000000e+00"

"""A source that breaks the sandbox's rules gets the sandbox's slug, its line, and a hint."""

from __future__ import annotations

import pytest

from tests.integration.service import bodies
from tests.integration.service.conftest import Post

HEADER = "import triton\nimport triton.language as tl\n"
KERNEL = "\n@triton.jit\ndef kernel(x_ptr, SIZE: tl.constexpr = SIZE):\n    tl.store(x_ptr, SIZE)\n"


def test_the_cause_is_reported_and_what_followed_from_it(post: Post) -> None:
    code = 'open("/etc/size")'

    answer = post(bodies.running(code)).json()

    assert answer["problem"]["slug"] == "sandbox_violation"
    assert answer["problem"]["retryable"] is True
    cause, consequence = answer["diagnostics"]
    assert "PermissionError" in cause["message"]
    assert cause["excerpt"].split("\n")[0].strip() == code
    assert "opens no file" in cause["hint"]
    assert consequence["message"] == "so 'kernel' is missing"
    assert consequence["line"] > cause["line"]


@pytest.mark.parametrize(
    ("lines", "slug", "hint"),
    [
        ('import os\nSIZE = int(os.environ["SIZE"])\n', "compile_error", "No environment variable"),
        ("import sqlite3\nSIZE = sqlite3.SQLITE_DENY\n", "missing_module", "Python's sqlite3"),
    ],
    ids=["environment", "module"],
)
def test_what_is_merely_not_there_is_explained(
    post: Post, lines: str, slug: str, hint: str
) -> None:
    source = HEADER + lines + KERNEL
    body = {"source": source, "signature": {"x_ptr": "*fp32"}, "target": "cuda:90"}

    answer = post(body).json()

    assert answer["problem"]["slug"] == slug
    assert hint in answer["diagnostics"][0]["hint"]


@pytest.mark.parametrize("number", ["SIGKILL", "SIGSTOP"])
def test_a_source_that_signals_itself_is_not_tried_again(post: Post, number: str) -> None:
    code = f"import signal\nsignal.raise_signal(signal.{number})"

    answer = post(bodies.running(code)).json()

    assert answer["problem"]["slug"] == "sandbox_violation"

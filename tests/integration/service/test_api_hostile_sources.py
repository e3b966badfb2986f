"""Malicious sources get a named failure, and do not affect the next job."""

from __future__ import annotations

import secrets

import pytest

from tests.integration.service import bodies
from tests.integration.service.conftest import Post

ENDED = {
    "endless loop": ("while True: pass", "compile_timeout"),
    "endless recursion": (
        "import sys\nsys.setrecursionlimit(10**9)\ndef f(): return f()\nf()",
        "compile_timeout",
    ),
    "os._exit": ("import os\nos._exit(0)", "sandbox_violation"),
    "null pointer": ("import ctypes\nctypes.string_at(0)", "compiler_crashed"),
    "output flood": ("while True: print('spam' * 1000)", "sandbox_violation"),
    "memory bomb": ("kept = []\nwhile True: kept.append(bytes(64 << 20))", "memory_exceeded"),
    "forged frame": (
        "import os\nfor fd in range(3, 32):\n    try: os.write(fd, b'TRTD' + bytes(200))\n"
        "    except OSError: pass",
        "sandbox_violation",
    ),
}
REFUSED = {
    "kill itself": "import os\nos.kill(os.getpid(), 9)",
    "kill its parent": "import os\nos.kill(os.getppid(), 9)",
    "kill everybody": "import os\nos.kill(-1, 9)",
    "fork bomb": "import os\nwhile True: os.fork()",
    "thread bomb": "import _thread\nwhile True: _thread.start_new_thread(print, ())",
    "a shell": "import subprocess\nsubprocess.run(['/bin/sh', '-c', 'id'])",
    "a file": "open('/etc/passwd').read()",
    "the environment of others": "open('/proc/1/environ').read()",
    "writing a file": "open('/tmp/was-here', 'w')",
    "the network": "import socket\nsocket.socket().connect(('127.0.0.1', 6379))",
    "sys.exit": "import sys\nsys.exit(0)",
}
SECRET = "TRITOND_"


def assert_next_job_is_fine(post: Post) -> None:
    answer = post(bodies.running(f"pass  # job {secrets.token_hex(4)} after an attack"))
    assert answer.status_code == 200
    assert (answer.json()["state"], answer.json()["cache"]) == ("succeeded", "miss")


@pytest.mark.parametrize("name", ENDED)
def test_harm_is_ended_by_name(post: Post, name: str) -> None:
    code, slug = ENDED[name]

    # a timeout longer than a slow machine takes, but short enough to wait for
    answer = post(bodies.running(code, timeout_s=1 if slug == "compile_timeout" else 30))

    assert answer.status_code == 200
    assert answer.json()["state"] == "failed"
    assert answer.json()["problem"]["slug"] == slug
    assert answer.json()["problem"]["retryable"] is True
    assert_next_job_is_fine(post)


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_sandbox_refuses_is_an_error_at_its_line(post: Post, name: str) -> None:
    answer = post(bodies.running(REFUSED[name], timeout_s=30))

    assert answer.status_code == 200
    assert answer.json()["state"] == "failed"
    assert answer.json()["artifacts"] == {}
    assert answer.json()["diagnostics"][0]["line"] is not None
    slug = "compile_error" if name == "sys.exit" else "sandbox_violation"
    assert answer.json()["problem"]["slug"] == slug
    assert_next_job_is_fine(post)


def test_the_environment_holds_no_setting_of_the_worker(post: Post) -> None:
    answer = post(bodies.running("import os\nprint(dict(os.environ))")).json()

    assert answer["state"] == "succeeded"
    assert "PYTHONHASHSEED" in answer["stdout"]
    assert SECRET not in answer["stdout"]


def test_nothing_is_left_for_the_next_source_to_see(post: Post) -> None:
    post(bodies.running("import builtins, sys\nbuiltins.left = 1\nsys.modules['left'] = sys"))

    answer = post(
        bodies.running(
            "import builtins, sys\nprint(hasattr(builtins, 'left'), 'left' in sys.modules)"
        )
    ).json()

    assert answer["stdout"].startswith("False False")


def test_only_posters_of_a_forged_result_see_it(post: Post) -> None:
    """A source may lie about itself; the same kernel without the lie is compiled honestly."""
    lie = "import triton.compiler.code_generator as g\ng.ast_to_ttir = lambda *a, **k: 'a lie'"

    lied = post(bodies.running(lie)).json()
    honest = post(bodies.running("pass  # no lie")).json()

    assert lied["key"] != honest["key"]
    assert honest["state"] == "succeeded"


@pytest.mark.parametrize("slug", ["made_up", "worker_lost", "unauthorized"])
def test_a_failure_with_a_name_that_is_not_its_own_is_no_report(post: Post, slug: str) -> None:
    forgery = f"""
import sys
class Forged(Exception):
    slug, stage, message, diagnostics = "{slug}", "ttir", "not true", []
def raise_forged(*arguments, **keywords):
    raise Forged
sys.modules["compiler.front.front"].find = raise_forged
"""
    answer = post(bodies.running(forgery))

    assert answer.json()["problem"]["slug"] == "sandbox_violation"
    assert "not true" not in answer.json()["problem"]["detail"]
    assert_next_job_is_fine(post)

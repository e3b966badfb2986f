"""Hostile texts of a server are escaped on a terminal, and unchanged in a pipe.

The server listens on loopback, the terminal is a real pty, and the client is complete.
"""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import threading
from argparse import Namespace
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import tritonc
from tritonc.cli import completion_command
from tritonc.cli.main import main
from tritonc.cli.parser import command_parser

from tests.unit.client import fake_tritond
from tests.unit.client.fake_tritond import KEY

HOSTILE = "a\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\u202e\u2066\u200f\u061c\u2028\ud800z"
SHOWN = r"a\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\u202e\u2066\u200f\u061c\u2028\ud800z"
IN_JSON = SHOWN.replace(r"\x", r"\u00")
BYTES = HOSTILE.replace("\ud800", "").encode() + b" \x9b2J\n"
DRIVES = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
KEPT = frozenset({"key", "url", "id", "state", "verdict", "kind", "media_type"})
"""Members that control the client; all other texts are hostile."""


def hostile(document: Any, kinds: Any = str) -> Any:
    if isinstance(document, dict):
        return {n: m if n in KEPT else hostile(m, kinds) for n, m in document.items()}
    if isinstance(document, list):
        return [hostile(member, kinds) for member in document]
    return HOSTILE if isinstance(document, kinds) else document


LAUNCH = fake_tritond.launch(
    verdict="out_of_bounds",
    findings=[fake_tritond.OUT_OF_BOUNDS],
    outputs={"y_ptr": fake_tritond.output(3)},
    stdout="said",
)
SWEEP = {
    "id": "ab12", "url": "/v1/sweeps/ab12", "state": "failed", "kind": "compilations", "note": "n",
    "axes": [{"name": "a", "values": ["b"]}], "rows": [], "counts": {HOSTILE: 1},
    "problem": {"slug": "s", "detail": "d"},
}  # fmt: skip
KERNEL = {"name": "n", "calls": [], "parameters": [{"name": "x", "constexpr": False}]}
ITEM = {"id": "ab12", "state": "failed", "kernel": "k", "target": "t", "submitted_at": "t"}
LINE = {"file": "user.py", "line": 1, "ptx": [1, 2], "total": 1, "by_class": {HOSTILE: 1}}
COUNTED = {"total": 1, "code_bytes": 1, "by_class": {HOSTILE: 1}, "by_opcode": {HOSTILE: 2}}
PASS = {"stage": "s", "name": "n", "changed": True, "before": "b", "after": "a"}
ANSWERS: dict[str, Any] = {
    "/v1/compilations": fake_tritond.failure(stdout="said", included={"ptx": "text"}),
    f"/v1/compilations/{KEY}": fake_tritond.failure(stdout="said"),
    f"/v1/compilations/{KEY}/lines": {"lines": [LINE]},
    f"/v1/compilations/{KEY}/passes": {"passes": [PASS]},
    f"/v1/compilations/{KEY}/instructions": COUNTED | {"by_line": [LINE]},
    "/v1/launches": LAUNCH,
    "/v1/launches/ab12": LAUNCH,
    "/v1/sweeps": SWEEP,
    "/v1/sweeps/ab12": SWEEP,
    "/v1/targets": {"targets": ["cuda:90"], "toolchains": [{"triton": "t", "targets": ["t"]}]},
    "/v1/inspect": {"kernels": [KERNEL], "problem": None},
    "/v1/system": {"version": "v", "workers": {HOSTILE: 1}, "sandbox": {HOSTILE: {"level": "l"}}},
    "/v1/devices": {"devices": [{"target": "t", "model": "m", "count": 1}]},
    "/v1/usage": {"days": [{"day": "2026-01-01", HOSTILE: 1}]},
    **{f"/v1/{name}": {"items": [ITEM], "next": None} for name in ("batches", "proofs")},
}


NUMBERS_TOO = "/numbers-too"
"""Below it, numbers and flags are hostile texts as well."""


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        kinds = (str, int, float) if path.startswith(NUMBERS_TOO) else str
        path = path.removeprefix(NUMBERS_TOO)
        length = int(self.headers.get("Content-Length") or 0)
        self.rfile.read(length)
        if "/artifacts/" in path or "/exports/" in path:
            return self._send(200, BYTES, "text/plain")
        problem = {"status": 404, "slug": "odd", "title": "t", "detail": "d", "type": "t"}
        body = ANSWERS.get(path, problem)
        status = 200 if path in ANSWERS else 404
        return self._send(status, json.dumps(hostile(body, kinds)).encode(), "application/json")

    do_POST = do_GET  # noqa: N815
    do_DELETE = do_GET  # noqa: N815

    def log_message(self, *words: Any) -> None:
        """Log nothing: pytest shows what a test prints."""

    def _send(self, status: int, content: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("kernel.py").write_text("import triton\n@triton.jit\ndef k(x): pass\n")
    Path("kernel.contract").write_text("grid == (1,)\n")
    path = json.dumps(HOSTILE.replace("\ud800", ""))
    Path("kernels.toml").write_text(f"[kernels.k]\nsource = {path}\n")


def on_terminal(url: str, words: list[str], monkeypatch: pytest.MonkeyPatch, **more: str) -> str:
    """Run the command with a terminal for both of its streams; return what it wrote."""
    ours, theirs = pty.openpty()
    said = bytearray()
    reader = threading.Thread(target=_read_all, args=(ours, said))
    reader.start()
    with os.fdopen(theirs, "w", encoding="utf-8", buffering=1) as terminal:
        monkeypatch.setattr(sys, "stdout", terminal)
        monkeypatch.setattr(sys, "stderr", terminal)
        with suppress(TypeError, ValueError) if NUMBERS_TOO in url else nullcontext():
            main(words, environment={"TRITOND_URL": url, "TERM": "xterm", **more})
        monkeypatch.undo()
    reader.join()
    os.close(ours)
    return said.decode().replace("\r\n", "\n")


def _read_all(descriptor: int, into: bytearray) -> None:
    try:
        while data := os.read(descriptor, 1 << 16):
            into += data
    except OSError:  # Linux reports this after the last writer has closed
        pass


COMPILE = ["kernel.py", "--target", "cuda:90", "--signature", "*fp32"]
SHOWING = [
    ["compile", *COMPILE],
    ["compile", *COMPILE, "--emit", "ptx=-"],
    ["launch", "kernel.py", "--grid", "1"],
    ["inspect", "kernel.py"],
    ["sweep", *COMPILE, "--space", "BLOCK=1"],
    ["program", "run", "kernel.py"],
    ["diff", KEY, KEY],
    ["get", KEY],
    ["cancel", "ab12" * 8],
    ["artifact", KEY, "ptx"],
    ["export", KEY, "c"],
    ["sass", KEY],
    ["gate", "kernels.toml"],
    ["targets"],
]
ALSO_SHOWING = [
    ["list"],
    ["explain", *COMPILE],
    ["prove", "kernel.py", "--contract", "kernel.contract"],
    ["upgrade", "kernel.py", "--target", "cuda:90", "--triton", "3.8,3.9"],
    ["tape", "kernel.py"],
    ["warm", "kernel.py", "--target", "cuda:90"],
    ["numpy", KEY],
    ["lines", KEY],
    ["instructions", KEY],
    ["passes", KEY],
    ["devices"],
    ["system"],
    ["usage"],
    ["learn"],
    ["learn", "add_ten"],
]
"""Further commands, some of which show no text of such a server, but a reason."""
SHOWING_NOTHING = {"completion", "watch"}
"""The first asks no service; the second compiles, and does not end."""
IN_JSON_SHOWING = [
    ["get", KEY, "--json"],
    ["get", "ab12" * 8, "--json"],
    ["lines", KEY, "--json"],
    ["passes", KEY, "--json"],
    ["instructions", KEY, "--json"],
    ["cancel", KEY, "--json"],
    ["targets", "--json"],
    ["compile", *COMPILE, "--json"],
    ["launch", "kernel.py", "--grid", "1", "--json"],
    ["program", "run", "kernel.py", "--json"],
]


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("words", SHOWING, ids=" ".join)
def test_a_terminal_is_shown_what_would_drive_it(
    url: str, words: list[str], monkeypatch: pytest.MonkeyPatch
):
    said = on_terminal(url, words, monkeypatch, NO_COLOR="1")

    assert SHOWN.partition("\\ud800")[0] in said
    assert not DRIVES.search(said)


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("words", IN_JSON_SHOWING, ids=" ".join)
def test_json_on_a_terminal_is_json_still(
    url: str, words: list[str], monkeypatch: pytest.MonkeyPatch
):
    said = on_terminal(url, words, monkeypatch, NO_COLOR="1")

    assert IN_JSON in said
    assert not DRIVES.search(said)
    document, _ = json.JSONDecoder().raw_decode(said[said.index("{\n") :])
    assert json.dumps(HOSTILE) in json.dumps(document)


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("below", ["", NUMBERS_TOO])
@pytest.mark.parametrize("words", [*SHOWING, *ALSO_SHOWING], ids=" ".join)
def test_no_command_drives_a_terminal(
    url: str, words: list[str], below: str, monkeypatch: pytest.MonkeyPatch
):
    said = on_terminal(url + below, words, monkeypatch, NO_COLOR="1")

    assert said or below, "a fault of the command is shown as test_a_traceback_drives_nothing does"
    assert not DRIVES.search(said)


def test_every_command_is_attacked():
    shown = {words[0] for words in (*SHOWING, *ALSO_SHOWING)}
    [commands] = [item for item in command_parser()._actions if item.dest == "command"]

    assert set(commands.choices) == shown | SHOWING_NOTHING


def test_our_own_colours_are_left(url: str, kernel: None, monkeypatch: pytest.MonkeyPatch):
    said = on_terminal(url, ["compile", *COMPILE], monkeypatch)

    assert "\x1b[" in said
    assert SHOWN in said
    assert not DRIVES.search(re.sub(r"\x1b\[[0-9;]*m", "", said))


@pytest.mark.parametrize("words", [["artifact", KEY, "ptx"], ["export", KEY, "c"], ["sass", KEY]])
def test_a_pipe_gets_the_bytes_as_they_are(url: str, words: list[str]):
    command = [sys.executable, "-m", "tritonc", "--url", url, *words]

    assert subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout == BYTES


def test_a_pipe_gets_json_as_it_is(url: str):
    command = [sys.executable, "-m", "tritonc", "--url", url, "get", KEY, "--json"]

    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)

    assert HOSTILE.partition("\x07")[2].partition("\x1b")[0].encode() in done.stdout
    assert "\x9b31m\x7f\u202e".encode() in done.stdout
    assert json.loads(done.stdout)["stdout"] == HOSTILE


def test_an_error_that_python_shows_drives_nothing(url: str):
    with tritonc.Client(url) as client, pytest.raises(tritonc.ProblemError) as refused:
        client.launches.get("nowhere")

    assert SHOWN in str(refused.value)
    assert not DRIVES.search(str(refused.value))


def test_a_shell_is_offered_no_target_that_would_drive_its_terminal(url: str):
    assert completion_command.targets("", Namespace(url=url)) == []


def test_a_traceback_drives_nothing():
    failing = (
        f"import sys\nfrom tritonc.cli import main\ndef fail(*_): raise ValueError({HOSTILE!r})"
    )
    failing += "\nmain._run = fail\nsys.argv = ['tritonc', 'targets']\nmain.main()"

    done = subprocess.run([sys.executable, "-c", failing], stderr=subprocess.PIPE, text=True)

    assert f"ValueError: {SHOWN}" in done.stderr
    assert not DRIVES.search(done.stderr)

"""The installed wheels work without a checkout."""

from __future__ import annotations

import json
import re
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.service.running import free_port
from tests.waiting import wait_until

ROOT = Path(__file__).parents[2]
IMPORT_ALL = """
import importlib, json, pkgutil, sys

absent = {}
for package in sys.argv[1:]:
    folders = importlib.import_module(package).__path__
    for module in pkgutil.walk_packages(folders, package + "."):
        if module.name.endswith("__main__"):
            continue
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            absent[module.name] = error.name
print(json.dumps({"absent": absent, "from": sys.modules[sys.argv[1]].__file__}))
"""
NOT_NEEDED = {"cuda", "torch"}
"""Packages of the extra `gpu`, and optional ones next to a worker."""


def run(program: Path, *arguments: str, cwd: Path) -> str:
    done = subprocess.run([program, *arguments], cwd=cwd, env={}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def url(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of the installed `tritond up`."""
    folder, port = tmp_path_factory.mktemp("up"), str(free_port())
    command = [programs / "tritond", "up", "--port", port, "--data", str(folder / "data")]
    log = folder / "log"
    with log.open("wb") as output:
        up = subprocess.Popen(command, cwd=folder, env={}, stdout=output, stderr=output)
    address = f"http://127.0.0.1:{port}"
    ready = f"tritond is ready at {address} "
    wait_until(lambda: ready in log.read_text(), "up is ready", log.read_text)
    yield address
    up.terminate()
    assert up.wait(30) == 0, log.read_text()


def test_every_module_is_there_and_can_be_imported(programs: Path, tmp_path: Path):
    packages = sorted(path.parent.name for path in ROOT.glob("*/__init__.py"))

    reported = json.loads(
        run(programs / "python", "-P", "-c", IMPORT_ALL, *packages, "tritonc", cwd=tmp_path)
    )

    assert set(reported["absent"].values()) <= NOT_NEEDED
    assert "site-packages" in reported["from"]


def test_the_commands_say_what_they_are(programs: Path, tmp_path: Path):
    assert run(programs / "tritond", "--version", cwd=tmp_path).startswith("tritond ")
    assert "tritond service" in run(programs / "tritonc", "--help", cwd=tmp_path)


def test_a_kernel_is_compiled_and_then_known(programs: Path, url: str, tmp_path: Path):
    command = [
        *("--url", url, "compile", str(ROOT / "examples/vector_add.py"), "--json"),
        *("--signature", "*fp32:16,*fp32:16,*fp32:16,i32", "--constexpr", "BLOCK_SIZE=1024"),
        *("--target", "cuda:90"),
    ]

    first, again = (json.loads(run(programs / "tritonc", *command, cwd=tmp_path)) for _ in range(2))

    assert (first["state"], first["cache"]) == ("succeeded", "miss")
    assert "cubin" in first["artifacts"]
    assert (again["key"], again["cache"]) == (first["key"], "hit")


def test_the_page_is_there_as_it_was_built(url: str):
    with urllib.request.urlopen(url) as page:
        html = page.read().decode()
    [script] = re.findall(r'src="(page/main-[A-Z0-9]{8}\.js)"', html)
    with urllib.request.urlopen(f"{url}/{script}") as served:
        assert "immutable" in served.headers["cache-control"]

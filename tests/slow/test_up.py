"""`tritond up`: one tree of processes on one data folder, which always ends together."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from store import keys
from store.connection import connect
from tests.integration.service import bodies
from tests.integration.service.running import Process, free_port
from tests.security.tree import descendants, wait_until_dead
from tests.waiting import comes_true, wait_until


class TritondUp(Process):
    """`tritond up` on a port and a data folder."""

    def __init__(self, folder: Path, name: str, port: int | None = None, **settings: str) -> None:
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        words = ["up", "--port", str(self.port), "--data", str(folder / "data")]
        super().__init__(folder / f"{name}.log", "-m", "service.command", *words, **settings)

    def wait_until_ready(self) -> None:
        wait_until(lambda: "tritond is ready" in self.said, "up is ready", lambda: self.said)


Start = Callable[..., TritondUp]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder that tests use in turn, so only one of them tries the targets."""
    return tmp_path_factory.mktemp("up")


@pytest.fixture(scope="module")
def started() -> Iterator[list[TritondUp]]:
    """Yield the started processes; end those that still run."""
    started: list[TritondUp] = []
    yield started
    for up in started:
        if up.still_runs():
            up.stop()


@pytest.fixture
def start(folder: Path, started: list[TritondUp]) -> Start:
    """Start `tritond up`; first end the process that uses its data."""

    def start(
        name: str, port: int | None = None, *, alone: bool = True, **settings: str
    ) -> TritondUp:
        for up in started:
            if alone and up.still_runs():
                up.stop()
        started.append(TritondUp(folder, f"{len(started)}-{name}", port, **settings))
        return started[-1]

    return start


@pytest.fixture
def up(start: Start, started: list[TritondUp]) -> TritondUp:
    """Return a ready one: that of the previous test if it still runs."""
    running = [each for each in started if each.still_runs()]
    up = running[0] if running else start("up")
    up.wait_until_ready()
    return up


def compile_something(url: str) -> str:
    answer = httpx.post(
        f"{url}/v1/compilations?wait=60", json=bodies.good("vector_add"), timeout=90
    )
    state: str = answer.json()["state"]
    return state


async def written(redis_url: str) -> None:
    """Return once the store has synced its append-only file, as it does every second."""
    async with connect(redis_url, max_connections=1) as redis:
        await redis.set(keys.PROBE, b"", ex=1)

        async def is_in_file() -> bool:
            in_file, _ = await redis.waitaof(1, 0, 1000)
            return bool(in_file)

        await comes_true(is_in_file)


def redis_url_of(up: TritondUp) -> str:
    (worker,) = workers_of(up)
    variables = Path(f"/proc/{worker}/environ").read_text().split("\0")
    (url,) = (v.partition("=")[2] for v in variables if v.startswith("TRITOND_REDIS_URL="))
    return url


def is_served(url: str) -> bool:
    with suppress(httpx.TransportError):
        return httpx.get(f"{url}/readyz").is_success
    return False


def workers_of(up: TritondUp) -> set[int]:
    tree = descendants(up.pid)
    return {pid for pid in tree if command_of(pid).rstrip().endswith("-m worker")}


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except FileNotFoundError:  # it ended just now
        return ""


def test_a_worker_that_dies_is_started_again(up: TritondUp) -> None:
    (killed,) = workers_of(up)

    os.kill(killed, signal.SIGKILL)

    wait_until(lambda: workers_of(up) - {killed} != set(), "another worker", lambda: up.said)
    assert compile_something(up.url) == "succeeded"
    assert "the worker ended with status -9; starting it again" in up.said
    assert up.still_runs()


def test_a_second_one_on_the_same_data_folder_is_refused(up: TritondUp, start: Start) -> None:
    second = start("second", alone=False)

    assert second.wait() != 0
    assert "Another tritond is running on" in second.said
    assert "--data" in second.said
    assert "Traceback" not in second.said
    assert up.still_runs()


def test_when_it_is_killed_no_process_is_left_and_the_cache_is(up: TritondUp, start: Start) -> None:
    assert compile_something(up.url) == "succeeded"
    asyncio.run(written(redis_url_of(up)))
    tree = descendants(up.pid)

    up.kill()

    wait_until_dead(tree)
    again = start("again")
    wait_until(lambda: is_served(again.url), "the service answers", lambda: again.said)
    body = bodies.good("vector_add")
    answer = httpx.post(f"{again.url}/v1/compilations", json=body, timeout=90)
    assert answer.json()["cache"] == "hit"


def test_a_part_that_dies_ends_the_others(up: TritondUp) -> None:
    tree = descendants(up.pid)
    (valkey,) = (pid for pid in tree if "valkey-server" in command_of(pid))

    os.kill(valkey, signal.SIGKILL)

    assert up.wait() == 1
    assert "the embedded Valkey ended" in up.said
    wait_until_dead(tree)


def test_it_compiles_and_sigterm_leaves_no_process(up: TritondUp) -> None:
    assert compile_something(up.url) == "succeeded"
    tree = descendants(up.pid)
    assert len(tree) >= 5, "Valkey, the service, the worker, its zygote and spare children"

    up.send(signal.SIGTERM)

    assert up.wait() == 0
    wait_until_dead(tree)
    assert "Traceback" not in up.said


def test_ctrl_c_while_it_starts_leaves_no_process(start: Start) -> None:
    up = start("interrupted")
    wait_until(lambda: len(descendants(up.pid)) >= 4, "its parts are starting", lambda: up.said)
    tree = descendants(up.pid)

    up.send(signal.SIGINT)

    assert up.wait() == 0
    wait_until_dead(tree)
    assert "Traceback" not in up.said


def test_a_port_that_is_taken_is_said(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

        up = start("elsewhere", port)

        assert up.wait() != 0
    assert str(port) in up.said
    assert "address already in use" in up.said.lower()
    assert "Traceback" not in up.said
    assert "tritond is ready" not in up.said


def test_a_port_of_another_tritond_on_the_same_store_is_refused(
    up: TritondUp, start: Start
) -> None:
    second = start("second", up.port, alone=False, TRITOND_REDIS_URL=redis_url_of(up))

    assert second.wait() == 1
    assert "tritond is ready" not in second.said
    assert f"cannot listen on 127.0.0.1:{up.port}" in second.said


def test_a_store_from_the_environment_is_named_at_the_start(up: TritondUp, start: Start) -> None:
    line = "TRITOND_REDIS_URL is set: that server keeps the data"

    second = start("second", alone=False, TRITOND_REDIS_URL=redis_url_of(up))

    wait_until(lambda: line in second.said, "the store is named", lambda: second.said)
    second.stop()


def test_only_the_service_holds_the_admin_key(start: Start) -> None:
    secret = "tritond_" + "s" * 40
    up = start("keyed", TRITOND_ADMIN_KEY=secret, TRITOND_API_KEY=secret)
    up.wait_until_ready()

    tree = descendants(up.pid)
    holders = {pid for pid in tree if secret.encode() in environment_of(pid)}

    assert len(tree) > 3
    assert [command_of(pid).split()[-1] for pid in holders] == ["service"]


def environment_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except FileNotFoundError:  # it ended just now
        return b""


@pytest.mark.parametrize("module", ["service", "worker"])
def test_a_part_takes_no_arguments(tmp_path: Path, module: str) -> None:
    part = Process(tmp_path / "part.log", "-m", module, "up")

    assert part.wait() == 2
    assert "unrecognized arguments: up" in part.said

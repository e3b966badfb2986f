"""The embedded server: private, persistent, alone on its folder, gone with its parent."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from store import embedded
from store.connection import connect, connect_blocking
from store.embedded import EmbeddedValkey
from store.errors import DataFolderInUse, NoServerBinary, StoreUnavailable
from store.jobs.consumer import JobConsumer
from store.jobs.producer import JobProducer
from store.jobs.types import Priority
from tests.waiting import LIMIT_S, wait_until

PARENT = """
import asyncio, signal, sys
from pathlib import Path
from store.embedded import EmbeddedValkey
server = EmbeddedValkey(Path(sys.argv[1]))
asyncio.run(server.start())
print(server.pid, server.url, flush=True)
signal.pause()
"""


@pytest.fixture
def parent(tmp_path):
    """Start a process that starts a server and prints its pid and URL."""
    command = [sys.executable, "-c", PARENT, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        yield parent
        parent.kill()


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    return state != "Z"


async def test_it_is_private(tmp_path):
    async with EmbeddedValkey(tmp_path) as server:
        client = connect(server.url)
        settings = await client.config_get("*")
        await client.aclose()

        assert settings["port"] == "0"
        assert settings["appendonly"] == "yes"
        assert settings["appendfsync"] == "everysec"
        assert settings["maxmemory-policy"] == "noeviction"
        assert stat.S_IMODE((tmp_path / "valkey" / "valkey.sock").stat().st_mode) == 0o700
        assert stat.S_IMODE((tmp_path / "valkey").stat().st_mode) == 0o700


async def test_a_restart_keeps_the_jobs(tmp_path):
    async with EmbeddedValkey(tmp_path) as server:
        client = connect(server.url)
        await JobProducer(client).submit(
            "vector-add",
            lane="compile:triton-3.9.0",
            priority=Priority.BATCH,
            payload=b"{}",
            caller="alice",
            deadline_ms=60_000,
        )
        await client.aclose()

    async with EmbeddedValkey(tmp_path) as server:
        client, blocking = connect(server.url), connect_blocking(server.url)
        claim = await JobConsumer(client, blocking, "worker-1").claim(["compile:triton-3.9.0"])
        assert (claim.id, claim.payload) == ("vector-add", b"{}")
        await client.aclose()
        await blocking.aclose()


async def test_a_client_survives_a_restart(tmp_path):
    server = EmbeddedValkey(tmp_path)
    await server.start()
    client = connect(server.url)
    jobs = JobProducer(client)
    assert await jobs.state("vector-add") is None
    await server.stop()

    with pytest.raises(StoreUnavailable, match="not available"):
        await jobs.state("vector-add")

    await server.start()
    assert await jobs.state("vector-add") is None
    await client.aclose()
    await server.stop()


async def test_a_second_server_on_the_same_folder_is_refused(tmp_path):
    async with EmbeddedValkey(tmp_path):
        with pytest.raises(DataFolderInUse, match="Another tritond is running"):
            await EmbeddedValkey(tmp_path).start()

    async with EmbeddedValkey(tmp_path):
        pass


async def test_a_long_data_path_is_no_obstacle(tmp_path):
    data = tmp_path / ("a long name with spaces " * 4) / ("ü" * 60)
    server = EmbeddedValkey(data)
    await server.start()
    client = connect(server.url)
    assert await client.ping()
    await client.aclose()
    folder = Path(server.url.removeprefix("unix://")).parent
    assert folder.exists()

    await server.stop()

    assert not folder.exists()
    assert (data / "valkey" / "appendonlydir").is_dir()


async def test_stopping_twice_is_harmless(tmp_path):
    server = EmbeddedValkey(tmp_path)
    await server.start()
    pid = server.pid
    await server.stop()
    await server.stop()

    assert not is_running(pid)


@pytest.mark.parametrize("death", [signal.SIGKILL, signal.SIGTERM])
def test_it_dies_with_its_parent(parent, death):
    pid = int(parent.stdout.readline().split()[0])
    assert is_running(pid)

    parent.send_signal(death)
    parent.wait(LIMIT_S)

    wait_until(lambda: not is_running(pid), "Valkey ends")


async def test_the_folder_of_a_killed_parent_can_be_used_again(parent, tmp_path):
    url = parent.stdout.readline().split()[1]
    client = connect(url)
    await client.set("kept", b"yes")
    await client.aclose()
    parent.kill()
    parent.wait(LIMIT_S)

    async with EmbeddedValkey(tmp_path) as server:
        client = connect(server.url)
        assert await client.get("kept") == b"yes"
        await client.aclose()


def test_without_any_server_the_error_says_what_to_do(monkeypatch, tmp_path):
    old = tmp_path / "redis-server"
    old.write_text("#!/bin/sh\necho 'Redis server v=6.2.14 sha=0 malloc=libc'\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("store.embedded.find_spec", lambda name: None)

    with pytest.raises(NoServerBinary, match=r"Older than 7.*redis-server.*TRITOND_REDIS_URL"):
        embedded.find_server()


def test_a_server_on_path_is_found(monkeypatch, tmp_path):
    wanted = tmp_path / "redis-server"
    wanted.write_text("#!/bin/sh\necho 'Redis server v=7.0.15 sha=0 malloc=libc'\n")
    wanted.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("store.embedded.find_spec", lambda name: None)

    assert embedded.find_server() == wanted

"""A cluster of Slurm on this machine: munged, slurmctld and slurmd, configured by these tests.

Collected by `make test-slurm` only. Where root runs it, jobs belong to an ordinary user all the
same, as on a cluster.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from store.connection import connect
from store.embedded import bound_to_parent
from tests.integration.service.running import ROOT, Deployment, free_port
from tests.waiting import wait_until

ENVIRONMENT = os.environ.get("TRITOND_TEST_SLURM", "")
collect_ignore_glob = [] if ENVIRONMENT else ["test_*.py"]
SCRIPT = ROOT / "deploy/slurm/workers.sbatch"
CONFIGURATION = (Path(__file__).parent / "slurm.conf").read_text()
IS_ROOT = os.geteuid() == 0
USER = 65534  # any but root that has a name; Slurm asks for it
AS_USER = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"] if IS_ROOT else []


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slurm: workers as jobs of a real Slurm")


class Cluster:
    """Daemons of Slurm with one node, in a folder that its users can reach."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._parts = ExitStack()
        for name in ("state", "spool", "jobs"):
            (folder / name).mkdir()
        if IS_ROOT:
            os.chown(folder / "jobs", USER, USER)
        values = {
            "host": socket.gethostname(),
            "controller_port": free_port(),
            "node_port": free_port(),
            "user": "root" if IS_ROOT else os.environ["USER"],
            "folder": folder,
        }
        (folder / "slurm.conf").write_text(
            re.sub(r"\{(\w+)\}", lambda match: str(values[match[1]]), CONFIGURATION)
        )
        self._environment = {"PATH": os.environ["PATH"], "SLURM_CONF": str(folder / "slurm.conf")}

    def start(self) -> None:
        (self.folder / "munge.key").write_bytes(os.urandom(128))
        (self.folder / "munge.key").chmod(0o600)
        paths = {"socket": "munge.socket", "key-file": "munge.key", "pid-file": "munge.pid"}
        paths |= {"seed-file": "munge.seed"}
        flags = [f"--{name}={self.folder / path}" for name, path in paths.items()]
        self._daemon("munged", "--foreground", "--force", *flags)
        wait_until((self.folder / "munge.socket").exists, "munged listens", self.said)
        self._daemon("slurmctld", "-D")
        self._daemon("slurmd", "-D", "-N", "node")
        wait_until(lambda: "idle" in self._ask("sinfo", "-h", "-o", "%t"), "a node", self.said)

    def stop(self) -> None:
        """End all jobs, which would outlive their daemons, and then these."""
        with self._parts:
            jobs = self._ask("squeue", "-h", "-o", "%A").split()
            if jobs:
                self.cancel("--signal=TERM", "--batch", *jobs)
            wait_until(lambda: not self._ask("squeue", "-h"), "no job is left", self.said)

    def submit(self, *arguments: str, **environment: str) -> str:
        """Submit the array as an ordinary user, and return its id."""
        command = [*AS_USER, "sbatch", "--parsable", f"--chdir={self.folder / 'jobs'}", *arguments]
        done = subprocess.run(
            command, env=self._environment | environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def cancel(self, *arguments: str) -> None:
        subprocess.run([*AS_USER, "scancel", *arguments], env=self._environment, check=True)

    def outcome(self, task: str) -> tuple[str, str]:
        """Return the state of a task of an array, and its exit code with its signal."""
        found = self._ask("scontrol", "show", "job", task)
        [state] = re.findall(r"JobState=(\w+)", found)
        [code] = re.findall(r" ExitCode=(\S+)", found)
        return state, code

    def wait_until_over(self, task: str) -> tuple[str, str]:
        running = {"PENDING", "RUNNING", "COMPLETING"}
        wait_until(lambda: self.outcome(task)[0] not in running, f"{task} is over", self.said)
        return self.outcome(task)

    def said(self) -> str:
        logs = [*self.folder.glob("*.log"), *(self.folder / "jobs").glob("*.log")]
        return "".join(f"== {log.name}\n{log.read_text()[-3000:]}" for log in sorted(logs))

    def _ask(self, *command: str) -> str:
        return subprocess.run(
            command, env=self._environment, capture_output=True, text=True, check=True
        ).stdout

    def _daemon(self, name: str, *arguments: str) -> None:
        path = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin")
        assert path, f"no {name} is installed here: apt-get install slurm-wlm munge"
        with (self.folder / f"{name}.log").open("ab") as log:
            command = bound_to_parent(path, *arguments)
            daemon = subprocess.Popen(command, env=self._environment, stdout=log, stderr=log)
        self._parts.callback(daemon.wait)
        self._parts.callback(daemon.terminate)


@pytest.fixture(scope="session")
def folder() -> Iterator[Path]:
    """A folder that another user may enter, with a short path: sockets are in it."""
    with tempfile.TemporaryDirectory(prefix="tritond-slurm-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture(scope="session")
def cluster(folder: Path) -> Iterator[Cluster]:
    found = Cluster(folder)
    try:
        found.start()
        yield found
    finally:
        found.stop()


@pytest.fixture(scope="session")
def worker_command() -> list[str]:
    """`tritond worker` of an environment that other users can read."""
    return [f"{ENVIRONMENT}/bin/tritond", "worker"]


@pytest.fixture(scope="session")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A store and a service without a worker; the store also listens on a port."""
    found = Deployment(tmp_path_factory.mktemp("deployment"))
    try:
        found.start_store()
        found.start_service()
        yield found
    finally:
        found.stop()


@pytest.fixture(scope="session")
def store_url(deployment: Deployment) -> str:
    """The store's address for other users of this machine."""

    async def listen(port: int) -> None:
        async with connect(deployment.redis_url) as redis:
            await redis.config_set("port", port)

    port = free_port()
    asyncio.run(listen(port))
    return f"redis://127.0.0.1:{port}/0"

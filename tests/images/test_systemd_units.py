"""The units of deploy/systemd in a booted systemd: they start, work and stop; the sandbox holds.

The container stands for a machine: it has systemd, and the worker image's environment.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator

import pytest

from tests.images.conftest import VALKEY, build
from tests.images.podman import FOLDER, ROOT, podman
from tests.images.test_image_deployment import KERNEL, REQUEST
from tests.waiting import wait_until

MACHINE = """
FROM {base}
RUN apt-get update -qq && apt-get install -qq --yes --no-install-recommends systemd dbus
COPY --from={worker} /opt/tritond /opt/tritond
COPY tritond-api.service tritond-worker@.service /etc/systemd/system/
RUN mkdir /etc/tritond && umask 077 && \\
    echo TRITOND_REDIS_URL=redis://127.0.0.1:6379/0 > /etc/tritond/api.env && \\
    cp /etc/tritond/api.env /etc/tritond/worker.env && \\
    echo TRITOND_SLOTS=1 > /etc/tritond/worker-1.env
"""
PYTHON = "/opt/tritond/bin/python"


@pytest.fixture(scope="module")
def machine(base: str, images: dict[str, str]) -> Iterator[str]:
    """A container whose first process is systemd. It needs privileges to be one."""
    file = FOLDER / "machine.Dockerfile"
    file.write_text(MACHINE.format(base=base, worker=images["worker"]))
    image = f"{base}-systemd"
    build(image, "--file", str(file), str(ROOT / "deploy/systemd"))
    name = f"tritond-{secrets.token_hex(4)}-machine"
    limits = ("--ulimit", "nofile=4096:4096", "--ulimit", "nproc=4096:4096")
    flags = ("--systemd=always", "--privileged", "--network", "none", *limits)
    try:
        podman("run", "--detach", "--name", name, *flags, image, "/lib/systemd/systemd")
        wait_until(lambda: systemctl(name, "is-system-running") == "running", "systemd is up")
        podman("exec", name, "systemd-run", "--unit=valkey", PYTHON, "-c", VALKEY)
        podman("exec", name, "systemctl", "start", "tritond-api", "tritond-worker@1")
        wait_until(lambda: knows_a_worker(name), "a worker", lambda: journal(name))
        yield name
    finally:
        podman("rm", "--force", "--ignore", "--time", "0", name, check=False)


def systemctl(machine: str, *arguments: str) -> str:
    return podman("exec", machine, "systemctl", *arguments, check=False).stdout.strip()


def journal(machine: str) -> str:
    return podman("exec", machine, "journalctl", "--no-pager", check=False).stdout[-5000:]


def knows_a_worker(machine: str) -> bool:
    probe = ("-P", "-m", "worker.probe")
    return podman("exec", machine, PYTHON, *probe, check=False).returncode == 0


def ask(machine: str, path: str, body: object = None) -> dict[str, object]:
    text = "" if body is None else json.dumps(body)
    found: dict[str, object] = json.loads(
        podman("exec", machine, PYTHON, "-c", REQUEST, path, "", text).stdout
    )
    return found


def test_a_worker_of_a_unit_compiles_in_the_strictest_sandbox(machine: str) -> None:
    request = {
        "source": KERNEL,
        "signature": {"x_ptr": "*fp32:16"},
        "constexprs": {"N": 256},
        "target": "cuda:90",
    }

    assert ask(machine, "/v1/compilations?wait=60", request)["state"] == "succeeded"
    levels = {worker["sandbox"] for worker in ask(machine, "/v1/workers")["workers"]}
    assert levels == {"strict"}


def test_both_units_run_as_users_of_their_own_without_capabilities(machine: str) -> None:
    for unit in ("tritond-api", "tritond-worker@1"):
        process = systemctl(machine, "show", "--property=MainPID", "--value", unit)
        status = podman("exec", machine, "cat", f"/proc/{process}/status").stdout

        assert "Uid:\t0" not in status
        assert "CapEff:\t0000000000000000" in status
        assert "CapBnd:\t0000000000000000" in status


def test_a_unit_that_is_stopped_ends_well(machine: str) -> None:
    systemctl(machine, "stop", "tritond-api", "tritond-worker@1")

    for unit in ("tritond-api", "tritond-worker@1"):
        found = systemctl(machine, "show", "--property=Result,ExecMainStatus", unit)
        assert set(found.split()) == {"Result=success", "ExecMainStatus=0"}

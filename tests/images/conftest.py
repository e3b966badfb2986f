"""The images of the Dockerfile, built by podman and run as containers of one deployment.

Collected by `make test-images` only. What differs from a build by docker: the base is not the
pinned image of a registry but Debian's bookworm with its own Python, which `make` has put into a
file. What is not run: `worker-gpu-torch`, whose layers take 20 GB, and GPUs.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.images.podman import BASE, FOLDER, ROOT, flags_of, podman, start
from tests.waiting import wait_until

NAMED = FOLDER.is_dir()
collect_ignore_glob = [] if NAMED else ["test_*.py"]
TARGETS = ("service", "worker", "worker-gpu")
ARGUMENTS = {"VERSION": "1.2.3", "REVISION": "0" * 40, "SOURCE": "https://example.com/tritond"}
STAND_IN = """
FROM scratch
ADD base.tar /
# of this machine, whose way to a registry may need its own
ADD ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
ENV PIP_CERT=/etc/ssl/certs/ca-certificates.crt \
    NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
# Debian's pip installs into no environment but a virtual one; that of python:slim does
RUN rm /usr/lib/python3*/EXTERNALLY-MANAGED
"""
VALKEY = """
import os
from store.embedded import find_server
server = str(find_server())
os.execv(server, [server, "--save", "", "--maxmemory-policy", "noeviction"])
"""
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "images: the Dockerfile's images, built and run")


@pytest.fixture(scope="session")
def base() -> str:
    """A stand-in for the base image."""
    (FOLDER / "base.Dockerfile").write_text(STAND_IN)
    (FOLDER / "context").mkdir(exist_ok=True)
    for path in (FOLDER / "base.tar", CERTIFICATES):
        link = FOLDER / "context" / path.name
        link.unlink(missing_ok=True)
        if path.parent == FOLDER:
            link.hardlink_to(path)
        else:
            link.write_bytes(path.read_bytes())
    build(BASE, "--file", str(FOLDER / "base.Dockerfile"), str(FOLDER / "context"))
    return BASE


@pytest.fixture(scope="session")
def images(base: str) -> dict[str, str]:
    """The name of each target's image."""
    arguments = [f"--build-arg={name}={value}" for name, value in ARGUMENTS.items()]
    for target in TARGETS:
        flags = (f"--build-arg=PYTHON_IMAGE={base}", *arguments, "--target", target)
        build(image_of(target), *flags, str(ROOT))
    return {target: image_of(target) for target in TARGETS}


def image_of(target: str) -> str:
    return f"localhost/tritond-test-{target}"


def build(name: str, *arguments: str) -> None:
    """Build an image whose format has health checks, without a container runtime's limits."""
    flags = ("--isolation", "chroot", "--format", "docker", "--layers", "--pull=never")
    podman("build", *flags, "--tag", name, *arguments)


@pytest.fixture(scope="session")
def admin_key() -> str:
    return secrets.token_urlsafe(32)


@pytest.fixture(scope="session")
def deployment(images: dict[str, str], admin_key: str) -> Iterator[dict[str, str]]:
    """Containers by name: `valkey`, `service`, `worker` and `worker-gpu` (as there are no GPUs).

    Valkey's own image is of a registry; the one here is that of the wheel in our images.
    """
    url = "redis://127.0.0.1:6379/0"
    mark = secrets.token_hex(4)
    containers = {name: f"tritond-{mark}-{name}" for name in ("valkey", *TARGETS)}
    network = ("--network", f"container:{containers['valkey']}")
    try:
        flags = ["--network", "none", "--workdir", "/tmp", *flags_of("service")]
        start(containers["valkey"], images["service"], flags, "python", "-c", VALKEY)
        for name in TARGETS:
            settings = ["--env", f"TRITOND_REDIS_URL={url}", "--env", "TRITOND_SLOTS=1"]
            if name == "service":
                settings = [*settings[:2], "--env", f"TRITOND_ADMIN_KEY={admin_key}"]
            start(containers[name], images[name], [*network, *flags_of(name), *settings])
        for name in TARGETS:
            wait_until(lambda name=name: is_healthy(containers[name]), f"{name} is healthy")
        yield containers
    finally:
        for name in reversed(containers.values()):
            podman("rm", "--force", "--ignore", "--time", "0", name, check=False)


def is_healthy(container: str) -> bool:
    """Run the image's own health check, and return whether it succeeds."""
    return podman("healthcheck", "run", container, check=False).returncode == 0

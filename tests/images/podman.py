"""Podman with its storage in these tests' own folder, and containers as in docker-compose.yml.

Containers share the network namespace of the first one, which has nothing but a loopback.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("TRITOND_TEST_IMAGES", "/nonexistent"))
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
BASE = "localhost/tritond-test-base"
# runc also runs where cgroups v1 and v2 are mixed; crun does not
_PODMAN = (
    "podman",
    "--storage-driver",
    "overlay",
    "--runtime",
    "runc",
    "--cgroup-manager",
    "cgroupfs",
)


def podman(*arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run podman, and return what it wrote. Without `check` it may fail."""
    storage = ("--root", str(FOLDER / "storage"), "--runroot", str(FOLDER / "run"))
    done = subprocess.run([*_PODMAN, *storage, *arguments], capture_output=True, text=True)
    assert not check or done.returncode == 0, f"podman {arguments}:\n{done.stdout}{done.stderr}"
    return done


def flags_of(service: str) -> list[str]:
    """Return the flags for what docker-compose.yml demands of a service's container."""
    of = COMPOSE["services"][service]
    return [
        *(["--read-only", "--read-only-tmpfs=false"] if of.get("read_only") else []),
        *(["--init"] if of.get("init") else []),
        *(flag for path in of.get("tmpfs", []) for flag in ("--tmpfs", path)),
        *(flag for name in of.get("cap_drop", []) for flag in ("--cap-drop", name)),
        *(flag for option in of["security_opt"] for flag in ("--security-opt", no_value(option))),
        *("--memory", of["mem_limit"], "--pids-limit", str(of["pids_limit"])),
        # podman raises both beyond what this process may have, which takes a separate capability
        *("--ulimit", "nofile=4096:4096", "--ulimit", "nproc=4096:4096"),
    ]


def no_value(option: str) -> str:
    """Return an option of docker's as podman spells it."""
    return option.removesuffix(":true")


def start(name: str, image: str, flags: list[str], *command: str) -> str:
    """Start a container in the background, and return its name."""
    podman("run", "--detach", "--name", name, *flags, image, *command)
    return name

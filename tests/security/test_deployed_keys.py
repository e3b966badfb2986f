"""Only the service gets the admin key, however a deployment is started."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
UNITS = ROOT / "deploy/systemd"
SECRETS = (
    "TRITOND_ADMIN_KEY",
    "TRITOND_ADMIN_KEY_FILE",
    "TRITOND_API_KEY",
    "TRITOND_API_KEY_FILE",
    "TRITONC_API_KEY_FILE",
)
"""Variables that only the service and clients need."""


def environment_files(unit: str) -> set[str]:
    text = (UNITS / unit).read_text()
    return set(re.findall(r"^EnvironmentFile=-?(.*)$", text, re.MULTILINE))


def test_units_of_services_and_workers_share_no_file() -> None:
    service = environment_files("tritond-api.service")
    worker = environment_files("tritond-worker@.service")

    assert service == {"/etc/tritond/api.env"}
    assert worker == {"/etc/tritond/worker.env", "/etc/tritond/worker-%i.env"}


def test_compose_gives_the_admin_key_to_the_service_alone() -> None:
    services: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]

    having = {
        name for name, one in services.items() if set(SECRETS) & {*one.get("environment", ())}
    }
    assert having == {"service"}
    assert not [name for name, one in services.items() if "env_file" in one]


def test_images_have_no_secret_of_their_own() -> None:
    written = re.findall(r"^(?:ENV|ARG) .*$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)

    assert written
    assert not [line for line in written if any(name in line for name in SECRETS)]


@pytest.mark.parametrize("name", SECRETS)
def test_a_slurm_job_drops_what_the_submitting_shell_had(name: str, tmp_path: Path) -> None:
    """`sbatch` sends the whole environment of the shell."""
    environment = {
        "PATH": "/usr/bin:/bin",
        "SLURM_CPUS_PER_TASK": "2",
        "TRITOND_REDIS_URL": "redis://x",
    }
    done = subprocess.run(
        ["bash", ROOT / "deploy/slurm/workers.sbatch", "env"],
        env=environment | {name: "secret-of-a-client"},
        capture_output=True,
        check=True,
        text=True,
        cwd=tmp_path,
    )

    assert "TRITOND_SLOTS=2" in done.stdout
    assert "secret-of-a-client" not in done.stdout

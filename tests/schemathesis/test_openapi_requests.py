"""No request that the OpenAPI document allows, or barely forbids, causes a server error."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.integration.service.running import Deployment
from tests.schemathesis.conftest import PROGRAM
from tests.shares import examples

CONFIGURATION = Path(__file__).parent / "schemathesis.toml"
EXAMPLES = str(examples(int(os.environ.get("TRITOND_SCHEMATHESIS_EXAMPLES", "30"))))
SEED = "1"
TIMEOUT_S = 3600
ENDLESS = r"^/v1/[a-z]+/\{[a-z_]+\}/events$"
"""Event streams, which last as long as their job."""
A_FILE = "put_tensor"
"""Takes .npy, which schemathesis cannot make."""


@pytest.mark.timeout(TIMEOUT_S)
def test_no_request_is_answered_with_an_undocumented_server_error(
    deployment: Deployment, tmp_path: Path
) -> None:
    document = tmp_path / "openapi.json"
    with deployment.client() as client:
        document.write_bytes(client.get("/openapi.json", timeout=60).content)
    ran = subprocess.run(
        [
            PROGRAM,
            f"--config-file={CONFIGURATION}",
            "run",
            str(document),
            f"--url={deployment.url}",
            "--checks=not_a_server_error",
            f"--max-examples={EXAMPLES}",
            f"--seed={SEED}",
            "--phases=examples,coverage,fuzzing",
            f"--exclude-path-regex={ENDLESS}",
            f"--exclude-operation-id={A_FILE}",
            "--request-timeout=60",
            "--continue-on-failure",
            "--no-shrink",
            "--suppress-health-check=all",
            "--warnings=off",
            "--no-color",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )

    assert ran.returncode == 0, ran.stdout
    assert "Traceback" not in deployment.said(), deployment.said()

"""The manifests are what Kubernetes, KEDA and the Prometheus operator read."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import jsonschema
import pytest
import yaml

from tests.deploy.chart import NAMED, PROFILES, ROOT, helm, of_kind, rendered

SCHEMAS = Path(__file__).parent / "schemas"
OF_OTHERS = ("ScaledObject", "ServiceMonitor", "PrometheusRule")
OLDEST, NEWEST = "1.30", "1.37"


@pytest.mark.parametrize("profile", PROFILES)
def test_helm_finds_no_fault(profile: str):
    answer = helm("lint", profile, "--strict")
    assert answer.returncode == 0, answer.stdout + answer.stderr


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
@pytest.mark.parametrize("profile", PROFILES)
def test_kubernetes_knows_every_field(profile: str, version: str, tmp_path: Path):
    own = [one for one in rendered(profile) if one["kind"] not in OF_OTHERS]
    file = tmp_path / "manifests.yaml"
    file.write_text(yaml.safe_dump_all(own))
    command = [f"{NAMED}/bin/kubernetes-validate", "--strict", "-k", version, str(file)]
    answer = subprocess.run(command, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_the_validator_refuses_a_field_that_kubernetes_does_not_have(tmp_path: Path):
    [service] = of_kind("Service", "team").values()
    file = tmp_path / "wrong.yaml"
    file.write_text(yaml.safe_dump(service | {"spec": service["spec"] | {"prots": []}}))
    command = [f"{NAMED}/bin/kubernetes-validate", "--strict", "-k", NEWEST, str(file)]
    assert subprocess.run(command, capture_output=True).returncode != 0


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("kind", OF_OTHERS)
def test_custom_resources_have_the_form_of_their_definitions(profile: str, kind: str):
    schema = json.loads((SCHEMAS / f"{kind.lower()}.json").read_text())
    found = of_kind(kind, profile).values()
    assert bool(found) == (profile != "laptop")
    for manifest in found:
        jsonschema.Draft202012Validator(schema).validate(manifest)


def test_the_small_valkey_is_that_of_compose():
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    image = compose["services"]["valkey"]["image"]
    [made] = of_kind("StatefulSet", "laptop").values()
    [container] = made["spec"]["template"]["spec"]["containers"]
    assert container["image"] == f"docker.io/{image}"


@pytest.mark.parametrize("profile", PROFILES)
def test_no_two_manifests_share_a_name(profile: str):
    names = [(one["kind"], one["metadata"]["name"]) for one in rendered(profile)]
    assert len(names) == len(set(names))

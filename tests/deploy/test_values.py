"""Wrong values are refused, with the value that is wrong and what to write instead."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.deploy.chart import CHART, environment, pods, refusal

SCHEMA = json.loads((CHART / "values.schema.json").read_text())


def test_unknown_names_are_refused_everywhere():
    def closed(schema: dict) -> bool:
        here = "properties" not in schema or schema.get("additionalProperties") is False
        below = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values()]
        return here and all(closed(one) for one in below if one.get("type") == "object")

    assert closed(SCHEMA)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ("service.replica.min=3", "'replica' not allowed"),
        ("workers.cpu.slot=3", "'slot' not allowed"),
        ("workers.cpu.settings.TRITOND_LEASES=3", "'TRITOND_LEASES' not allowed"),
        ("workers.cpu.settings.TRITOND_SANDBOX=unsafe", "'TRITOND_SANDBOX' not allowed"),
        ("service.settings.TRITOND_ADMIN_KEY=abc", "'TRITOND_ADMIN_KEY' not allowed"),
        ("workers.cpu.replicas.min=0", "minimum: got 0, want 1"),
        ("longestJobSeconds=4000", "maximum: got 4,000, want 3,585"),
        ("service.memory.limit=1gig", "does not match pattern"),
        ("bucket.url=https://my-bucket.s3.amazonaws.com", "does not match pattern"),
        ("bucket.environment.AWS_SECRET_ACCESS_KEY=abc", "AWS_SECRET_ACCESS_KEY"),
        ("images.digests.worker=latest", "does not match pattern"),
        ("workers.Big.slots=2", "Big"),
        ("images.registry=", "images.registry is required"),
        ("adminKey.secret=", "adminKey.secret is required"),
        ("store.url.secret=", "store.url.secret is required"),
        ("keda.prometheusUrl=", "keda.prometheusUrl is required"),
        ("bucket.secret=keys", "bucket.url is not"),
        ("bucket.url=s3://b/t,bucket.secret=k,adminKey.secret=k", "bucket.secret is adminKey"),
        ("bucket.url=s3://my-bucket/tritond", "network.bucket.to is required"),
        ("otel.endpoint=http://collector:4318", "network.otel.to is required"),
        ("otel.endpoint=http://user:word@collector:4318", "does not match pattern"),
        ("network.otel.to[0].ipBlock.cidr=0.0.0.0/0", "allows every address"),
        ("service.replicas.min=9", "service.replicas.min is above service.replicas.max"),
        ("workers.cpu.replicas.max=1,workers.cpu.replicas.min=2", "replicas.min is above"),
        ("network.store.to[0].ipBlock.cidr=0.0.0.0/0", "allows every address"),
        ("network.store.to[0].ipBlock.cidr=::/0", "allows every address"),
        ("network.clients=null", "missing property 'clients'"),
        ("network.dns=null", "missing property 'dns'"),
        ("valkey.enabled=true", "valkey.password.secret is required"),
    ],
)
def test_a_wrong_value_is_refused_with_the_reason(values: str, reason: str):
    assert reason in refusal("team", "--set", values)


def test_an_empty_list_of_addresses_is_refused():
    assert "network.store.to is required" in refusal("team", "--set-json", "network.store.to=[]")


def test_a_class_that_nothing_would_ever_start_is_refused():
    said = refusal("gpu", "--set", "keda.enabled=false")
    assert "nothing would ever start a worker" in said


def test_a_gpu_class_must_say_on_which_machines():
    said = refusal("gpu", "--set-json", "workers.h100.nodeSelector=null")
    assert "nodeSelector" in said


def test_gpus_alone_are_refused_since_they_are_not_started_to_compile():
    assert "workers has no class without gpu" in refusal("gpu", "--set", "workers.cpu=null")


def test_torch_beside_a_gpu_alone_is_refused():
    said = refusal("gpu", "--set", "workers.h100.torch=true")
    assert "workers.cpu.torch must be true, as workers.h100.torch is" in said


@pytest.mark.parametrize("number", ["4294967296", "30", "7.5"])
def test_a_number_of_a_file_stays_as_it_was_written(number: str, tmp_path: Path):
    file = tmp_path / "values.yaml"
    file.write_text(f"service: {{settings: {{TRITOND_MAX_WAIT_S: {number}}}}}")
    pod = pods("team", "--values", str(file))["tritond"]
    assert environment(pod)["TRITOND_MAX_WAIT_S"] == number

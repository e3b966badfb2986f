"""Every pod has few rights, its credentials from Secrets, and time to finish its jobs."""

from __future__ import annotations

import re
from importlib.util import find_spec

import pytest

from service.composition import composed_app
from service.settings import ServiceSettings
from tests.deploy.chart import (
    PROFILES,
    ROOT,
    containers,
    environment,
    of_kind,
    pods,
    worker_pods,
)
from worker.settings import WorkerSettings

SECRET = re.compile(r"PASSWORD|SECRET|TOKEN|_KEY|REDIS_URL|CACHE_URL")


@pytest.mark.parametrize("profile", PROFILES)
def test_no_container_has_more_rights_than_it_needs(profile: str):
    assert pods(profile)
    for pod in pods(profile).values():
        spec = pod["spec"]
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["runAsUser"] >= 999
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert spec["automountServiceAccountToken"] is False
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)
        for container in containers(pod):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }


@pytest.mark.parametrize("profile", PROFILES)
def test_writable_files_are_in_memory_except_those_of_the_store(profile: str):
    for name, pod in pods(profile).items():
        volumes = {one["name"]: one for one in pod["spec"].get("volumes", [])}
        if name.endswith("-valkey"):
            assert set(volumes) == {"configuration"}
        else:
            assert volumes.keys() == {"tmp"}
            assert volumes["tmp"]["emptyDir"]["medium"] == "Memory"
            assert "sizeLimit" in volumes["tmp"]["emptyDir"]


def test_an_authority_of_the_store_is_mounted_where_its_url_can_name_it():
    for name, pod in pods("team", "--set", "store.authority.secret=store-tls").items():
        [container] = containers(pod)
        mounted = {one["name"]: one for one in container["volumeMounts"]}["authority"]
        assert (mounted["mountPath"], mounted["readOnly"]) == ("/etc/tritond", True), name
        volume = {one["name"]: one for one in pod["spec"]["volumes"]}["authority"]
        assert volume["secret"] == {
            "secretName": "store-tls",
            "items": [{"key": "ca.crt", "path": "ca.crt"}],
        }


def test_the_key_of_receipts_is_in_pods_of_the_service_alone():
    found = pods("team", "--set", "receiptKey.secret=receipts")

    files = {name: environment(pod).get("TRITOND_RECEIPT_KEY_FILE") for name, pod in found.items()}
    volumes = {
        name: volume["secret"]
        for name, pod in found.items()
        for volume in pod["spec"]["volumes"]
        if volume["name"] == "receipts"
    }
    assert {name: file for name, file in files.items() if file} == {
        "tritond": "/etc/tritond-receipts/key.pem"
    }
    assert volumes.keys() == {"tritond"}
    assert volumes["tritond"]["secretName"] == "receipts"
    assert volumes["tritond"]["defaultMode"] == 0o440


@pytest.mark.parametrize("profile", PROFILES)
def test_every_credential_is_of_a_secret(profile: str):
    for name, pod in pods(profile).items():
        for variable, value in environment(pod).items():
            if variable == "TRITOND_REDIS_URL" and isinstance(value, str):
                assert "$(VALKEY_PASSWORD)@" in value
            elif SECRET.search(variable):
                assert value["secretKeyRef"].keys() == {"name", "key"}, (name, variable)


@pytest.mark.parametrize("profile", PROFILES)
def test_the_chart_makes_no_secret(profile: str):
    assert of_kind("Secret", profile) == {}


def test_credentials_of_the_bucket_are_a_secret_s_too():
    for name in ("tritond", "tritond-worker-cpu"):
        [container] = containers(pods("s3")[name])
        assert container["envFrom"] == [{"secretRef": {"name": "tritond-bucket"}}]


@pytest.mark.parametrize("profile", PROFILES)
def test_only_services_have_the_admin_key(profile: str):
    having = [
        name for name, pod in pods(profile).items() if "TRITOND_ADMIN_KEY" in environment(pod)
    ]
    assert having == ["tritond"]


@pytest.mark.parametrize("longest_s", [300, 3585])
@pytest.mark.parametrize("profile", PROFILES)
def test_a_worker_s_pod_outlives_its_drain_and_the_drain_its_longest_job(
    profile: str, longest_s: int
):
    for pod in worker_pods(profile, "--set", f"longestJobSeconds={longest_s}").values():
        drain_s = int(environment(pod)["TRITOND_DRAIN_S"])
        assert pod["spec"]["terminationGracePeriodSeconds"] > drain_s > longest_s


@pytest.mark.parametrize("profile", PROFILES)
def test_a_service_s_pod_outlives_its_drain_and_what_comes_before(profile: str):
    pod = pods(profile)["tritond"]
    [container] = containers(pod)
    before_s = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    drain_s = int(environment(pod)["TRITOND_DRAIN_S"])
    assert pod["spec"]["terminationGracePeriodSeconds"] > before_s + drain_s


@pytest.mark.parametrize("profile", PROFILES)
def test_no_service_becomes_a_variable(profile: str):
    """A Service called tritond sets TRITOND_PORT=tcp://..., which no service could read."""
    assert all(pod["spec"]["enableServiceLinks"] is False for pod in pods(profile).values())


@pytest.mark.parametrize("profile", PROFILES)
def test_every_container_says_what_it_needs(profile: str):
    for pod in pods(profile).values():
        for container in containers(pod):
            resources = container["resources"]
            assert resources["requests"].keys() == {"cpu", "memory"}
            assert {"cpu", "memory"} <= resources["limits"].keys()


@pytest.mark.parametrize("profile", PROFILES)
def test_a_worker_has_a_core_for_each_slot(profile: str):
    for pod in worker_pods(profile).values():
        [container] = containers(pod)
        slots = int(environment(pod)["TRITOND_SLOTS"])
        assert container["resources"]["requests"]["cpu"] == slots
        assert container["resources"]["limits"]["cpu"] == slots


@pytest.mark.parametrize("profile", PROFILES)
def test_pods_spread_and_are_not_evicted_all_at_once(profile: str):
    budgets = of_kind("PodDisruptionBudget", profile)
    for name, deployment in of_kind("Deployment", profile).items():
        selector = deployment["spec"]["selector"]
        assert budgets[name]["spec"]["selector"] == selector
        assert budgets[name]["spec"]["maxUnavailable"] == 1
        spreads = deployment["spec"]["template"]["spec"]["topologySpreadConstraints"]
        assert [one["topologyKey"] for one in spreads] == [
            "topology.kubernetes.io/zone",
            "kubernetes.io/hostname",
        ]
        assert all(one["labelSelector"] == selector for one in spreads)


@pytest.mark.parametrize("profile", PROFILES)
def test_selectors_find_their_own_pods_alone(profile: str):
    deployments = of_kind("Deployment", profile)
    for name, deployment in deployments.items():
        labels = deployment["spec"]["selector"]["matchLabels"].items()
        found = [
            other
            for other, pod in pods(profile).items()
            if labels <= pod["metadata"]["labels"].items()
        ]
        assert found == [name]


def test_a_gpu_class_has_its_gpu_and_machines_and_its_own_image():
    [container] = containers(pods("gpu")["tritond-worker-h100"])
    assert container["resources"]["limits"]["nvidia.com/gpu"] == 1
    assert container["image"].split("/")[-1].startswith("tritond-worker-gpu:")
    selector = pods("gpu")["tritond-worker-h100"]["spec"]["nodeSelector"]
    assert selector == {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
    [without] = containers(pods("gpu")["tritond-worker-cpu"])
    assert "nvidia.com/gpu" not in without["resources"]["limits"]


def test_torch_is_in_an_image_of_its_own_and_brings_no_gpu():
    pod = pods("team", "--set", "workers.cpu.torch=true")["tritond-worker-cpu"]
    [container] = containers(pod)
    assert container["image"].split("/")[-1].startswith("tritond-worker-gpu-torch:")
    assert environment(pod)["NVIDIA_VISIBLE_DEVICES"] == "void"


def test_a_digest_wins_over_the_tag():
    digest = "sha256:" + "0" * 64
    pod = pods("team", "--set", f"images.digests.worker={digest}")["tritond-worker-cpu"]
    [container] = containers(pod)
    assert container["image"] == f"registry.example.com/tritond/tritond-worker@{digest}"


def test_probes_ask_for_paths_of_the_service():
    paths = set(composed_app().openapi()["paths"])
    [container] = containers(pods("team")["tritond"])
    asked = {
        kind: container[f"{kind}Probe"]["httpGet"]["path"] for kind in ("readiness", "liveness")
    }
    assert asked == {"readiness": "/readyz", "liveness": "/healthz"}
    assert set(asked.values()) <= paths


@pytest.mark.parametrize("profile", PROFILES)
def test_a_worker_is_ready_once_the_store_knows_it(profile: str):
    for pod in worker_pods(profile).values():
        [container] = containers(pod)
        module = container["readinessProbe"]["exec"]["command"][-1]
        assert find_spec(module) is not None
        assert "livenessProbe" not in container


def test_autoscalers_alone_set_the_number_of_pods():
    for deployment in of_kind("Deployment", "gpu").values():
        assert "replicas" not in deployment["spec"]
    assert of_kind("Deployment", "laptop")["tritond-worker-cpu"]["spec"]["replicas"] == 1


@pytest.mark.parametrize("profile", PROFILES)
def test_every_image_is_a_target_of_the_dockerfile(profile: str):
    targets = set(re.findall(r"(?m)^FROM .* AS (.+)", (ROOT / "Dockerfile").read_text()))
    images = [one["image"] for pod in pods(profile).values() for one in containers(pod)]
    ours = [image for image in images if "valkey" not in image]
    assert {re.search(r"/tritond-([\w-]+)[:@]", image)[1] for image in ours} <= targets


@pytest.mark.parametrize("profile", PROFILES)
def test_services_and_workers_read_the_settings_that_they_get(
    profile: str, monkeypatch: pytest.MonkeyPatch
):
    for name, pod in pods(profile).items():
        if name.endswith("-valkey"):
            continue
        with monkeypatch.context() as patched:
            # a client of a bucket needs the CA certificates of an image
            for variable, value in (environment(pod) | {"TRITOND_BLOBS_URL": ""}).items():
                patched.setenv(variable, value if isinstance(value, str) else "redis://secret")
            kind = WorkerSettings if "-worker-" in name else ServiceSettings
            assert kind().drain_s == float(environment(pod)["TRITOND_DRAIN_S"])

"""KEDA counts the jobs that a class of workers can do, and starts GPUs from none."""

from __future__ import annotations

import re

import pytest

from jobs.features import SHARED_LANES
from store.jobs.types import lanes_of, lanes_of_all
from tests.deploy.chart import PROFILES, of_kind

GPUS = {"h100": "cuda:90 NVIDIA H100 80GB HBM3", "a100": "cuda:80 NVIDIA A100-SXM4-80GB"}
TOOLCHAIN = "e757abda0fe71c39"


def all_lanes() -> set[str]:
    """Return every lane of a deployment with both GPUs, which programs use, too."""
    return {*lanes_of(TOOLCHAIN, GPUS.values()), *lanes_of_all(GPUS.values(), SHARED_LANES)}


def lanes_of_triggers(profile: str) -> dict[str, list[set[str]]]:
    """Return which lanes the queries of each class count, by its name."""
    found = {}
    for name, scaled in of_kind("ScaledObject", profile).items():
        queries = [trigger["metadata"]["query"] for trigger in scaled["spec"]["triggers"]]
        patterns = [re.search(r'lane=~"([^"]+)"', query)[1] for query in queries]
        found[name.removeprefix("tritond-worker-")] = [
            {lane for lane in all_lanes() if re.fullmatch(pattern, lane)} for pattern in patterns
        ]
    return found


def test_every_lane_is_counted_by_one_class():
    counted = lanes_of_triggers("gpu")
    for lanes in counted.values():
        assert lanes[0] == lanes[1]
    every = [lane for lanes in counted.values() for lane in lanes[0]]
    assert sorted(every) == sorted(all_lanes())


@pytest.mark.parametrize(("worker", "device"), GPUS.items())
def test_a_gpu_class_counts_the_jobs_for_its_gpu(worker: str, device: str):
    assert lanes_of_triggers("gpu")[worker][0] == {
        f"launch:{device}",
        f"launch:{device}:torch",
        f"programs:{TOOLCHAIN}:{device}",
    }


def test_gpus_start_from_none_and_others_never_end():
    least = {
        name: scaled["spec"]["minReplicaCount"]
        for name, scaled in of_kind("ScaledObject", "gpu").items()
    }
    assert least == {"tritond-worker-cpu": 1, "tritond-worker-h100": 0, "tritond-worker-a100": 0}


@pytest.mark.parametrize("profile", set(PROFILES) - {"laptop"})
def test_each_class_is_scaled_by_its_queue_and_its_oldest_wait(profile: str):
    deployments = of_kind("Deployment", profile)
    for name, scaled in of_kind("ScaledObject", profile).items():
        assert scaled["spec"]["scaleTargetRef"]["name"] == name in deployments
        queued, wait = scaled["spec"]["triggers"]
        assert queued["metadata"]["query"].startswith("sum(max by (lane) (tritond_queued_jobs{")
        assert queued["metricType"] == "AverageValue"
        assert wait["metadata"]["query"].startswith("max(tritond_queue_oldest_wait_seconds{")
        assert wait["metricType"] == "Value"


@pytest.mark.parametrize("profile", PROFILES)
def test_services_are_scaled_by_their_cpu(profile: str):
    [scaler] = of_kind("HorizontalPodAutoscaler", profile).values()
    assert scaler["spec"]["scaleTargetRef"]["name"] == "tritond"
    [metric] = scaler["spec"]["metrics"]
    assert metric["resource"]["name"] == "cpu"
    assert scaler["spec"]["minReplicas"] <= scaler["spec"]["maxReplicas"]

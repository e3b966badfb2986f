"""Workers, which run strangers' kernels, reach the store, the bucket and the names of both."""

from __future__ import annotations

from typing import Any

import pytest

from tests.deploy.chart import PROFILES, environment, of_kind, pods

STORE = {"ipBlock": {"cidr": "10.20.0.15/32"}}
BUCKET = {"ipBlock": {"cidr": "10.20.8.0/24"}}
OWN_STORE = {
    "podSelector": {
        "matchLabels": {
            "app.kubernetes.io/name": "tritond",
            "app.kubernetes.io/instance": "tritond",
            "app.kubernetes.io/component": "valkey",
        }
    }
}


def policy(name: str, profile: str, *more: str) -> dict[str, Any]:
    return of_kind("NetworkPolicy", profile, *more)[f"tritond-{name}"]["spec"]


def reached(name: str, profile: str, *more: str) -> list[tuple[Any, list[int]]]:
    """Return each place that pods of a policy reach, and its ports, except DNS."""
    found = [
        (place, [port["port"] for port in rule["ports"]])
        for rule in policy(name, profile, *more)["egress"]
        for place in rule["to"]
    ]
    return [(place, ports) for place, ports in found if ports != [53, 53]]


@pytest.mark.parametrize("profile", PROFILES)
def test_each_policy_governs_both_ways_and_its_own_pods(profile: str):
    for name, one in of_kind("NetworkPolicy", profile).items():
        assert one["spec"]["policyTypes"] == ["Ingress", "Egress"]
        labels = one["spec"]["podSelector"]["matchLabels"].items()
        governed = {
            pod
            for pod, template in pods(profile).items()
            if labels <= template["metadata"]["labels"].items()
        }
        expected = {
            "tritond-service": {"tritond"},
            "tritond-valkey": {"tritond-valkey"},
            "tritond-worker": {pod for pod in pods(profile) if "-worker-" in pod},
        }
        assert governed == expected[name]


@pytest.mark.parametrize("name", ["worker", "service"])
@pytest.mark.parametrize(
    ("profile", "places"),
    [
        ("laptop", [(OWN_STORE, [6379])]),
        ("team", [(STORE, [6380])]),
        ("gpu", [(STORE, [6380])]),
        ("internet", [(STORE, [6380])]),
        ("s3", [(STORE, [6380]), (BUCKET, [443])]),
    ],
)
def test_the_store_and_the_bucket_are_all_that_is_reached(
    name: str, profile: str, places: list[tuple[Any, list[int]]]
):
    assert reached(name, profile) == places


@pytest.mark.parametrize("name", ["worker", "service"])
def test_a_collector_that_is_set_is_reached_too(name: str):
    traced = (
        "--set",
        "otel.endpoint=http://collector:4318,network.otel.to[0].ipBlock.cidr=10.2.0.9/32",
    )
    collector = ({"ipBlock": {"cidr": "10.2.0.9/32"}}, [4318])

    assert reached(name, "team", *traced) == [(STORE, [6380]), collector]
    assert all(
        environment(pod)["OTEL_EXPORTER_OTLP_ENDPOINT"] == "http://collector:4318"
        for pod in pods("team", *traced).values()
    )


@pytest.mark.parametrize("profile", PROFILES)
def test_nothing_reaches_a_worker(profile: str):
    assert policy("worker", profile)["ingress"] == []


@pytest.mark.parametrize("profile", PROFILES)
def test_no_rule_has_an_empty_list_since_that_would_allow_everything(profile: str):
    for one in of_kind("NetworkPolicy", profile).values():
        for rule in one["spec"]["egress"]:
            assert rule["to"]
            assert rule["ports"]
        for rule in one["spec"]["ingress"]:
            assert rule["from"]
            assert rule["ports"]


def test_a_valkey_of_the_release_is_reached_by_the_release_and_reaches_nothing():
    [rule] = policy("valkey", "laptop")["ingress"]
    [place] = rule["from"]
    assert place["podSelector"]["matchExpressions"] == [
        {"key": "app.kubernetes.io/component", "operator": "In", "values": ["service", "worker"]}
    ]
    assert policy("valkey", "laptop")["egress"] == []


def test_on_the_internet_the_proxy_and_prometheus_alone_reach_the_service():
    [rule] = policy("service", "internet")["ingress"]
    namespaces = [
        place["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"]
        for place in rule["from"]
    ]
    assert namespaces == ["ingress", "monitoring"]

"""Alerts and panels ask for metrics that the service exports, and alerts come when they must."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from store.connection import connect
from store.workers import Worker, Workers
from tests.deploy.chart import CHART, of_kind
from tests.integration.service.running import Deployment

TRIED = Path(__file__).parent / "alerts_test.yaml"
OF_PROMETHEUS = {"up"}


def rules() -> list[dict[str, Any]]:
    [rule] = of_kind("PrometheusRule", "team").values()
    return [one for group in rule["spec"]["groups"] for one in group["rules"]]


SUFFIXES = {"counter": ["_total"], "histogram": ["_bucket", "_count", "_sum"], "gauge": [""]}
H100 = Worker("gone", "launch", None, "cuda:90 NVIDIA H100 80GB HBM3", "launcher", 1, 0)


async def had_a_gpu(redis_url: str) -> None:
    """Have the store know a GPU whose worker is gone."""
    async with connect(redis_url) as redis:
        await Workers(redis).beat(H100)
        await Workers(redis).unregister(H100.id)


@pytest.fixture(scope="module")
def scraped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The answer of `GET /metrics` without a worker."""
    folder, bucket = tmp_path_factory.mktemp("service"), tmp_path_factory.mktemp("bucket")
    deployment = Deployment(folder, TRITOND_BLOBS_URL=f"file://{bucket}")
    deployment.start_store()
    try:
        asyncio.run(had_a_gpu(deployment.redis_url))
        deployment.start_service()
        with deployment.client() as client:
            yield client.get("/metrics").text
    finally:
        deployment.stop()


def exported(scraped: str) -> dict[str, list[dict[str, str]]]:
    """Return the labels of all series by their names; those not counted yet are there, too."""
    names: dict[str, list[dict[str, str]]] = {}
    for family in text_string_to_metric_families(scraped):
        for suffix in SUFFIXES[family.type]:
            names[family.name + suffix] = []
        for sample in family.samples:
            names.setdefault(sample.name, []).append(sample.labels)
    return names


SELECTED = re.compile(r"(?:by \((\w+)\) \((?:\w+\()?)?\b(up|tritond_\w+)\{([^}]*)\}")


def asked(expression: str) -> Iterator[tuple[str, set[str]]]:
    """Yield each metric of an expression, and the labels that it is chosen or grouped by."""
    for grouped, name, labels in SELECTED.findall(expression):
        chosen = set(re.findall(r"(\w+)(?:=~|=|!=)", labels)) - {"namespace", "job"}
        yield name, chosen | ({grouped} if grouped else set())


def expressions() -> dict[str, str]:
    dashboard = json.loads((CHART / "files/dashboard.json").read_text())
    return {
        **{rule["alert"]: rule["expr"] for rule in rules()},
        **{
            f"{panel['title']} {target['refId']}": target["expr"]
            for panel in dashboard["panels"]
            for target in panel["targets"]
        },
        **{
            f"{name} {trigger['name']}": trigger["metadata"]["query"]
            for name, scaled in of_kind("ScaledObject", "gpu").items()
            for trigger in scaled["spec"]["triggers"]
        },
    }


def test_the_service_exports_every_metric_that_is_asked_for(scraped: str):
    names = exported(scraped)
    for place, expression in expressions().items():
        found = list(asked(expression))
        assert found, place
        for name, labels in found:
            if name not in OF_PROMETHEUS:
                assert name in names, place
                assert not labels or any(labels <= one.keys() for one in names[name]), place


def test_a_gpu_without_a_worker_has_the_series_that_start_one(scraped: str):
    [scaled] = [one for name, one in of_kind("ScaledObject", "gpu").items() if "h100" in name]
    for trigger in scaled["spec"]["triggers"]:
        name, pattern = re.search(
            r'(tritond_\w+)\{.*lane=~"(.+?)"', trigger["metadata"]["query"]
        ).groups()
        lanes = {labels["lane"] for labels in exported(scraped)[name]}
        assert [lane for lane in lanes if re.fullmatch(pattern, lane)]


def test_every_expression_chooses_one_release():
    for place, expression in expressions().items():
        chosen = re.findall(r"\{([^}]*)\}", expression)
        assert all("namespace=" in one and "job=" in one for one in chosen), place


def test_alerts_and_triggers_are_about_the_service_that_prometheus_scrapes():
    [monitor] = of_kind("ServiceMonitor", "team").values()
    [service] = [
        one
        for one in of_kind("Service", "team").values()
        if monitor["spec"]["selector"]["matchLabels"].items() <= one["metadata"]["labels"].items()
    ]
    [endpoint] = monitor["spec"]["endpoints"]
    assert endpoint["port"] in [port["name"] for port in service["spec"]["ports"]]
    assert endpoint["path"] == "/metrics"
    assert all(f'job="{service["metadata"]["name"]}"' in rule["expr"] for rule in rules())


def test_prometheus_reads_the_metrics_with_the_key_of_a_secret():
    [monitor] = of_kind("ServiceMonitor", "team").values()
    [endpoint] = monitor["spec"]["endpoints"]
    assert endpoint["authorization"]["credentials"] == {"name": "tritond", "key": "admin-key"}


@pytest.fixture
def rules_file(tmp_path: Path) -> Path:
    [rule] = of_kind("PrometheusRule", "team").values()
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(rule["spec"]))
    return tmp_path / "rules.yaml"


def filled(text: str, labels: dict[str, str]) -> str:
    """Return an annotation as Prometheus writes it."""
    for name, value in labels.items():
        text = text.replace(f"{{{{ $labels.{name} }}}}", value)
    return text


def promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["promtool", *arguments], capture_output=True, text=True)


def test_prometheus_reads_the_rules(rules_file: Path):
    answer = promtool("check", "rules", "--lint-fatal", str(rules_file))
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_each_alert_comes_when_it_must_and_not_in_health(rules_file: Path, tmp_path: Path):
    tried = yaml.safe_load(TRIED.read_text())
    texts = {rule["alert"]: rule["annotations"] for rule in rules()}
    coming = set()
    for case in [case for test in tried["tests"] for case in test["alert_rule_test"]]:
        for alert in case["exp_alerts"]:
            coming.add(case["alertname"])
            alert["exp_annotations"] = {
                name: filled(text, alert["exp_labels"])
                for name, text in texts[case["alertname"]].items()
            }
    assert coming == texts.keys()
    (tmp_path / "tests.yaml").write_text(yaml.safe_dump(tried | {"rule_files": [str(rules_file)]}))
    answer = promtool("test", "rules", str(tmp_path / "tests.yaml"))
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_every_alert_says_what_to_do():
    for rule in rules():
        assert rule["labels"]["severity"] in {"info", "warning", "critical"}
        assert rule["annotations"].keys() == {"summary", "description"}


def test_the_dashboard_is_what_grafana_gets():
    [made] = [one for name, one in of_kind("ConfigMap", "team").items() if "dashboard" in name]
    assert json.loads(made["data"]["tritond.json"]) == json.loads(
        (CHART / "files/dashboard.json").read_text()
    )

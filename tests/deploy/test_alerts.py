"""Alerts and panels ask for metrics that the service exports, and alerts come when they must."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry

from service.state import Metrics
from store.bucket import Bucket
from tests.deploy.chart import CHART, of_kind

TRIED = Path(__file__).parent / "alerts_test.yaml"
OF_PROMETHEUS = {"up"}


def rules() -> list[dict[str, Any]]:
    [rule] = of_kind("PrometheusRule", "team").values()
    return [one for group in rule["spec"]["groups"] for one in group["rules"]]


SUFFIXES = {"counter": ["_total"], "histogram": ["_bucket", "_count", "_sum"], "gauge": [""]}


def exported(tmp_path: Path) -> dict[str, set[str]]:
    """Return the labels of every series that `GET /metrics` may show, by its name."""
    registry = Metrics(Bucket(f"file://{tmp_path}")).registry
    return {
        family.name + suffix: labels_of(registry, family.name)
        | ({"le"} if suffix == "_bucket" else set())
        for family in registry.collect()
        for suffix in SUFFIXES[family.type]
    }


def labels_of(registry: CollectorRegistry, name: str) -> set[str]:
    """Return the names of a metric's labels; prometheus-client tells them of samples alone."""
    collector = registry._names_to_collectors.get(name)
    return set(getattr(collector, "_labelnames", ()))


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


def test_the_service_exports_every_metric_that_is_asked_for(tmp_path: Path):
    names = exported(tmp_path)
    for place, expression in expressions().items():
        found = list(asked(expression))
        assert found, place
        for name, labels in found:
            if name not in OF_PROMETHEUS:
                assert name in names, place
                assert labels <= names[name], place


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

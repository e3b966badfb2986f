"""Renders the chart of deploy/helm as `helm install` would."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

NAMED = os.environ.get("TRITOND_TEST_DEPLOY", "")
ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy/helm/tritond"
NAMESPACE = "kernels"
PROFILES = {
    "laptop": ("laptop",),
    "team": ("team",),
    "gpu": ("team", "gpu"),
    "internet": ("team", "internet"),
    "s3": ("team", "s3"),
}
"""The files of deploy/helm/profiles that go together, by the name of the last."""
Manifest = dict[str, Any]


def helm(verb: str, profile: str, *more: str) -> subprocess.CompletedProcess[str]:
    """Run helm on the chart with the values of a profile."""
    files = [ROOT / f"deploy/helm/profiles/{name}.yaml" for name in PROFILES[profile]]
    values = [part for file in files for part in ("--values", str(file))]
    release = ["tritond"] if verb == "template" else []
    command = [f"{NAMED}/bin/helm", verb, *release, str(CHART), "--namespace", NAMESPACE]
    return subprocess.run([*command, *values, *more], capture_output=True, text=True)


@cache
def rendered(profile: str, *more: str) -> list[Manifest]:
    """Return the manifests of a profile, with more arguments of helm."""
    answer = helm("template", profile, *more)
    assert answer.returncode == 0, answer.stderr
    return [manifest for manifest in yaml.safe_load_all(answer.stdout) if manifest]


def refusal(profile: str, *more: str) -> str:
    """Return helm's error for values that it must refuse."""
    answer = helm("template", profile, *more)
    assert answer.returncode != 0, "these values were accepted"
    return answer.stderr


def of_kind(kind: str, profile: str, *more: str) -> dict[str, Manifest]:
    """Return the manifests of one kind by their names."""
    return {
        manifest["metadata"]["name"]: manifest
        for manifest in rendered(profile, *more)
        if manifest["kind"] == kind
    }


def pods(profile: str, *more: str) -> dict[str, Manifest]:
    """Return the template of every pod of the release, by the name of its controller."""
    return {
        manifest["metadata"]["name"]: manifest["spec"]["template"]
        for manifest in rendered(profile, *more)
        if "template" in manifest.get("spec", {})
    }


def worker_pods(profile: str, *more: str) -> dict[str, Manifest]:
    """Return the pods of workers alone."""
    return {name: pod for name, pod in pods(profile, *more).items() if "-worker-" in name}


def containers(pod: Manifest) -> Iterator[Manifest]:
    """Yield every container of a pod, whenever it runs."""
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        yield from pod["spec"].get(kind, [])


def environment(pod: Manifest) -> dict[str, Any]:
    """Return the variables of a pod's only container: a text, or where the value comes from."""
    [container] = containers(pod)
    return {one["name"]: one.get("value", one.get("valueFrom")) for one in container["env"]}

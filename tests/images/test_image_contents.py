"""An image is labelled with its source, and has the packages of its locks and no other."""

from __future__ import annotations

import json
import re

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.images.conftest import ARGUMENTS, TARGETS
from tests.images.podman import ROOT, flags_of, podman

LOCKS = {
    "service": ("service", "blobs"),
    "worker": ("service", "blobs", "worker"),
    "worker-gpu": ("service", "blobs", "worker", "gpu"),
}
INSTALLED = (
    "import json, importlib.metadata as m; "
    "print(json.dumps({d.metadata['Name']: d.version for d in m.distributions()}))"
)


PYTHON = {"python_version": "3.11", "python_full_version": "3.11.2"}
"""Of the stand-in. All else that markers ask for is as in this machine's Python."""


def locked(target: str) -> dict[str, str]:
    """Return the versions that a target's locks name for the images' Python."""
    texts = [(ROOT / "requirements" / f"{name}.txt").read_text() for name in LOCKS[target]]
    lines = re.findall(r"(?m)^[\w.-]+==[^\\\n]+", "".join(texts))
    found = [Requirement(line) for line in lines]
    return {
        canonicalize_name(one.name): str(one.specifier).removeprefix("==")
        for one in found
        if one.marker is None or one.marker.evaluate(PYTHON)
    }


@pytest.mark.parametrize("target", TARGETS)
def test_what_a_scanner_finds_is_what_the_locks_name(images: dict[str, str], target: str) -> None:
    done = podman("run", "--rm", *flags_of(target), images[target], "python", "-c", INSTALLED)
    found = {canonicalize_name(name): version for name, version in json.loads(done.stdout).items()}
    of_venv = {"pip", "setuptools"} - set(locked(target))

    assert found.pop("tritond")
    assert {name: v for name, v in found.items() if name not in of_venv} == locked(target)


@pytest.mark.parametrize("target", TARGETS)
def test_labels_say_where_an_image_comes_from(images: dict[str, str], target: str) -> None:
    [image] = json.loads(podman("image", "inspect", images[target]).stdout)
    prefix = "org.opencontainers.image."
    ours = {name: text for name, text in image["Labels"].items() if name.startswith(prefix)}

    assert ours == {
        f"{prefix}title": f"tritond-{target}",
        f"{prefix}version": ARGUMENTS["VERSION"],
        f"{prefix}revision": ARGUMENTS["REVISION"],
        f"{prefix}source": ARGUMENTS["SOURCE"],
        f"{prefix}licenses": "Apache-2.0",
    }


@pytest.mark.parametrize("target", TARGETS)
def test_an_image_runs_as_an_ordinary_user(images: dict[str, str], target: str) -> None:
    [image] = json.loads(podman("image", "inspect", images[target]).stdout)
    assert image["Config"]["User"] == "10001:10001"

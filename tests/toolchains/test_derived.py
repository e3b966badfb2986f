"""What is derived from compilations of every installed version of Triton."""

from __future__ import annotations

import itertools
from pathlib import Path

import httpx
import pytest

from tests.integration.service.bodies import good
from tests.integration.service.derived.compiled import get
from tests.integration.service.derived.test_triton_cache import MATMUL, VECTOR_ADD, installed, jit
from tests.toolchains.test_other_tritons import VERSIONS, compile_with

KERNELS = [("vector_add", "add_kernel", VECTOR_ADD), ("matmul", "matmul_kernel", MATMUL)]


@pytest.mark.parametrize(("name", "kernel", "arguments"), KERNELS)
@pytest.mark.parametrize("version", VERSIONS)
def test_the_jit_of_that_version_finds_what_was_installed(
    client: httpx.Client,
    pythons: dict[str, str],
    tmp_path: Path,
    version: str,
    name: str,
    kernel: str,
    arguments: dict[str, object],
) -> None:
    made = compile_with(client, version, good(name))
    cache = installed(client, made, tmp_path)

    answer = jit(cache, good(name)["source"], kernel, arguments, pythons[version])

    assert answer["cache_hit"] == [True]


@pytest.mark.parametrize("version", VERSIONS)
def test_passes_lead_from_the_source_to_the_artifact(client: httpx.Client, version: str) -> None:
    made = compile_with(client, version, good("matmul"))

    passes = get(client, made, "passes").json()["passes"]

    changes = [step for step in passes if step["changed"]]
    artifact = client.get(f"{made['url']}/artifacts/llir").text
    assert changes[-1]["after"] == artifact.strip("\n")
    assert all(a["after"] == b["before"] for a, b in itertools.pairwise(changes))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_copy_is_found_in_the_machine_code(client: httpx.Client, version: str) -> None:
    made = compile_with(client, version, good("matmul"))

    lines = get(client, made, "lines").json()["lines"]

    source = good("matmul")["source"].splitlines()
    (row,) = [row for row in lines if "a = tl.load(" in source[row["line"] - 1]]
    sass = client.get(f"{made['url']}/artifacts/sass").text.splitlines()
    assert any("LDGSTS" in sass[number - 1] for number in row["sass"])


@pytest.mark.parametrize("form", ["c", "cuda-inline", "rust", "python"])
@pytest.mark.parametrize("version", VERSIONS)
def test_every_format_is_exported(client: httpx.Client, version: str, form: str) -> None:
    made = compile_with(client, version, good("matmul"))

    answer = get(client, made, f"exports/{form}")

    assert answer.status_code == 200, answer.text
    assert f"Triton {version}" in answer.text

"""One worker serves every installed version of Triton, and makes what each compiles itself."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.compiler.kernels import KERNELS, read
from tests.integration.compiler.triton_compile import run_directly
from tests.integration.service.bodies import good

VERSIONS = ("3.6.0", "3.7.1", "3.8.0")
CUDA = ["source", "ttir", "ttgir", "llir", "ptx", "cubin"]
HIP = ["source", "ttir", "ttgir", "llir", "amdgcn", "hsaco"]
KERNEL_NAMES = ("vector_add", "fused_softmax", "matmul", "loops", "scan", "helpers")
TARGETS = {
    "cuda:80": ["cuda", 80, 32],
    "cuda:90": ["cuda", 90, 32],
    "hip:gfx942": ["hip", "gfx942", 64],
}


def compile_with(client: httpx.Client, version: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = client.post("/v1/compilations", params={"wait": 60}, json={"triton": version, **body})
    assert answer.status_code == 200, answer.text
    made: dict[str, Any] = answer.json()
    return made


def test_every_toolchain_is_offered(client: httpx.Client, pythons: dict[str, str]) -> None:
    offered = {item["triton"]: item for item in client.get("/v1/targets").json()["toolchains"]}

    assert set(offered) >= {*pythons, "3.9.0"}
    assert offered["3.9.0"]["default"] is True
    for version in pythons:
        assert {"cuda:80", "cuda:90", "hip:gfx942"} <= set(offered[version]["targets"])
    [worker] = [w for w in client.get("/v1/workers").json()["workers"] if w["kind"] == "compile"]
    assert len(worker["toolchains"]) == len(pythons) + 1


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", KERNEL_NAMES)
@pytest.mark.parametrize("version", VERSIONS)
def test_every_stage_equals_that_of_its_own_triton_compile(
    client: httpx.Client,
    pythons: dict[str, str],
    tmp_path: Path,
    version: str,
    name: str,
    target: str,
) -> None:
    if version not in pythons:
        pytest.skip(f"Triton {version} is not installed")
    stages = CUDA if target.startswith("cuda") else HIP
    made = compile_with(client, version, good(name, include=stages) | {"target": target})
    assert made["state"] == "succeeded", made["problem"]
    assert made["toolchain"]["triton"] == version

    kernel = read(KERNELS / "good" / f"{name}.py")
    expected = run_directly(
        {
            "source": kernel.text,
            "kernel": made["kernel"],
            "signature": kernel.request["signature"],
            "constexprs": {
                parameter["name"]: parameter["value"]
                for parameter in made["parameters"]
                if parameter["role"] == "constexpr"
            },
            "hints": kernel.request.get("hints", {}),
            "options": {"enable_fp_fusion": True},
            "target": TARGETS[target],
        },
        tmp_path,
        pythons[version],
    )

    for stage in stages[:-1]:
        assert made["included"][stage] == expected[stage].decode(), stage
    if target.startswith("hip"):
        assert base64.b64decode(made["included"]["hsaco"]) == expected["hsaco"]
    else:  # ptxas before 13.4 writes the time of every file it read into the cubin
        assert len(base64.b64decode(made["included"]["cubin"])) == len(expected["cubin"])


@pytest.mark.parametrize("target", ["cuda:90", "hip:gfx942"])
@pytest.mark.parametrize("version", VERSIONS)
def test_a_front_end_shared_between_options_makes_what_its_own_triton_makes(
    client: httpx.Client, pythons: dict[str, str], tmp_path: Path, version: str, target: str
) -> None:
    if version not in pythons:
        pytest.skip(f"Triton {version} is not installed")
    options = {"num_warps": 8, "num_stages": 1, "enable_fp_fusion": True}
    body = good("matmul", include=CUDA[:4]) | {"target": target}
    first = compile_with(client, version, body)
    second = compile_with(client, version, body | {"options": options})
    assert second["timings_ms"]["frontend"] == first["timings_ms"]["frontend"]

    kernel = read(KERNELS / "good" / "matmul.py")
    given = [item for item in second["parameters"] if item["role"] == "constexpr"]
    request = {
        "source": kernel.text,
        "kernel": second["kernel"],
        "signature": kernel.request["signature"],
        "constexprs": {parameter["name"]: parameter["value"] for parameter in given},
        "hints": kernel.request.get("hints", {}),
        "options": options,
        "target": TARGETS[target],
    }
    expected = run_directly(request, tmp_path, pythons[version])

    for stage in CUDA[:4]:
        assert second["included"][stage] == expected[stage].decode(), stage


@pytest.mark.parametrize("version", VERSIONS)
def test_the_abi_of_a_descriptor_fits_the_version(
    client: httpx.Client, pythons: dict[str, str], version: str
) -> None:
    if version not in pythons:
        pytest.skip(f"Triton {version} is not installed")
    for arch in (80, 90):
        body = good("tensor_descriptor", include=["ptx"]) | {"target": f"cuda:{arch}"}
        made = compile_with(client, version, body)

        declared = made["included"]["ptx"].partition(".entry")[2].partition(")")[0]
        assert len(made["abi"]["parameters"]) == declared.count(".param")


@pytest.mark.parametrize("version", VERSIONS)
def test_ttir_with_descriptors_moves_between_versions(
    client: httpx.Client, pythons: dict[str, str], version: str
) -> None:
    if version not in pythons:
        pytest.skip(f"Triton {version} is not installed")
    body = good("tensor_descriptor", include=["ttir"])
    newest = compile_with(client, "3.9.0", body)["included"]["ttir"]
    older = compile_with(client, version, body)["included"]["ttir"]

    there = {"ir": {"language": "ttir", "text": newest}, "target": "cuda:90"}
    back = {"ir": {"language": "ttir", "text": older}, "target": "cuda:90"}

    assert compile_with(client, version, there)["state"] == "succeeded"
    assert compile_with(client, "3.9.0", back)["state"] == "succeeded"


@pytest.mark.parametrize("version", VERSIONS)
def test_errors_point_at_the_line_in_every_version(
    client: httpx.Client, pythons: dict[str, str], version: str
) -> None:
    if version not in pythons:
        pytest.skip(f"Triton {version} is not installed")
    kernel = read(KERNELS / "broken" / "unknown_name.py")

    failed = compile_with(
        client, version, {"source": kernel.text, "target": "cuda:90", **kernel.request}
    )

    assert failed["problem"]["slug"] == kernel.expected["slug"]
    assert str(failed["diagnostics"][0]["line"]) == kernel.expected["line"]


def test_versions_have_different_keys(client: httpx.Client, pythons: dict[str, str]) -> None:
    keys = {compile_with(client, v, good("vector_add"))["key"] for v in [*pythons, "3.9.0"]}

    assert len(keys) == len(pythons) + 1

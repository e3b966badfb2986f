"""Triton's own JIT compiles none of liger-kernel's kernels when it has what the service made."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import tritonc
from tritonc.cli.main import main
from tritonc.packages.package import Package

from tests.integration.service.running import Deployment

HERE = Path(__file__).parent
KERNELS = {
    "_rms_norm_forward_kernel", "_rms_norm_backward_kernel", "_layer_norm_forward_kernel",
    "_layer_norm_backward_kernel", "_swiglu_forward_kernel", "_swiglu_backward_kernel",
    "_geglu_tanh_forward_kernel", "_geglu_tanh_backward_kernel", "_triton_rope",
}  # fmt: skip


def launched(cache: Path, url: str = "") -> dict[str, Any]:
    """Run the launches in a fresh process, with a folder as Triton's cache."""
    done = subprocess.run(
        [sys.executable, HERE / "launching.py", url],
        env={**os.environ, "TRITON_CACHE_DIR": str(cache), "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    assert answer["hits"].keys() == KERNELS
    return answer


def install(archive: Path, folder: Path, cache: Path) -> None:
    """Unpack an export or a bundle, and run its installer."""
    with tarfile.open(archive) as files:
        files.extractall(folder, filter="data")
    environment = {**os.environ, "TRITON_CACHE_DIR": str(cache)}
    subprocess.run([sys.executable, folder / "install.py"], env=environment, check=True, timeout=60)


def package_folder() -> Path:
    """Return the folder of the installed package, without importing it."""
    spec = importlib.util.find_spec("liger_kernel")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(spec.submodule_search_locations[0])


def entries(cache: Path) -> set[str]:
    """Return the kernels in a cache by the names of their folders, which are Triton's keys."""
    return {str(path.relative_to(cache)) for path in cache.glob("*/*.cubin")}


def test_the_hook_fetches_every_kernel(deployment: Deployment, tmp_path: Path) -> None:
    first = launched(tmp_path, deployment.url)
    later = launched(tmp_path)

    assert first["outcomes"] == {"fetched": len(KERNELS)}
    assert first["hits"] == later["hits"] == dict.fromkeys(KERNELS, True)


def test_exports_are_what_tritons_own_jit_looks_for(
    deployment: Deployment, plain_cache: Path, tmp_path: Path
) -> None:
    plain = launched(plain_cache)
    assert plain["hits"] == dict.fromkeys(KERNELS, False)
    with tritonc.Client(deployment.url) as client:
        for name, kernel in plain["compiled"].items():
            file = Path(kernel["file"])
            made = client.compile(
                file.read_text(),
                kernel=name,
                target="cuda:90",
                specialization_data=kernel["data"],
                package=Package.of_file(file, file.read_text()),
                wait_s=120,
            )
            archive = tmp_path / f"{name}.tar"
            archive.write_bytes(client.export(made.key, "triton-cache", wait_s=60))
            install(archive, tmp_path / name, tmp_path / "cache")

    assert entries(tmp_path / "cache") == entries(plain_cache)
    assert launched(tmp_path / "cache")["hits"] == dict.fromkeys(KERNELS, True)


def test_warm_bundles_every_kernel_that_a_program_launches(
    deployment: Deployment, tmp_path: Path
) -> None:
    bundle, cache = tmp_path / "program.tar", tmp_path / "cache"
    flags = ["--target", "cuda:90", "-o", str(bundle)]
    project = tmp_path / "project"
    shutil.copytree(package_folder(), project / "liger_kernel")  # only local modules are sent
    shutil.copy(HERE / "program.py", project)

    code = main(["--url", deployment.url, "warm", str(project / "program.py"), *flags])
    install(bundle, tmp_path / "bundle", cache)

    reported = json.loads((tmp_path / "bundle/bundle.json").read_text())
    assert (code, reported["left_out"]) == (0, [])
    forward = {"_rms_norm_forward_kernel", "_swiglu_forward_kernel"}
    assert {entry["kernel"] for entry in reported["entries"]} == forward
    hits = launched(cache)["hits"]
    assert {name for name, is_hit in hits.items() if is_hit} == forward

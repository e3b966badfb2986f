"""`tritonc warm`: a program's kernels compiled ahead, and Triton's cache filled with them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

from tritonc.cli.main import main

from tests.evaluators.conftest import EXAMPLES

PROGRAMS = EXAMPLES / "programs"


def test_a_bundle_fills_tritons_cache(url: str, tmp_path: Path) -> None:
    bundle, cache = tmp_path / "rms_norm.tar", tmp_path / "cache"
    reference = str(PROGRAMS / "rms_norm_reference.py")
    flags = ["--reference", reference, "--target", "cuda:90", "-o", str(bundle)]
    assert main(["--url", url, "warm", str(PROGRAMS / "rms_norm.py"), *flags]) == 0
    with tarfile.open(bundle) as archive:
        archive.extractall(tmp_path / "bundle", filter="data")
    reported = json.loads((tmp_path / "bundle/bundle.json").read_text())
    assert [entry["kernel"] for entry in reported["entries"]] == ["rms_norm_kernel"]
    assert (reported["entries"][0]["target"], reported["left_out"]) == ("cuda:90", [])
    subprocess.run(
        [sys.executable, str(tmp_path / "bundle/install.py")],
        env={**os.environ, "TRITON_CACHE_DIR": str(cache)},
        check=True,
        timeout=60,
    )
    assert [path.name for path in cache.glob("*/*.cubin")] == ["rms_norm_kernel.cubin"]

"""The packages of the corpus: pip downloads their wheels, which are unpacked but never installed.

Only their Python files are read. Files are stored under `.cache/corpus`.
"""

import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Package:
    """A release of a package, and its folders with Triton kernels for NVIDIA."""

    name: str
    version: str
    folders: tuple[str, ...]
    tests: str = ""
    """The folder of its tests, in its wheel or its sdist; "" where it publishes none."""
    held_out: bool = (
        False  # its kernels were not inspected before the run in benchmarks/results/corpus.md
    )


PACKAGES = (
    Package("bitsandbytes", "0.50.2", ("bitsandbytes",)),
    Package("conch-triton-kernels", "1.3", ("conch",), tests="sdist:tests"),
    Package("fla-core", "0.6.0", ("fla",)),
    Package(
        "flag-gems", "5.0.2",
        ("flag_gems/ops", "flag_gems/fused", "flag_gems/runtime/backend/_nvidia"),
    ),
    Package(
        "liger-kernel", "0.8.5", ("liger_kernel/ops", "liger_kernel/transformers"),
        tests="sdist:test/transformers",
    ),
    Package("sglang", "0.5.23", ("sglang",)),
    Package("torchao", "0.18.0", ("torchao",), tests="wheel:test/prototype"),
    Package("unsloth", "2026.10.9", ("unsloth/kernels", "unsloth/models")),
    Package("vllm", "0.33.0", ("vllm",), tests="sdist:tests/kernels"),
    Package("xformers", "0.0.35", ("xformers",), tests="sdist:tests"),
    Package(
        "flashinfer-python", "0.7.2.post1", ("flashinfer/triton",), tests="sdist:tests",
        held_out=True,
    ),
    Package("lmdeploy", "0.18.0", ("lmdeploy/pytorch",), held_out=True),
    Package("sageattention", "1.0.6", ("sageattention",), tests="sdist:test", held_out=True),
)  # fmt: skip


def unpacked(package: Package, cache: Path) -> Path:
    """Return the folder with the Python files of a package, downloading it the first time.

    Raises `CalledProcessError` if pip fails; pip has printed the reason.
    """
    folder = cache / "sources" / package.name
    if folder.exists():
        return folder
    wheels = cache / "wheels" / package.name
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--only-binary", ":all:", "--dest", str(wheels)]
    subprocess.run([*command, f"{package.name}=={package.version}".removesuffix("==")], check=True)
    (wheel,) = wheels.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(
            folder, [n for n in archive.namelist() if n.endswith((".py", ".yaml", "METADATA"))]
        )
    wheel.unlink()
    return folder

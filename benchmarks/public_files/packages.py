"""The packages: pip downloads the newest of each, which is unpacked like an installed one.

Only their Python files are read. Files are stored under `.cache/public`.
"""

import os
import random
import re
import subprocess
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

SOURCES = frozenset({"mamba-ssm"})
"""Those that publish no wheels without compiled code."""
TOGETHER = {"flash-linear-attention": ("flash-linear-attention", "fla-core")}
"""Distributions that share a package."""
PACKAGES = (
    "sglang", "flash-linear-attention", "liger-kernel", "mamba-ssm", "flag-gems", "unsloth",
    "unsloth_zoo", "torchao", "xformers", "triton-kernels", "vllm", "conch-triton-kernels",
    "bitsandbytes", "lmdeploy", "flashinfer-python", "sageattention", "accelerated-scan",
    "adasplash", "axolotl", "cut-cross-entropy", "flash-attn-triton", "flash-kmeans", "flashlib",
    "flashnn", "grouped-mm-bf16", "jvp-flash-attention", "lightning-attn", "mlstm-kernels",
    "rwkv-fla", "tokenspeed-triton-kernels", "transformer-engine", "verl",
)  # fmt: skip
_JIT = re.compile(r"^[ \t]*@(?:triton\.)?jit\b", re.MULTILINE)
_FOREIGN = re.compile(
    r"/_?(ascend|npu|xpu|cambricon|metax|hygon|musa|mthreads|iluvatar|aipu|arm|enflame|kunlunxin|"
    r"spacemit|sunrise|thead|tsingmicro|gcu|mlu|amd|rocm|hip)/"
)
"""Folders for devices of others than NVIDIA."""
_KEPT = (".py", ".yaml", "METADATA", "PKG-INFO")


@dataclass(frozen=True)
class PublicPackage:
    """A package: its name and version, and its folder as if it were installed."""

    name: str
    version: str
    root: Path

    def files(self, seed: int) -> list[Path]:
        """Return its files with a kernel in a random order, but the same for the same seed."""
        paths = [path for path in sorted(self.root.rglob("*.py")) if _has_kernel(path)]
        paths = [path for path in paths if not _FOREIGN.search(str(path.relative_to(self.root)))]
        random.Random(seed).shuffle(paths)
        return paths


def unpacked(name: str, cache: Path, python: Path) -> PublicPackage:
    """Return a package, downloading it the first time with the pip of `python`, which has torch.

    Raises `CalledProcessError` if pip fails; pip has printed the reason.
    """
    root = cache / name / "site-packages"
    version = cache / name / "version"
    if not version.exists():
        versions = [
            _install(distribution, cache / name, python)
            for distribution in TOGETHER.get(name, (name,))
        ]
        version.write_text(versions[0])
    return PublicPackage(name, version.read_text(), root)


def _install(name: str, folder: Path, python: Path) -> str:
    """Download and unpack a distribution; return its version."""
    downloads, root = folder / "downloads", folder / "site-packages"
    command = [str(python), "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--dest", str(downloads)]
    if name in SOURCES:  # whose version even is known only to code that imports torch
        command += ["--no-binary", ":all:", "--no-build-isolation"]
    else:
        command += ["--only-binary", ":all:"]
    subprocess.run([*command, name], check=True, env=os.environ | {"MAMBA_SKIP_CUDA_BUILD": "TRUE"})
    (archive,) = downloads.iterdir()
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            wheel.extractall(
                root, [member for member in wheel.namelist() if member.endswith(_KEPT)]
            )
    else:
        with tarfile.open(archive) as source:
            for member in source.getmembers():
                if member.isfile() and member.name.endswith(_KEPT):
                    member.name = member.name.partition("/")[2]
                    source.extract(member, root, filter="data")
    archive.unlink()
    return archive.name.removesuffix(".tar.gz").split("-")[1]


def _has_kernel(path: Path) -> bool:
    return _JIT.search(path.read_text(errors="replace")) is not None

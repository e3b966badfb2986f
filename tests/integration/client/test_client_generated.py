"""The blocking client is generated from the asyncio client when the distribution is built."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

CLIENT = Path(__file__).parents[3] / "client"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the blocking client's files in a wheel of `client`, by name."""
    folder = tmp_path_factory.mktemp("wheel")
    source = shutil.copytree(CLIENT, folder / "client", ignore=shutil.ignore_patterns("_sync"))
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=source, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith("tritonc/_sync/")]
        return {name.rpartition("/")[2]: archive.read(name).decode() for name in names}


def test_a_wheel_contains_the_blocking_form_of_every_file(built: dict[str, str]):
    assert set(built) == {path.name for path in (CLIENT / "tritonc/_async").glob("*.py")}


def test_the_blocking_client_does_not_speak_of_asyncio(built: dict[str, str]):
    for text in built.values():
        header, _, rest = text.partition("\n")
        assert header.startswith("# Generated from tritonc/_async/")
        assert "async" not in rest.lower()
        assert "await" not in rest

"""The folder of a source among the posted files, inferred from its relative imports."""

from __future__ import annotations

import pytest

from compiler.reading.posted_files import package_of, source_folder

PACKAGE = {
    "package/__init__.py": "",
    "package/words/__init__.py": "from .more import g\n",
    "package/words/more.py": "",
    "package/kernels/beside.py": "",
}


@pytest.mark.parametrize(
    ("text", "files", "folder", "package"),
    [
        ("import helpers\n", {"helpers.py": ""}, (), ""),
        ("from .helpers import f\n", {"helpers.py": ""}, (), "kernel"),
        ("from .helpers import f\n", {"package/helpers.py": ""}, ("package",), "package"),
        ("from ..helpers import f\n", {"helpers.py": ""}, ("here",), "kernel.here"),
        ("from ..words import f\n", PACKAGE, ("package", "here"), "package.here"),
        (
            "from ..words import f\nfrom .beside import g\n",
            PACKAGE, ("package", "kernels"), "package.kernels",
        ),
        ("from .missing import f\n", PACKAGE, (), "kernel"),
    ],
)  # fmt: skip
def test_a_source_stands_where_its_relative_imports_find_files(
    text: str, files: dict[str, str], folder: tuple[str, ...], package: str
) -> None:
    assert source_folder(text, files) == folder
    assert package_of(text, files) == package

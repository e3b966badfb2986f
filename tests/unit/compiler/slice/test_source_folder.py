"""The folder of a source among the posted files, inferred from its relative imports."""

from __future__ import annotations

import pytest

from compiler.slice.posted_files import package_of, reached_files, source_folder

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


def test_files_are_reached_through_imports_that_climb() -> None:
    reached = reached_files("from ..words import f\n", PACKAGE)

    assert list(reached) == [
        "package/__init__.py", "package/words/__init__.py", "package/words/more.py",
    ]  # fmt: skip


def test_the_files_that_are_reached_tell_the_same_folder() -> None:
    text = "from ..words import f\nfrom .beside import g\n"

    assert source_folder(text, reached_files(text, PACKAGE)) == source_folder(text, PACKAGE)

"""Modules that ask the operating system: posted files answer, other answers are in doubt."""

from __future__ import annotations

import pytest

from tests.integration.compiler.children import Children
from tests.integration.compiler.front.test_modules_of_packages import (
    HEAD,
    KERNEL,
    compile_text,
    stored,
)

FILES = {"m.py": "N = 6\n", "sub/__init__.py": "", "sub/data.txt": "12"}
HERE = "import os\nHERE = os.path.dirname(os.path.abspath(__file__))\n"


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("os.path.exists(HERE + '/m.py')", 1),
        ("os.path.isdir(HERE + '/sub')", 1),
        ("os.path.isfile(HERE + '/sub')", 0),
        ("os.path.exists(HERE + '/other.py')", 0),
        ("os.path.realpath(__file__) == HERE + '/user.py'", 1),
        ("len(__import__('glob').glob(HERE + '/*.py'))", 2),
        ("len(__import__('glob').glob(HERE + '/**/*.txt', recursive=True))", 1),
        ("len(list(__import__('pkgutil').iter_modules([HERE])))", 3),
        ("len(list(__import__('pathlib').Path(HERE).iterdir()))", 3),
        ("__import__('pathlib').Path(HERE, 'm.py').is_file()", 1),
        ("__import__('pathlib').Path(HERE, 'sub', 'data.txt').read_text()", 12),
        ("open(HERE + '/sub/data.txt', 'rb').read()", 12),
        ("os.path.getsize(HERE + '/sub/data.txt')", 2),
        ("__import__('sys').path[0] == HERE", 1),
    ],
)
def test_posted_files_are_in_the_folder_of_the_source(
    children: Children, expression: str, value: int
) -> None:
    text = f"{HEAD}{HERE}VALUE = tl.constexpr(float({expression}))\n{KERNEL}"

    assert float(stored(compile_text(children, text, files=FILES))) == value


@pytest.mark.parametrize(
    "expression",
    [
        "os.path.exists('/usr')",
        "os.path.getmtime(__file__)",
        "os.stat(__file__).st_mtime",
        "os.access('/usr', os.R_OK)",
        "len(os.getcwd())",
        "len(__import__('glob').glob('/usr/*'))",
    ],
)
def test_a_kernel_does_not_depend_on_other_files(children: Children, expression: str) -> None:
    text = f"{HEAD}{HERE}VALUE = tl.constexpr(float({expression}))\n{KERNEL}"

    failure = compile_text(children, text, files=FILES).failure

    assert failure is not None
    assert "cannot be decided here" in failure["message"]


@pytest.mark.parametrize(
    "refused",
    [
        "__import__('os').chdir('/')",
        "__import__('os').mkdir('/tmp/made')",
        "__import__('socket').socket().close()",
        "__import__('subprocess').run(['echo'])",
        "__import__('tempfile').NamedTemporaryFile().close()",
        "__import__('threading').Thread(target=print).start()",
        "bytearray(1 << 50)",
        "import sqlite3",
    ],
)
def test_a_refusal_that_a_source_catches_is_in_doubt(children: Children, refused: str) -> None:
    tries = (
        f"try:\n    {refused}\n    VALUE = tl.constexpr(1.0)\n"
        "except (Exception, MemoryError):\n    VALUE = tl.constexpr(2.0)\n"
    )
    compiled = compile_text(children, HEAD + tries + KERNEL)

    assert compiled.failure is not None or stored(compiled) == "1.000000e+00"


@pytest.mark.parametrize(
    ("statements", "value"),
    [
        ("import tomllib\nV = len(tomllib.loads('a = 1'))", 1),
        (
            "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    return 11\n"
            "V = asyncio.run(f())",
            11,
        ),
        (
            "from concurrent.futures import ThreadPoolExecutor\n"
            "with ThreadPoolExecutor(2) as pool:\n    V = sum(pool.map(abs, [-1, 2]))",
            3,
        ),
        ("import zipfile, urllib.parse\nV = len(urllib.parse.quote(' '))", 3),
    ],
)
def test_the_standard_library_is_installed(children: Children, statements: str, value: int) -> None:
    text = f"{HEAD}{statements}\nVALUE = tl.constexpr(float(V))\n{KERNEL}"

    compiled = compile_text(children, text)

    assert float(stored(compiled)) == value
    assert compiled.front is not None
    assert compiled.front["assumptions"] == []


def test_a_package_may_be_spread_over_several_folders(children: Children) -> None:
    extends = "from pkgutil import extend_path\n__path__ = extend_path([], 'user')\n"
    value = "VALUE = tl.constexpr(1.0 + len(__path__))\n"

    assert stored(compile_text(children, HEAD + extends + value + KERNEL)) == "1.000000e+00"

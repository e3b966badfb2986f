"""The client finds a program's local modules without importing any."""

import tracemalloc
from pathlib import Path

import pytest
from tritonc.diagnostic import POSTED_SOURCE
from tritonc.gate.source_lines import SourceLines
from tritonc.local_imports import MAX_FILES, ImportsTooLarge, local_imports


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder, which is the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_a_module_beside_the_file_is_found_and_what_it_imports_too(folder: Path):
    write(
        folder,
        {
            "add.py": "import triton\nfrom activations import relu\n",
            "activations.py": "import numpy, sizes\n",
            "sizes.py": "N = 4\n",
            "unrelated.py": "",
        },
    )

    assert local_imports(folder / "add.py") == {
        "activations.py": "import numpy, sizes\n",
        "sizes.py": "N = 4\n",
    }


def test_modules_of_a_package_are_named_as_the_imports_find_them(folder: Path):
    write(
        folder,
        {
            "shop/__init__.py": "raise RuntimeError('nothing is executed')\n",
            "shop/kernels.py": "from .helpers import relu\nfrom shop.sizes import N\n"
            "from . import again\n",
            "shop/helpers.py": "from .deep.inner import inner\n",
            "shop/again.py": "",
            "shop/sizes.py": "N = 4\n",
            "shop/deep/__init__.py": "",
            "shop/deep/inner.py": "from ..sizes import N\n",
        },
    )

    found = local_imports(folder / "shop" / "kernels.py")

    assert sorted(found) == ["again.py", "deep/inner.py", "helpers.py", "shop/sizes.py", "sizes.py"]


def test_a_package_that_is_imported_from_comes_as_its_init(folder: Path):
    write(
        folder,
        {
            "k.py": "from ops import relu, silu\n",
            "ops/__init__.py": "from .fast import relu\n",
            "ops/fast.py": "",
            "ops/silu.py": "",
        },
    )

    assert sorted(local_imports(folder / "k.py")) == [
        "ops/__init__.py",
        "ops/fast.py",
        "ops/silu.py",
    ]


def test_imports_inside_of_functions_count(folder: Path):
    write(folder, {"k.py": "def f():\n    import late\n", "late.py": ""})

    assert sorted(local_imports(folder / "k.py")) == ["late.py"]


def test_the_standard_library_triton_and_what_is_not_here_are_left_alone(folder: Path):
    write(folder, {"k.py": "import json, triton, torch\nfrom ..up import x\n", "json.py": ""})
    write(folder, {"triton/__init__.py": ""})

    assert local_imports(folder / "k.py") == {}


def test_the_working_directory_is_searched_for_files_below_it_only(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    write(folder, {"project/kernels/k.py": "import shared\n", "project/shared.py": "", "x/y": ""})

    monkeypatch.chdir(folder / "project")
    below = local_imports(Path("kernels/k.py"))
    monkeypatch.chdir(folder / "x")
    elsewhere = local_imports(folder / "project" / "kernels" / "k.py")

    assert (sorted(below), elsewhere) == (["shared.py"], {})


def test_a_cycle_ends(folder: Path):
    write(folder, {"k.py": "import a\n", "a.py": "import b\n", "b.py": "import a\n"})

    assert sorted(local_imports(folder / "k.py")) == ["a.py", "b.py"]


@pytest.mark.parametrize("text", ["def (", "x = '\0'", "(" * 100_000, "import a.\n"])
def test_text_that_is_not_python_imports_nothing(folder: Path, text: str):
    write(folder, {"k.py": text})

    assert local_imports(folder / "k.py") == {}


def test_a_name_of_many_levels_takes_no_memory_to_parse(folder: Path):
    """Python's own parser copies the name so far at each level: 10 GB for 100,000 of them."""
    text = "import a" + ".a" * 20_000
    lines = SourceLines(folder / "k.py", {POSTED_SOURCE: text}, {})
    tracemalloc.start()
    try:
        assert local_imports(folder / "k.py", text) == {}
        assert lines.statement(POSTED_SOURCE, 1) == 1
        assert tracemalloc.get_traced_memory()[1] < 10 << 20
    finally:
        tracemalloc.stop()


def test_more_modules_than_a_request_may_have_are_refused_with_what_to_do(folder: Path):
    count = MAX_FILES + 1
    write(folder, {f"m{index}.py": "" for index in range(count)})
    write(folder, {"k.py": "".join(f"import m{index}\n" for index in range(count))})

    with pytest.raises(ImportsTooLarge, match=r"more than 512 local modules.*--file"):
        local_imports(folder / "k.py")


def test_text_that_was_typed_is_looked_at_in_the_working_directory(folder: Path):
    write(folder, {"helpers.py": ""})

    assert sorted(local_imports(Path("-"), "import helpers\n")) == ["helpers.py"]


def test_modules_above_the_folder_have_their_paths_in_the_package(folder: Path):
    write(
        folder,
        {
            "shop/__init__.py": "",
            "shop/utils.py": "",
            "shop/ops/__init__.py": "",
            "shop/ops/gemm.py": "from ._act import relu\n",
            "shop/ops/_act.py": "from ..utils import N\n",
        },
    )

    found = local_imports(folder / "shop" / "ops" / "gemm.py")

    assert sorted(found) == ["shop/ops/_act.py", "shop/utils.py"]


def test_a_place_that_the_imports_do_not_show_is_not_guessed(folder: Path):
    write(
        folder,
        {
            "shop/__init__.py": "",
            "shop/utils.py": "",
            "shop/ops/__init__.py": "",
            "shop/ops/gemm.py": "from .utils import relu\n",
            "shop/ops/utils.py": "from ..utils import N\n",
        },
    )

    assert sorted(local_imports(folder / "shop" / "ops" / "gemm.py")) == ["utils.py"]

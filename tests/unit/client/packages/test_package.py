"""A package sends what the service asks for, and lists the rest as absent."""

from __future__ import annotations

from pathlib import Path

import pytest
from tritonc.packages import package as package_module
from tritonc.packages.package import MAX_ABSENT, MAX_ROUNDS, Package

TREE = {
    "pkg/__init__.py": "VERSION = 1\n",
    "pkg/ops/__init__.py": "",
    "pkg/ops/add.py": "from .helpers import relu\n",
    "pkg/ops/helpers.py": "from ..sizes import N\n",
    "pkg/sizes/__init__.py": "N = 4\n",
    "pkg/plain/deep/value.py": "V = 1\n",
    "tools.py": "",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a package; the working directory is another one."""
    for name, text in TREE.items():
        path = tmp_path / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return tmp_path / "root"


def package(folder: Path, name: str = "pkg/ops/add.py", **how: object) -> Package:
    path = folder / name
    text = path.read_text() if path.is_file() else ""
    return Package.of_file(path, text, **how)  # type: ignore[arg-type]


def test_at_first_it_has_the_inits_of_the_packages_around_the_file(folder: Path) -> None:
    assert package(folder).members == {
        "module": "pkg.ops.add",
        "files": {"pkg/__init__.py": "VERSION = 1\n", "pkg/ops/__init__.py": ""},
    }


def test_standard_input_is_in_no_package_unless_it_imports_relatively(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder / "pkg" / "ops")

    alone = Package.of_file(Path("-"), "import pkg.sizes\n")

    assert alone.members == {"module": "user"}
    assert alone.supply(["pkg.sizes"])
    assert "pkg/sizes/__init__.py" in alone.files
    assert alone.share == ""
    assert Package.of_file(Path("-"), "from .helpers import relu\n").module == "pkg.ops.user"


def test_what_is_asked_for_is_added_with_the_packages_around_it(folder: Path) -> None:
    made = package(folder)

    assert made.supply(["pkg.ops.helpers"])
    assert made.supply(["pkg.plain.deep.value", "tools"])
    assert made.supply(["pkg.sizes"])

    assert sorted(made.files) == [
        "pkg/__init__.py",
        "pkg/ops/__init__.py",
        "pkg/ops/helpers.py",
        "pkg/plain/deep/value.py",
        "pkg/sizes/__init__.py",
        "tools.py",
    ]
    assert made.paths["pkg/ops/helpers.py"] == folder / "pkg" / "ops" / "helpers.py"


def test_what_the_file_and_sent_modules_import_comes_first(folder: Path) -> None:
    made = package(folder)
    asked = ["tools", "pkg.plain.deep.value", "pkg.ops.helpers"]

    assert made.supply(asked)
    first = sorted(made.files)
    assert made.supply([*asked, "pkg.sizes.N", "pkg.sizes"])
    second = sorted(made.files)
    assert made.supply(asked)

    assert first == ["pkg/__init__.py", "pkg/ops/__init__.py", "pkg/ops/helpers.py"]
    assert second == [*first, "pkg/sizes/__init__.py"]
    assert sorted(made.files) == [
        *first, "pkg/plain/deep/value.py", "pkg/sizes/__init__.py", "tools.py",
    ]  # fmt: skip


def test_a_folder_without_init_is_sent_as_an_empty_package_when_it_is_asked_for(
    folder: Path,
) -> None:
    made = package(folder)

    assert made.supply(["pkg.plain.deep"])
    assert made.files["pkg/plain/deep/__init__.py"] == ""


def test_what_is_not_here_is_absent_by_its_outermost_package(folder: Path) -> None:
    made = package(folder)

    assert made.supply(["vllm.attention.ops", "vllm", "pkg.ops.gone.deep", "pkg.sizes.N"])

    assert made.members["absent"] == ["vllm", "pkg.ops.gone", "pkg.sizes.N"]


def test_modules_of_libraries_with_stand_ins_come_alone(folder: Path) -> None:
    for name in ("torch/__init__.py", "torch/_inductor/__init__.py", "torch/_inductor/hints.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("A = 1\n")
    made = package(folder)

    assert made.supply(["torch._inductor.hints", "torch._inductor.gone"])

    assert "torch/_inductor/hints.py" in made.files
    assert not {"torch/__init__.py", "torch/_inductor/__init__.py"} & made.files.keys()
    assert made.absent == ["torch._inductor.gone"]


def test_the_torch_of_the_clients_own_environment_is_searched_without_importing_it(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("torch/__init__.py", "torch/_inductor/runtime/triton_helpers.py", "other.py"):
        (tmp_path / "installed" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "installed" / name).write_text("raise SystemExit\n")
    monkeypatch.syspath_prepend(str(tmp_path / "installed"))
    made = package(folder)

    assert made.supply(["torch._inductor.runtime.triton_helpers", "other"])

    assert "torch/_inductor/runtime/triton_helpers.py" in made.files
    assert made.absent == ["other"]


def test_it_is_not_asked_again_when_nothing_was_added(folder: Path) -> None:
    made = package(folder)

    assert made.supply(["gone"])
    assert not made.supply(["gone", "gone.deep", "pkg.ops"])
    assert not made.supply([])


def test_the_working_directory_is_searched_for_files_below_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder.parent / "shared.py").write_text("S = 1\n")

    elsewhere = package(folder)
    monkeypatch.chdir(folder.parent)
    below = package(folder)

    elsewhere.supply(["shared"])
    below.supply(["shared"])
    assert elsewhere.absent == ["shared"]
    assert below.files["shared.py"] == "S = 1\n"


def test_a_module_next_to_a_script_is_found_by_relative_imports_too(folder: Path) -> None:
    script = folder.parent / "my-scripts" / "k.py"
    script.parent.mkdir()
    script.write_text("from .helpers import N\nimport more\n")
    for name in ("helpers", "more"):
        script.with_name(f"{name}.py").write_text(f"# {name}\n")
    made = package(folder.parent, "my-scripts/k.py")

    assert made.module == "my_scripts.k"
    assert made.supply(["my_scripts.helpers", "more"])
    assert made.files == {"my_scripts/helpers.py": "# helpers\n", "more.py": "# more\n"}


def test_named_files_are_sent_always_and_for_relative_imports(folder: Path) -> None:
    named = {"helpers.py": "relu = 1\n"}
    made = package(folder, named=named, sends_modules=False)

    assert made.files == named
    assert made.supply(["pkg.ops.helpers"])
    assert made.supply(["pkg.sizes"])
    assert made.files == {"helpers.py": "relu = 1\n", "pkg/ops/helpers.py": "relu = 1\n"}
    assert made.absent == ["pkg.sizes"]


def test_after_some_rounds_the_rest_is_absent_and_said_in_one_line(folder: Path) -> None:
    for number in range(MAX_ROUNDS + 2):
        (folder / f"m{number}.py").write_text("")
    made = package(folder)

    assert all(made.supply([f"m{number}"]) for number in range(MAX_ROUNDS + 1))
    assert not made.supply([f"m{MAX_ROUNDS + 1}"])

    assert made.absent == [f"m{MAX_ROUNDS}"]
    [line] = made.notes
    assert "m5 were asked for and not sent" in line


def test_beyond_the_bounds_of_a_request_the_rest_is_absent(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(package_module, "MAX_BYTES", 1000)
    (folder / "large.py").write_text("#" * 1000)
    (folder / "small.py").write_text("#")
    made = package(folder)

    assert made.supply(["large", "small"])
    assert "small.py" in made.files
    assert made.absent == ["large"]


@pytest.mark.parametrize("name", ["módulo", "a" + ".a" * 40, "a." + "b" * 600, ""])
def test_a_name_that_no_request_can_have_is_left_to_the_service(folder: Path, name: str) -> None:
    made = package(folder)

    assert not made.supply([name])
    assert made.absent == []


def test_the_list_of_absent_modules_is_bounded(folder: Path) -> None:
    made = package(folder)

    assert made.supply([f"gone{number}" for number in range(MAX_ABSENT + 10)])
    assert len(made.absent) == MAX_ABSENT


def test_a_module_that_cannot_be_read_is_absent_and_said(folder: Path) -> None:
    (folder / "broken.py").write_bytes(b"# coding: no-such\n")
    made = package(folder)

    assert made.supply(["broken"])
    assert made.absent == ["broken"]
    assert "note: broken cannot be read, so it counts as absent" in made.notes[0]


def test_its_share_counts_the_modules_of_the_package(folder: Path) -> None:
    made = package(folder)
    made.supply(["pkg.ops.helpers"])
    made.supply(["tools"])

    assert made.share == "4 of 6 modules of `pkg` were needed"
    assert package(folder, "tools.py").share == ""

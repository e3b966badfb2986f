"""The code digest: equal for one release in any folder, different for any other code."""

import compileall
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.compiler.imports import reached
from worker.code_digest import BESIDE_COMPILING, PACKAGES, ROOT, pipeline_digest

MAKES_COMPILATIONS = [
    "compiler.front.tasks",
    "worker.pool.zygote",
    "worker.compile.compile_job",
    "worker.compile.derive_job",
    "worker.compile.inspect_job",
    "worker.compile.toolchain_identity",
]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of the release, like another installation."""
    for package in PACKAGES:
        shutil.copytree(
            ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    return tmp_path


def test_an_installed_release_has_the_digest_of_its_checkout(copy: Path) -> None:
    assert pipeline_digest(copy) == pipeline_digest()


def write_again(root: Path) -> None:
    for path in root.rglob("*.py"):
        os.utime(path, (0, 0))


def compile_some(root: Path) -> None:
    assert compileall.compile_dir(root / "compiler/reading", quiet=2)


def end_lines_as_windows_does(root: Path) -> None:
    for path in root.rglob("*.py"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))


def leave_an_editor_s_file(root: Path) -> None:
    (root / "compiler/reading/.#facts.py").symlink_to("nowhere")
    (root / "compiler/reading/facts.py.orig").write_text("old")


def change_what_only_launches_run(root: Path) -> None:
    for folder in BESIDE_COMPILING:
        with next((root / folder).rglob("*.py")).open("a") as file:
            file.write("x = 1\n")


def lie_beside_the_service(root: Path) -> None:
    (root / "service").mkdir()
    (root / "service/new.py").write_text("x = 1\n")


CHANGES_NOTHING: list[Callable[[Path], None]] = [
    write_again,
    compile_some,
    end_lines_as_windows_does,
    leave_an_editor_s_file,
    change_what_only_launches_run,
    lie_beside_the_service,
]


def test_what_changes_no_compilation_changes_no_digest(copy: Path) -> None:
    unchanged = pipeline_digest(copy)
    for change in CHANGES_NOTHING:
        change(copy)

        assert pipeline_digest(copy) == unchanged, change.__name__


def test_one_character_of_code_changes_the_digest(copy: Path) -> None:
    paths = [
        "compiler/reading/facts.py",
        "compiler/front/front.py",
        "compiler/parameter_binding.py",
        "compiler/lines/assembly.py",
        "compiler/export/c.py",
        "worker/compile/compile.py",
        "worker/compile/build_record.py",
        "worker/sandbox/syscalls.py",
        "worker/pool/child.py",
    ]

    def changed(path: str) -> str:
        text = (copy / path).read_text()
        (copy / path).write_text(text.replace("import", "Import", 1))
        digest = pipeline_digest(copy)
        (copy / path).write_text(text)
        return digest

    unchanged = pipeline_digest(copy)
    assert [path for path in paths if changed(path) == unchanged] == []


def test_a_file_more_less_or_renamed_changes_the_digest(copy: Path) -> None:
    (copy / "compiler/reading/new.py").write_text("")
    more = pipeline_digest(copy)
    (copy / "compiler/reading/new.py").rename(copy / "compiler/reading/newer.py")
    renamed = pipeline_digest(copy)
    (copy / "compiler/reading/newer.py").unlink()
    (copy / "compiler/reading/facts.py").unlink()
    less = pipeline_digest(copy)

    assert len({pipeline_digest(), more, renamed, less}) == 4


def test_what_moves_from_one_file_to_the_next_changes_the_digest(copy: Path) -> None:
    (copy / "compiler/reading/a.py").write_text("x = 1\n")
    (copy / "compiler/reading/b.py").write_text("")
    before = pipeline_digest(copy)
    (copy / "compiler/reading/a.py").write_text("")
    (copy / "compiler/reading/b.py").write_text("x = 1\n")

    assert pipeline_digest(copy) != before


def test_without_sources_there_is_no_digest(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="no sources of tritond"):
        pipeline_digest(tmp_path)


def test_all_that_makes_compilations_is_covered() -> None:
    """All imports, direct or not; the store only keeps what it gets."""
    left_out = tuple(folder.replace("/", ".") for folder in BESIDE_COMPILING)
    found = reached(MAKES_COMPILATIONS)

    assert {
        "compiler.parameter_binding",
        "compiler.lines.assembly",
        "worker.sandbox.apply",
    } <= found
    assert {name.partition(".")[0] for name in found} <= {*PACKAGES, "store"}
    assert not [name for name in found if f"{name}.".startswith(tuple(f"{n}." for n in left_out))]

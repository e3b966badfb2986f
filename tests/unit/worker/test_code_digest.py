"""The code digest: equal for one release in any folder, different for any other code."""

import compileall
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from proofs.worker.proof_children import PROVING, proof_digest
from tests.unit.compiler.imports import reached as imported
from worker import code_digest
from worker.code_digest import (
    COMPILING,
    PACKAGES,
    ROOT,
    pipeline_digest,
    reached,
)

RUNS_NO_COMPILATION = [
    "compiler/proof/linear.py",
    "launch/cpu/run_kernel.py",
    "programs/replay/replay_tasks.py",
    "worker/launch/do_launch.py",
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
    for path in RUNS_NO_COMPILATION:
        with (root / path).open("a") as file:
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


def import_late(root: Path, names: str) -> None:
    with (root / "compiler/reading/facts.py").open("a") as file:
        file.write(f"\n\ndef late():\n    from compiler.reading import {names}\n")


def test_a_module_more_less_or_renamed_changes_the_digest(copy: Path) -> None:
    import_late(copy, "(  # not a closing )\n        new,\n        newer as n,\n    )")
    absent = pipeline_digest(copy)
    (copy / "compiler/reading/new.py").write_text("")
    more = pipeline_digest(copy)
    (copy / "compiler/reading/new.py").rename(copy / "compiler/reading/newer.py")
    renamed = pipeline_digest(copy)
    (copy / "compiler/reading/newer.py").unlink()
    (copy / "compiler/reading/facts.py").unlink()
    less = pipeline_digest(copy)

    assert len({pipeline_digest(), absent, more, renamed, less}) == 5


def test_what_moves_from_one_file_to_the_next_changes_the_digest(copy: Path) -> None:
    import_late(copy, "a, b")
    (copy / "compiler/reading/a.py").write_text("x = 1\n")
    (copy / "compiler/reading/b.py").write_text("")
    before = pipeline_digest(copy)
    (copy / "compiler/reading/a.py").write_text("")
    (copy / "compiler/reading/b.py").write_text("x = 1\n")

    assert pipeline_digest(copy) != before


def test_without_sources_there_is_no_digest(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="no sources of tritond"):
        pipeline_digest(tmp_path)


@pytest.mark.parametrize("entries", [COMPILING, PROVING], ids=["compiling", "proving"])
def test_all_that_is_imported_is_covered(entries: tuple[str, ...]) -> None:
    """Compared with the results of a parser of Python."""
    found = {path.removesuffix(".py").removesuffix("/__init__") for path in reached(entries)}

    assert {name.replace(".", "/") for name in imported(entries)} <= found


def test_each_module_of_tasks_for_proofs_is_covered() -> None:
    texts = reached(PROVING)
    started = {
        name.replace(".", "/") + ".py"
        for path, text in texts.items()
        if path.startswith("proofs/worker/")
        for name in re.findall(r'"((?:\w+\.)+\w+_tasks)"', text.decode())
    }

    assert "launch/proof_tasks.py" in started
    assert started <= texts.keys()


def test_another_version_of_z3_changes_the_digest_of_proofs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = proof_digest()
    monkeypatch.setattr(code_digest, "version", lambda name: f"another {name}")

    assert proof_digest() != before


def test_an_axiom_of_the_solver_changes_the_digest_of_proofs_alone(copy: Path) -> None:
    compiled, proved = pipeline_digest(copy), proof_digest(copy)
    with (copy / "compiler/proof/logic.py").open("a") as file:
        file.write("x = 1\n")

    assert proof_digest(copy) != proved
    assert pipeline_digest(copy) == compiled

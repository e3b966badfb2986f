"""The first line of each package names the processes that load it, and is checked by its imports.

A zone is one kind of process. It loads what its entry modules import, directly or not, at the top
of a file or late. Where one process starts another, its imports end at an entry module of that
process. Each zone imports only the libraries listed for it.

"Child with user code" is any child of a zygote that also forks children for user code: those with
the profiles `parse` and `back` import the same modules, but run none.
"""

import re
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

import grimp
import pytest

from jobs.features import NAMES

ROOT = Path(__file__).parents[3]
ZYGOTE = ("worker.pool.zygote", "worker.pool.zygote_start", "worker.pool.child")
ENTRIES = {
    "service": (
        "service.__main__", "service.composition", "service.command",
        # imported by name
        "adapters.mcp.protocol", *(f"{name}.service.feature" for name in NAMES),
    ),
    "worker": (
        "worker.__main__", "worker.composition", "worker.probe",
        *(f"{name}.worker.feature" for name in NAMES),
    ),
    "child with user code": (
        *ZYGOTE, "compiler.front.tasks", "launch.launch_tasks", "programs.recorder.record_tasks",
        "launch.reference.torch_reference",  # imported by name, where there is torch
    ),
    "child without": (
        *ZYGOTE, "launch.proof_tasks", "programs.replay.replay_tasks",
        "programs.replay.effects_tasks",
    ),
    "launcher": (
        "worker.gpu.launcher.launcher", "worker.gpu.tools.tool_runner",
        "programs.gpu.program_launcher",
        "worker.gpu.launcher.device",  # counts GPUs in a process that ends after that
    ),
    "client": ("tritonc", "tritonc.__main__"),
}  # fmt: skip
"""The entry modules of each kind of process."""
LIBRARIES = {
    "service": (
        "annotated_types cachetools cryptography fastapi httptools mcp obstore opentelemetry "
        "orjson prometheus_client pydantic pydantic_core pydantic_settings redis starlette "
        "typing_extensions uvicorn uvloop zstandard"
    ),
    "worker": (
        "annotated_types cachetools ml_dtypes numpy obstore opentelemetry orjson prometheus_client "
        "pydantic pydantic_core pydantic_settings redis typing_extensions zstandard"
    ),
    "child with user code": "ml_dtypes numpy torch triton",
    "child without": "ml_dtypes numpy torch triton z3",
    "launcher": "cuda ml_dtypes numpy torch",
    "client": "argcomplete httpx numpy rich torch triton tritonc_version zstandard",
}
"""The libraries that each kind of process may import, by the names of their packages."""
PACKAGES = (*"compiler launch jobs store worker service adapters tritonc".split(), *NAMES)
LINE = re.compile(r"# Runs in: (.+)")


@cache
def imports() -> grimp.ImportGraph:
    return grimp.build_graph(
        *PACKAGES,
        exclude_type_checking_imports=True,
        include_external_packages=True,
        cache_dir=None,
    )


@cache
def loaded_by(zone: str) -> frozenset[str]:
    """Return all modules, ours and libraries', that processes of a zone can load."""
    graph = imports()
    ours = set(ENTRIES[zone])
    if zone == "client":
        ours = {name for name in graph.modules if name.partition(".")[0] == "tritonc"}
    other_entries = {name for names in ENTRIES.values() for name in names} - ours
    waiting, loaded = list(ours), set(ours)
    while waiting:
        new = graph.find_modules_directly_imported_by(waiting.pop()) - loaded - other_entries
        loaded |= new
        waiting.extend(name for name in new if is_ours(name))
    return frozenset(loaded)


def is_ours(module: str) -> bool:
    return module.partition(".")[0] in PACKAGES


def path_of(module: str) -> Path:
    return (ROOT / "client" if module.startswith("tritonc") else ROOT) / module.replace(".", "/")


def files(modules: frozenset[str] | set[str]) -> set[str]:
    return {name for name in modules if is_ours(name) and not path_of(name).is_dir()}


@cache
def zones() -> dict[str, list[str]]:
    """Return the zones that load a module of each package."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for zone in ENTRIES:
        for package in {name.rpartition(".")[0] for name in files(loaded_by(zone))}:
            found[package].append(zone)
    return found


@pytest.mark.parametrize("package", sorted(zones()))
def test_a_package_names_the_processes_that_load_it(package: str) -> None:
    lines = (path_of(package) / "__init__.py").read_text().splitlines()[:2]
    declared = [match[1] for line in lines if (match := LINE.fullmatch(line))]

    assert declared == [", ".join(zones()[package])]


@pytest.mark.parametrize("zone", ENTRIES)
def test_a_process_imports_only_the_libraries_of_its_zone(zone: str) -> None:
    libraries = {name.partition(".")[0] for name in loaded_by(zone) if not is_ours(name)}

    assert libraries - sys.stdlib_module_names - set(LIBRARIES[zone].split()) == set()


def test_the_entry_modules_exist() -> None:
    assert {name for names in ENTRIES.values() for name in names} - imports().modules == set()


def test_every_module_is_loaded_by_a_process() -> None:
    loaded = set().union(*(loaded_by(zone) for zone in ENTRIES))

    assert files(imports().modules) - loaded == set()

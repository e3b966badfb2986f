"""Search paths and start of tools."""

from pathlib import Path

import pytest

from worker.gpu.tools import installed_tools
from worker.gpu.tools.installed_tools import Tools, command_of, find_tools

NONE = Tools(None, None)
BOTH = Tools("/t/compute-sanitizer", "/t/ncu")


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch):
    monkeypatch.setattr(installed_tools, "_FOLDERS", ())
    monkeypatch.setattr(installed_tools, "_PROFILER_FOLDERS", "/nonexistent")


def words(name, allocations=3):
    return command_of(BOTH, name, "kernel", Path("/f"), metrics="m", allocations=allocations)


def test_without_tools_nothing_can_be_asked(tmp_path):
    assert find_tools({"PATH": str(tmp_path)}) == NONE
    assert NONE.names == []


def test_what_is_on_the_path_is_found(tmp_path):
    program = tmp_path / "compute-sanitizer"
    program.write_text("")
    program.chmod(0o755)

    assert find_tools({"PATH": str(tmp_path)}).names == ["memcheck", "racecheck", "initcheck"]


def test_the_latest_profiler_is_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(installed_tools, "_PROFILER_FOLDERS", str(tmp_path))
    for version in ("2024.1", "2025.3"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "ncu").write_text("")
        (tmp_path / version / "ncu").chmod(0o755)

    assert find_tools({}).profiler == str(tmp_path / "2025.3" / "ncu")


@pytest.mark.parametrize("name", ["memcheck", "profile"])
def test_a_tool_that_is_not_there_cannot_be_started(name):
    with pytest.raises(LookupError):
        command_of(NONE, name, "kernel", Path("/f"), metrics="m", allocations=1)


def test_every_check_is_a_tool_of_the_sanitizer():
    for check in BOTH.names[:3]:
        assert words(check)[:3] == ["/t/compute-sanitizer", "--tool", check]


def test_many_allocations_share_the_padding():
    few, many = words("memcheck"), words("memcheck", 1024)

    assert few[few.index("--padding") + 1] == str(64 << 20)
    assert many[many.index("--padding") + 1] == str(4 << 20)

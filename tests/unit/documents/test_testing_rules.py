"""Rules of CONTRIBUTING.md for tests, as far as a test's source shows them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

TESTS = Path(__file__).parents[2]
STARTS_PROCESSES = {"subprocess", "multiprocessing", "pty"}
FORKS = {"os.fork", "os.posix_spawn", "os.system", "os.popen", "asyncio.create_subprocess_exec"}
CLOCKS = {"monotonic", "perf_counter", "process_time", "thread_time", "cpu_s", "wall_s"}


def trees(folder: Path, words: Iterable[str]) -> Iterator[tuple[Path, ast.Module]]:
    """Yield the parsed test files whose source contains any of `words`."""
    for path in sorted(folder.rglob("test_*.py")):
        text = path.read_text()
        if any(word in text for word in words):
            yield path, ast.parse(text)


def starts_processes(tree: ast.Module) -> bool:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and STARTS_PROCESSES & {one.name for one in node.names}:
            return True
        if isinstance(node, ast.ImportFrom) and node.module in STARTS_PROCESSES:
            return True
        if isinstance(node, ast.Attribute) and ast.unparse(node) in FORKS:
            return True
    return False


def bounds_a_clock(tree: ast.Module) -> bool:
    """Return whether an assertion bounds a measured time from above."""
    measured = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and reads_a_clock(node.value, set())
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare):
            sides = [node.test.left, *node.test.comparators]
            for left, operator, right in zip(sides, node.test.ops, sides[1:], strict=False):
                if isinstance(operator, (ast.Gt, ast.GtE)):
                    left, right = right, left
                elif not isinstance(operator, (ast.Lt, ast.LtE)):
                    continue
                if reads_a_clock(left, measured) and isinstance(right, ast.Constant):
                    return True
    return False


def reads_a_clock(expression: ast.expr, measured: set[str]) -> bool:
    names = [node for node in ast.walk(expression) if isinstance(node, (ast.Attribute, ast.Name))]
    return any(
        (node.attr in CLOCKS if isinstance(node, ast.Attribute) else node.id in measured)
        for node in names
    )


def test_a_unit_test_starts_no_process() -> None:
    words = {name.rpartition(".")[2] for name in STARTS_PROCESSES | FORKS}
    found = [path for path, tree in trees(TESTS / "unit", words) if starts_processes(tree)]
    assert found == []


def test_no_test_holds_a_time_below_a_number_of_seconds() -> None:
    assert [path for path, tree in trees(TESTS, CLOCKS) if bounds_a_clock(tree)] == []


def test_a_bound_is_recognised() -> None:
    for text in (
        "assert time.monotonic() - started < 1",
        "took_s = time.process_time() - started\nassert 2 >= took_s",
        "assert 0 < outcome.usage.cpu_s < 5",
    ):
        assert bounds_a_clock(ast.parse(text)), text
    for text in ("assert time.monotonic() < until", "assert outcome.usage.cpu_s > 0"):
        assert not bounds_a_clock(ast.parse(text)), text

"""Parsing twice as much text takes at most twice the time.

Each parser gets texts of doubling sizes that are slow for backtracking and repeated scans. The
tests measure the growth of the time, not the time.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import itertools
import pkgutil
import re
import time
from collections.abc import Callable, Iterator

import pytest

import compiler
import launch
import programs
import service
import store
import sweeps
import worker
from compiler.export.exported_kernel import NotExportable
from compiler.rejection import RequestRejected
from compiler.ttir_to_numpy.refusal import Untranslatable
from service.http.problems import ProblemRaised
from tests.slow.compiler_parsers import OF_COMPILERS
from tests.slow.sent_parsers import SENT
from worker.gpu.tools import profile_report
from worker.pool import frame

FIRST, LAST = 1 << 11, 1 << 14
"""Characters: after a few doublings, cubic and quadratic differ from linear."""
SOON_S = 0.001
"""Seconds for the first text: then even cubic time ends half a second later."""
MAX_GROWTH = 3.3
"""Growth per doubling: 2 is linear, 4 quadratic."""
TOO_SHORT_TO_MEASURE_S = 0.004
REFUSALS = (
    RequestRejected,
    Untranslatable,
    profile_report.NoProfile,
    NotExportable,
    ValueError,
    frame.FrameError,
    SyntaxError,
    ProblemRaised,
)
PARSERS = OF_COMPILERS | SENT
FOREIGN = frozenset({"cuda", "torch"})
"""Packages that only modules of GPU workers, or references in torch, import."""
UNITS = (
    " ",
    "\t",
    "\n",
    "a",
    "1",
    "_",
    ".",
    ",",
    ":",
    '"',
    "\\",
    "(",
    "<",
    "a:1:1: ",
    "a: ",
    "a 1\n",
)


def _texts(units: tuple[str, ...]) -> Iterator[Callable[[int], str]]:
    """Yield makers of texts of about this many characters: a prefix and a repeated unit."""
    for unit in (*units, *UNITS):
        yield lambda size, unit=unit: unit * (size // len(unit))
    for head, unit in itertools.product(units, (*units, *UNITS)):
        yield lambda size, head=head, unit=unit: head + unit * (size // len(unit))
        yield lambda size, head=head, unit=unit: (head + unit) * (size // len(head + unit))


def _spent_s(parse: Callable[[str], object], text: str, times: int = 1) -> float:
    def once() -> float:
        started = time.process_time()
        with contextlib.suppress(*REFUSALS):
            parse(text)
        return time.process_time() - started

    return min(once() for _ in range(times))


def _growth(parse: Callable[[str], object], make: Callable[[int], str]) -> str | None:
    """Describe the doubling that takes more than twice the time, if there is one."""
    size, before_s = FIRST, _spent_s(parse, make(FIRST))
    if before_s <= SOON_S and _spent_s(parse, make(LAST)) <= TOO_SHORT_TO_MEASURE_S * MAX_GROWTH:
        return None  # sizes in between take no longer
    while size < LAST:
        size *= 2
        spent_s = _spent_s(parse, make(size))
        for times in (3, 5, 9):  # repeat: something else took time
            if spent_s <= max(before_s, TOO_SHORT_TO_MEASURE_S) * MAX_GROWTH:
                break
            before_s, spent_s = (_spent_s(parse, make(s), times) for s in (size // 2, size))
        if spent_s > max(before_s, TOO_SHORT_TO_MEASURE_S) * MAX_GROWTH:
            took = f"{before_s:.4f} s for {size // 2} characters, then {spent_s:.4f} s"
            return f"{make(60)!r} ...: {took}"
        before_s = spent_s
    return None


@pytest.fixture(autouse=True)
def garbage_collection_is_off() -> Iterator[None]:
    """Garbage collection scans all live objects, which is not the parser's fault."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("name", PARSERS)
def test_twice_the_text_takes_twice_the_time(name: str) -> None:
    parse, units = PARSERS[name]

    slow = [growth for make in _texts(units) if (growth := _growth(parse, make)) is not None]

    assert slow == []


def _patterns() -> dict[str, re.Pattern[str]]:
    """Return every pattern that one of our modules compiles."""
    found = {}
    for package in (worker, service, store, compiler, launch, programs, sweeps):
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if ".__main__" in module.name:
                continue
            try:
                imported = importlib.import_module(module.name)
            except ModuleNotFoundError as error:
                if str(error.name).partition(".")[0] in FOREIGN:
                    continue
                raise
            for name, value in vars(imported).items():
                if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
                    found[f"{module.name}.{name}"] = value
    return found


def test_no_pattern_backtracks_over_what_it_repeats() -> None:
    slow = []
    for name, pattern in _patterns().items():
        words = tuple(dict.fromkeys(re.findall(r"[A-Za-z ]{3,}", pattern.pattern)))[:4]
        for make, match in itertools.product(_texts(words), (pattern.match, pattern.fullmatch)):
            if (growth := _growth(match, make)) is not None:
                slow.append(f"{name}: {growth}")

    assert slow == []

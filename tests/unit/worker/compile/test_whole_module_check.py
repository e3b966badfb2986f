"""The choice between the results of two executions."""

from __future__ import annotations

from typing import Any

from worker.compile.progress import CompilationFailed
from worker.compile.reports import FrontReport, read_report
from worker.compile.whole_module_check import FrontOutcome, agree

REPORT: dict[str, Any] = {
    "kernel": "k", "language": "ttir", "locations": {"table": [], "blocks": []}, "constexprs": {},
    "parameters": [], "notes": [], "assumptions": [], "conclusive": True, "timings_ms": {},
}  # fmt: skip


def made(ttir: bytes = b"module {}", **changes: Any) -> FrontOutcome:
    return FrontOutcome(read_report(FrontReport, REPORT | changes), {"ttir": ttir})


def failed(slug: str, detail: str, *, conclusive: bool = True) -> FrontOutcome:
    return FrontOutcome(CompilationFailed(slug, detail, conclusive=conclusive), {})


def test_equal_stages_agree() -> None:
    assert agree(made(), made())


def test_other_ttir_disagrees() -> None:
    assert not agree(made(), made(b"module { }"))


def test_other_locations_disagree() -> None:
    assert not agree(made(), made(locations={"table": ["a"], "blocks": [[0]]}))


def test_a_success_and_a_failure_disagree() -> None:
    assert not agree(made(), failed("compile_error", "line 3: AssertionError"))


def test_equal_failures_agree() -> None:
    assert agree(failed("compile_error", "line 3"), failed("compile_error", "line 3"))


def test_only_what_ran_as_python_does_is_conclusive() -> None:
    assert made().is_conclusive
    assert not made(conclusive=False).is_conclusive
    assert not failed("compile_timeout", "", conclusive=False).is_conclusive

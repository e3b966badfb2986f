"""Compiles a module here and directly, and compares the two results.

"Here" is a worker's path of slice, front end and whole module, without its sandbox.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.differential.direct import MOST_CPU_S, Direct
from tests.integration.compiler.children import ChildEnd, Children
from worker.compile.progress import CompilationFailed
from worker.compile.reports import FailureReport, FrontReport, read_report
from worker.compile.whole_module_check import UNFINISHED, FrontOutcome, agree

SIGNATURE = {"x_ptr": "*fp32"}


@dataclass(frozen=True)
class Answers:
    """Both results for one module."""

    verdict: str
    """One of the verdicts below.

    equal; both_refuse; refused_here; told: a warning names the difference; launches: no process
    without a GPU can do that directly, and it does nothing here; lacks_module: imports a package
    that is left out here; accepted: Python fails, and a kernel is made here without a warning;
    SILENT: another kernel without a warning.
    """

    detail: str
    whole: bool
    overruled: bool


class Comparison:
    """Two warmed processes, for a test session; the direct one imports `packages`."""

    def __init__(self, *, packages: Sequence[str] = ()) -> None:
        self.children = Children()
        self.direct = Direct(packages=packages)

    def close(self) -> None:
        """End both."""
        self.children.close()
        self.direct.close()

    def compare(
        self, files: dict[str, str], kernel: str = "k", *, installed: dict[str, str] | None = None
    ) -> Answers:
        """Compile `user.py` of `files` both ways.

        Only the direct way has the packages `installed`, as a user's machine has torch.
        """
        request: dict[str, Any] = {"kernel": kernel, "signature": SIGNATURE, "constexprs": {}}
        theirs = self.direct.compile({**files, **(installed or {})}, arch=90, **request)
        ours, reported, whole, overruled = self.here(files, request)
        if isinstance(ours, str):
            verdict = "both_refuse" if "error" in theirs else "refused_here"
            return Answers(verdict, f"{ours} | {theirs.get('error')}", whole, overruled)
        if ours == theirs:
            return Answers("equal", "", whole, overruled)
        if "0 active drivers" in theirs.get("error", ""):
            return Answers("launches", "", whole, overruled)
        if "No module named 'cutlass'" in theirs.get("error", ""):
            return Answers("lacks_module", "", whole, overruled)
        detail = theirs.get("error") or _first_difference(ours["source"], theirs["source"])
        unsaid = "accepted" if "error" in theirs else "SILENT"
        return Answers("told" if reported else unsaid, f"{detail} | {reported}", whole, overruled)

    def here(
        self, files: dict[str, str], request: dict[str, Any]
    ) -> tuple[dict[str, str] | str, list[Any], bool, bool]:
        """Return our result or failure; the assumptions; whether it is whole, and overruled."""
        others = {name: text for name, text in files.items() if name != "user.py"}
        passed = request.pop("functions", [])
        header = {
            "task": "slice", "kernel": request["kernel"], "files": others, "functions": passed
        }  # fmt: skip
        sliced = self.children.run(header, files["user.py"].encode())
        if sliced.last is None or sliced.last["kind"] != "result":
            return f"sliced: {sliced.last}", [], False, False
        found, overruled = sliced.result, False
        first = self._front(found, found["slice"], request)
        if found["whole_module"] is not None:
            second = self._front(found, found["whole_module"], request)
            unfinished = isinstance(second.end, CompilationFailed) and (
                second.end.slug == "compiler_crashed"
            )
            found["assumptions"] += [UNFINISHED] if unfinished else []
            if second.is_conclusive and not agree(first, second):
                overruled = not isinstance(first.end, CompilationFailed)
                overruled &= not isinstance(second.end, CompilationFailed)
                first = second
        if isinstance(first.end, CompilationFailed):
            return f"{first.end.slug}: {first.end}", [], found["whole"], overruled
        reported = [*found["assumptions"], *first.end.assumptions]
        stages = {name: data.decode() for name, data in first.stages.items()}
        return stages, reported, found["whole"], overruled

    def _front(self, sliced: dict[str, Any], text: str, request: dict[str, Any]) -> FrontOutcome:
        header = {
            "task": "front", "most_cpu_s": MOST_CPU_S, "hints": {},
            "files": sliced["files"], "touched": sliced["touched"],
            "options": {"enable_fp_fusion": True}, "stop_after": "ttir",
            "target": {"backend": "cuda", "arch": 90, "warp_size": 32}, **request,
        }  # fmt: skip
        return _outcome(self.children.run(header, text.encode()))


def _outcome(ended: ChildEnd) -> FrontOutcome:
    if ended.last is None:
        return FrontOutcome(
            CompilationFailed("compiler_crashed", ended.stderr[-300:]), ended.stages
        )
    if ended.last["kind"] == "result":
        return FrontOutcome(read_report(FrontReport, ended.last), ended.stages)
    said = read_report(FailureReport, ended.last)
    failed = CompilationFailed(said.slug, said.message, conclusive=said.conclusive)
    return FrontOutcome(failed, ended.stages)


def _first_difference(ours: str, theirs: str) -> str:
    pairs = zip(ours.split("\n"), theirs.split("\n"), strict=False)
    return next((f"{a.strip()} <> {b.strip()}" for a, b in pairs if a != b), "lengths differ")

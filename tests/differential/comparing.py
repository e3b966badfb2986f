"""Compiles a module here and directly, and compares the two results.

"Here" is a worker's path of reading and front end, without its sandbox.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.differential.direct import MAX_CPU_S, Direct
from tests.integration.compiler.children import Children
from worker.compile.front_report import read_front_report
from worker.compile.reports import FailureReport

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
        ours, reported = self.here(files, request)
        if isinstance(ours, str):
            verdict = "both_refuse" if "error" in theirs else "refused_here"
            return Answers(verdict, f"{ours} | {theirs.get('error')}")
        if ours == theirs:
            return Answers("equal", "")
        if "0 active drivers" in theirs.get("error", ""):
            return Answers("launches", "")
        if "error" in theirs and "import cutlass" in files["user.py"]:
            has = {**files, **(installed or {}), "cutlass.py": ""}
            if ours == self.direct.compile(has, arch=90, **request):
                return Answers("lacks_module", "")
        if "No module named 'cutlass'" in theirs.get("error", ""):
            return Answers("lacks_module", "")
        detail = theirs.get("error") or _first_difference(ours["source"], theirs["source"])
        unsaid = "accepted" if "error" in theirs else "SILENT"
        return Answers("told" if reported else unsaid, f"{detail} | {reported}")

    def here(
        self, files: dict[str, str], request: dict[str, Any]
    ) -> tuple[dict[str, str] | str, list[Any]]:
        """Return our stages or failure, and the assumptions."""
        others = {name: text for name, text in files.items() if name != "user.py"}
        passed = request.pop("functions", [])
        text = files["user.py"].encode()
        header = {
            "task": "read", "kernel": request["kernel"], "files": others, "functions": passed
        }  # fmt: skip
        read = self.children.run(header, text)
        if read.last is None or read.last["kind"] != "result":
            return f"read: {read.last}", []
        header = {
            "task": "front", "most_cpu_s": MAX_CPU_S, "hints": {}, "files": others,
            "options": {"enable_fp_fusion": True}, "stop_after": "ttir",
            "target": {"backend": "cuda", "arch": 90, "warp_size": 32}, **request,
        }  # fmt: skip
        ended = self.children.run(header, text)
        if ended.last is None:
            return f"compiler_crashed: {ended.stderr[-300:]}", []
        if ended.last["kind"] != "result":
            failure = FailureReport.read(ended.last)
            return f"{failure.slug}: {failure.message}", []
        report = read_front_report(ended.last)
        stages = {name: data.decode() for name, data in ended.stages.items()}
        return stages, report.assumptions


def _first_difference(ours: str, theirs: str) -> str:
    pairs = zip(ours.split("\n"), theirs.split("\n"), strict=False)
    return next((f"{a.strip()} <> {b.strip()}" for a, b in pairs if a != b), "lengths differ")

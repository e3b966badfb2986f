"""Reads the kernels under tests/kernels; comments have the request and the expected result."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from compiler.back import mlir_log
from tests.integration.compiler.children import ChildEnd, Children

KERNELS = Path(__file__).parents[2] / "kernels"
_SAYS = re.compile(r"^# says: (.+)$", re.MULTILINE)
_APPLIED = re.compile(r"# applied (?:(?P<line>\d+)(?P<below>\+?)|with):(?: (?P<text>.*))?")
_EXPECT = re.compile(r"# expect: (?P<slug>\w+), line (?P<line>\d+|none), hint (?P<hint>.+)")


@dataclass(frozen=True)
class Kernel:
    """One file: its text, and the specialization in its header."""

    path: Path
    text: str
    request: dict[str, Any]

    @property
    def expected(self) -> dict[str, str]:
        match = _EXPECT.match(self.text)
        assert match is not None, f"{self.path.name} has no `# expect:` line"
        return match.groupdict()

    @property
    def says(self) -> str:
        """Words of the expected message; empty if the file gives none."""
        match = _SAYS.search(self.text)
        return match[1] if match else ""

    def corrections(self) -> list[Kernel]:
        """Return this kernel with its hint applied, in each of the ways that the hint names.

        The end of the file lists them, `# or` between: `# applied 9: text` replaces line 9,
        `# applied 9+: text` adds a line below it, `# applied with: {...}` replaces the request.
        """
        own, mark, listed = self.text.partition("\n# applied ")
        ways = (mark.strip("\n") + listed).split("\n# or\n") if mark else []
        return [self._corrected(own.split("\n"), way.splitlines()) for way in ways]

    def _corrected(self, lines: list[str], steps: list[str]) -> Kernel:
        changed = {number: [text] for number, text in enumerate(lines, 1)}
        request = self.request
        for step in steps:
            applied = _APPLIED.fullmatch(step)
            assert applied is not None, f"{self.path.name}: {step}"
            text = applied["text"] or ""
            if applied["line"] is None:
                request = json.loads(text)
            elif applied["below"]:
                changed[int(applied["line"])].append(text)
            else:
                changed[int(applied["line"])] = [text]
        joined = "\n".join(text for texts in changed.values() for text in texts)
        return Kernel(self.path, joined, request)


def read(path: Path) -> Kernel:
    """Read one file; `# with: {...}` is the JSON of its request."""
    text = path.read_text(encoding="utf-8")
    said = re.search(r"^# with: (\{.*\})$", text, re.MULTILINE)
    return Kernel(path, text, json.loads(said[1]) if said else {})


def all_in(folder: str) -> list[Kernel]:
    """Read every kernel of `good` or `broken`."""
    return [read(path) for path in sorted((KERNELS / folder).glob("*.py"))]


@dataclass(frozen=True)
class Compiled:
    """The result of read, front and back: the stages reached, and the failure if there was one."""

    stages: dict[str, bytes]
    failure: dict[str, Any] | None
    reading: dict[str, Any] | None = None
    front: dict[str, Any] | None = None
    back: dict[str, Any] | None = None


def compile_kernel(
    children: Children, kernel: Kernel, arch: int | None = None, stop_after: str = "cubin"
) -> Compiled:
    """Compile as a worker does, to `stop_after`."""
    request = kernel.request
    target = request.get("target")
    if not isinstance(target, dict):  # a name, of those that are for CUDA
        target = {"backend": "cuda", "arch": arch or request.get("arch", 90), "warp_size": 32}
    if target["backend"] == "hip" and stop_after == "cubin":
        stop_after = "hsaco"
    common = {
        "options": {"enable_fp_fusion": True, **request.get("options", {})},
        "target": target,
        "stop_after": stop_after,
        "files": request.get("files", {}),
    }
    read = children.run(
        {
            "task": "read",
            "kernel": request.get("kernel"),
            "files": common["files"],
            "functions": request.get("functions", []),
        },
        kernel.text.encode(),
    )
    if (failure := _failure(read, kernel, "request")) is not None:
        return Compiled({}, failure)
    header = {
        "task": "front",
        "kernel": read.result["kernel"],
        "signature": request.get("signature", {}),
        "constexprs": {name: _tagged(v) for name, v in request.get("constexprs", {}).items()},
        "hints": request.get("hints", {}),
        **common,
    }
    front = children.run(header, kernel.text.encode())
    if (failure := _failure(front, kernel, "frontend")) is not None:
        return Compiled(front.stages, failure, read.result)
    header = {
        "task": "back",
        "locations": front.result["locations"],
        "language": front.result["language"],
        **common,
        "files": {"user.py": kernel.text},
    }
    text = front.stages.get("ttir", front.stages["source"])
    back = children.run(header, text)
    stages = front.stages | back.stages
    failure = _failure(back, kernel, "ttgir", stages | back.stages)
    done = None if failure else back.result | list(back.result["facts"].values())[-1]
    return Compiled(stages, failure, read.result, front.result, done)


def _failure(
    ended: ChildEnd, kernel: Kernel, stage: str, stages: Mapping[str, bytes] = MappingProxyType({})
) -> dict[str, Any] | None:
    sources = {"/kernel/user.py": kernel.text}
    found = mlir_log.diagnostics(ended.stderr, sources, stage)
    ttgir = stages.get("ttgir", b"").decode()
    found = [asdict(item) for item in mlir_log.with_places(found, ttgir, sources)]
    if ended.signal is not None:
        return {"slug": "compiler_crashed", "message": "", "stage": stage, "diagnostics": found}
    if ended.last is None or ended.last["kind"] == "result":
        return None
    if ended.last["slug"] == "lowering_failed":
        return ended.last | {"diagnostics": _placed(ended.last["diagnostics"], found)}
    if ended.last["slug"] == "assembler_failed":
        return ended.last | {"diagnostics": [*found, *ended.last["diagnostics"]]}
    return ended.last


def _placed(own: list[dict[str, Any]], logged: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if not logged or all(item["line"] is None for item in own):
        return logged or own
    known = {item["message"] for item in own}
    return [*own, *(item for item in logged if item["message"] not in known)]


def _tagged(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    return {"int": str(value)} if isinstance(value, int) else {"float": value.hex()}

"""Runs `plain.py` in an environment with torch and Triton but without tritond."""

import hashlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import Any, Self

from corpus.packages import Package
from corpus.plans import Plan

Direct = tuple[dict[str, Any], str]


class DirectCompiler:
    """A process that compiles the kernels of packages in turn. Use it with `with`.

    With `to_ir` it stops at Triton IR.
    """

    def __init__(self, cache: Path, *, to_ir: bool = False) -> None:
        self._results = cache / ("ir" if to_ir else "direct")
        self._results.mkdir(parents=True, exist_ok=True)
        program = Path(__file__).with_name("plain.py")
        command = [cache / "venv/bin/python", program, self._results / "cache"]
        command += ["ir"] if to_ir else []
        with (cache / "direct.log").open("a") as log:
            self._process = subprocess.Popen(
                command,
                cwd=self._results,  # unsloth writes files where it is imported
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        self._lock = Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()

    def compiled(self, package: Package, root: Path, plans: list[Plan]) -> list[Direct | None]:
        """Compile each plan; return times and PTX, or `None` for plans that do not compile.

        Raises RuntimeError if the process ended; its log has the reason.
        """
        stems = self.made(package.name, root, plans)
        return [stem and (_answer(stem), stem.with_suffix(".ptx").read_text()) for stem in stems]

    def answers(self, name: str, root: Path, plans: list[Plan]) -> Iterator[Direct]:
        """Yield the result of each plan and its PTX, "" for refused ones. Raises RuntimeError."""
        for plan, stem in zip(plans, self.made(name, root, plans), strict=True):
            ptx = stem.with_suffix(".ptx").read_text() if stem else ""
            yield _answer(stem or _stem(self._results / name, plan)), ptx

    def made(self, name: str, root: Path, plans: list[Plan]) -> list[Path | None]:
        """Return the path of each plan's files without suffix, `None` for refused plans.

        Raises RuntimeError if the process ended; its log has the reason.
        """
        results = self._results / name
        turn = {"root": str(root), "results": str(results), "plans": plans}
        assert self._process.stdin
        assert self._process.stdout
        with self._lock:
            self._process.stdin.write(json.dumps(turn) + "\n")
            self._process.stdin.flush()
            if not self._process.stdout.readline():
                raise RuntimeError(f"plain.py ended, see {self._results.parent / 'direct.log'}")
        return made_before(results, plans)


def made_before(results: Path, plans: list[Plan]) -> list[Path | None]:
    """Return the path of each plan's files without suffix, `None` for those without."""
    stems = [_stem(results, plan) for plan in plans]
    return [None if _answer(stem)["guess"] is None else stem for stem in stems]


def _stem(results: Path, plan: Plan) -> Path:
    return results / hashlib.sha256(plan["id"].encode()).hexdigest()[:16]


def _answer(stem: Path) -> dict[str, Any]:
    answer = stem.with_suffix(".json")
    # there are none if every way of importing the module fails
    content: dict[str, Any] = json.loads(answer.read_text()) if answer.exists() else {"guess": None}
    return content

"""Compiles kernels with `triton.compile` alone, each in a new process: the expected results.

`python plain.py CACHE [ir]` runs in an environment with triton and torch but without tritond. Each
input line is JSON: the folder of a package (`root`), the folder for results, and plans with a
kernel's file, name and guesses. Each is answered with a line. ptxas does not run. With `ir`,
kernels are compiled to Triton IR only, which is stored instead of PTX.
"""

import hashlib
import importlib
import json
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from compiling import compiled, stages
from loading import WAYS
from pretended import pretend

# in CPU time of one process, so that a busy machine refuses nothing
DEADLINE_S = 30
FILE_DEADLINE_S = 300
PACKAGE_DEADLINE_S = 1200
SAME_ERRORS = 4
KEPT = {"ptx", "source", "ttir"}


def main() -> None:
    """Process input lines until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the output of packages belongs into the log
    pretend(Path(sys.argv[1]))
    importlib.import_module("torch._dynamo")  # most packages need it, and forks share it
    for line in sys.stdin:
        _in_child(_turn, PACKAGE_DEADLINE_S, json.loads(line))
        print("done", file=answers, flush=True)


def _turn(turn: dict[str, Any]) -> None:
    root, results = Path(turn["root"]).resolve(), Path(turn["results"])
    results.mkdir(parents=True, exist_ok=True)
    sys.path[0] = str(root)  # replaces this folder, whose module names may clash
    plans: dict[str, list[dict[str, Any]]] = {}
    for plan in turn["plans"]:
        plans.setdefault(plan["file"], []).append(plan)
    for way in WAYS:
        _in_child(_all_files, PACKAGE_DEADLINE_S, root, plans, results, way)


def _in_child(work: Callable[..., None], deadline_s: int, *arguments: Any) -> int:
    """Run `work` in a forked process; return its exit code, or minus the number of a signal."""
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_CPU, (deadline_s, deadline_s))
        try:
            work(*arguments)
        except BaseException:  # noqa: BLE001 - a forked child must not return
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    return code


def _all_files(
    root: Path,
    plans: dict[str, list[dict[str, Any]]],
    results: Path,
    way: Callable[[str], ModuleType],
) -> None:
    waiting = {
        file: [plan for plan in kernels if not _result(results, plan).exists()]
        for file, kernels in plans.items()
    }
    if way is importlib.import_module:
        for package in {file.partition("/")[0] for file in waiting}:
            way(package)  # if this raises, no module of the package can be imported this way
    for file, kernels in waiting.items():
        if kernels:
            _in_child(_all_of, FILE_DEADLINE_S, root, file, kernels, results, way)


def _all_of(
    root: Path,
    file: str,
    kernels: list[dict[str, Any]],
    results: Path,
    way: Callable[[str], ModuleType],
) -> None:
    module = way(file.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    for plan in kernels:
        path = _result(results, plan)
        tried = _tried(root, file, module, plan, path)
        path.write_text(json.dumps(tried | {"way": way.__name__}))


def _result(results: Path, plan: dict[str, Any]) -> Path:
    return results / f"{hashlib.sha256(plan['id'].encode()).hexdigest()[:16]}.json"


def _tried(
    root: Path, file: str, module: ModuleType, plan: dict[str, Any], path: Path
) -> dict[str, Any]:
    """Return the first guess that compiles, with its milliseconds, and the errors before it."""
    result: dict[str, Any] = {"id": plan["id"], "guess": None, "errors": []}
    errors: list[str] = result["errors"]
    out = path.with_suffix(".out")
    for index, guess in enumerate(plan["guesses"]):
        code = _in_child(_one, DEADLINE_S, root, file, module, plan["name"], guess, out)
        answer = json.loads(out.read_text()) if out.exists() else {"error": f"exit {code}"}
        out.unlink(missing_ok=True)
        for kept in KEPT & answer.keys():
            path.with_suffix(f".{kept}").write_text(answer.pop(kept))
        if "error" not in answer:
            return result | {"guess": index, **answer}
        errors.append(answer["error"])
        hopeless = errors[-SAME_ERRORS:].count(answer["error"]) == SAME_ERRORS
        if hopeless or code in {-signal.SIGXCPU, -signal.SIGKILL}:
            break  # other guesses would not help, or all of this takes too long
    return result


def _one(
    root: Path, file: str, module: ModuleType, name: str, guess: dict[str, Any], out: Path
) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    os.dup2(2, 1)
    try:
        make = stages if sys.argv[2:] == ["ir"] else compiled
        answer = make(root, file, getattr(module, name), guess)
    except Exception as error:  # noqa: BLE001 - what Triton does not accept is not compared
        root_cause: BaseException = error
        while root_cause.__cause__ is not None:
            root_cause = root_cause.__cause__
        answer = {"error": f"{type(root_cause).__name__}: {str(root_cause)[-300:]}"}
    out.write_text(json.dumps(answer))


if __name__ == "__main__":
    main()

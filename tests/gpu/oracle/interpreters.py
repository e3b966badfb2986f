"""Triton's interpreter as a device: as it is, and as the CPU device of launches prepares it.

Needs TRITON_INTERPRET=1 before anything of Triton is imported. Each launch has its own process.
"""

import json
import os
import pickle
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from launch.messages import InterpretOrder
from tests.integration.compiler.children import Children

Buffers = dict[str, np.ndarray]


def as_it_is(case: dict[str, Any], folder: Path) -> Buffers:
    """Run Triton's interpreter with nothing changed but where addresses lead."""
    return _apart(case, folder, own=True)


def prepared(case: dict[str, Any], folder: Path) -> Buffers:
    """Run the interpreter as launches do."""
    return _apart(case, folder, own=False)


@cache
def _children() -> Children:
    return Children()


def _apart(case: dict[str, Any], folder: Path, *, own: bool) -> Buffers:
    if os.environ.get("TRITON_INTERPRET") != "1":
        raise RuntimeError("set TRITON_INTERPRET=1")
    request = json.loads((folder / "request.json").read_text())
    cut = _children().run(
        {"task": "cut", "kernel": case["kernel"], "files": request["files"], "functions": []},
        request["source"].encode(),
    )
    return _forked(lambda: _run(case, cut.result, own=own))


def _forked(work: Callable[[], Any]) -> Any:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        try:
            answer: Any = work()
        except BaseException as error:  # noqa: BLE001 - it is what is reported
            message = getattr(error, "message", "") or f"{type(error).__name__}: {error}"
            answer = f"{getattr(error, 'slug', '')} {message}"
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(answer, pipe)  # between two processes of this program
        os._exit(0)
    os.close(writing)
    try:
        with os.fdopen(reading, "rb") as pipe:
            written = pipe.read()
    except BaseException:
        os.kill(pid, 9)
        raise
    finally:
        os.waitpid(pid, 0)
    answer = pickle.loads(written) if written else "died"
    if not isinstance(answer, dict):
        raise RuntimeError(answer[:300])  # noqa: TRY004 - the child's own words
    return answer


def _run(case: dict[str, Any], cut: dict[str, Any], *, own: bool) -> Buffers:
    from launch import launch_tasks
    from launch.interpreter import interpret, triton_interpreter

    if own:
        triton_interpreter.improve = triton_interpreter.prepare = lambda **_: None
    launch_tasks.warm_up()
    text = cut["slice"].encode()
    order = InterpretOrder(
        source=[0, len(text)], allocations=case["allocations"], arguments=case["arguments"],
        constexprs={n: _tagged(v) for n, v in case["guess"]["constexprs"].items()},
        kernel=case["kernel"], files=cut["files"], touched=cut["touched"], grid=case["grid"],
        options={},
    )  # fmt: skip
    kinds = {one["name"]: one["dtype"] for one in case["allocations"]}
    found: Buffers = {}

    def send(header: dict[str, Any], body: bytes) -> None:
        kind, _, name = header["stage"].partition(":")
        if kind == "output":
            from launch.buffers.element_types import stored

            found[name] = np.frombuffer(body, stored(kinds[name]))

    report = interpret.interpret(order, text, send)
    if not report.finished:
        raise RuntimeError(str(report.findings[-1])[:300])
    return found


def _tagged(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    return {"int": str(value)} if isinstance(value, int) else {"float": value.hex()}

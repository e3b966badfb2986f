"""Runs each cheat under the naive evaluator, in a separate process that reports through a pipe.

`python -m tests.security.cheats.naive_runs FILE` writes the results by name as JSON. With
TRITON_INTERPRET=1 kernels run on the CPU. Each process is a fork of one that has imported torch.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.security.cheats.cheat import FILES, Cheat
from tests.security.cheats.table import CHEATS, name_of

ROOT = Path(__file__).parents[3]
PATIENCE_CPU_S = 15.0
"""CPU time after which a candidate counts as hanging; others may keep the machine busy."""
PATIENCE_S = 240.0
"""Seconds until one counts as hanging that waits."""
AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class NaiveVerdict:
    """The naive evaluator's verdict on a candidate, and its time if there is one."""

    word: str
    us: float | None


def all_naive_verdicts(folder: Path, **environment: str) -> dict[str, NaiveVerdict]:
    """Return the results of every cheat, from a process with torch."""
    reported = folder / "believed.json"
    command = [sys.executable, "-m", "tests.security.cheats.naive_runs", str(reported)]
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    ran = subprocess.run(command, cwd=ROOT, env=os.environ | environment, **silent)
    assert ran.returncode == 0, ran.stderr.decode()[-3000:]
    return {name: NaiveVerdict(**one) for name, one in json.loads(reported.read_text()).items()}


def interprets() -> bool:
    return os.environ.get("TRITON_INTERPRET") == "1"


def is_tried(cheat: Cheat) -> bool:
    return cheat.interpreted or not interprets()


def main(reported: Path) -> None:
    """Judge all cheats that can run here, some at once."""
    believed = {}
    for some in batched((one for one in CHEATS if is_tried(one)), 1 if interprets() else AT_ONCE):
        started = [(cheat, *start(cheat)) for cheat in some]
        deadline = time.monotonic() + PATIENCE_S
        for cheat, pid, pipe in started:
            believed[name_of(cheat)] = collect(pid, pipe, deadline)
    reported.write_text(json.dumps(believed))


def batched(cheats: Iterable[Cheat], count: int) -> Iterator[list[Cheat]]:
    left = iter(cheats)
    while some := list(itertools.islice(left, count)):
        yield some


def start(cheat: Cheat) -> tuple[int, int]:
    """Fork a process that judges one cheat; return its number and the pipe of its result."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return pid, reading
    try:
        line = json.dumps(judge(cheat))
    except Exception as blamed:  # noqa: BLE001 - as evaluators do
        works()  # otherwise this process cannot report anything
        line = json.dumps({"passed": False, "us": None, "why": repr(blamed)})
    os.write(writing, line.encode() + b"\n")
    os._exit(0)


def collect(pid: int, pipe: int, deadline: float) -> dict[str, Any]:
    """Return the first output of a process."""
    try:
        while not (ready := select.select([pipe], [], [], 0.2)[0]):
            if time.monotonic() > deadline or spent_cpu_s(pid) > PATIENCE_CPU_S:
                break
        line = os.read(pipe, 65536).split(b"\n")[0] if ready else None
    finally:
        os.close(pipe)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    if not line:
        return {"word": "hangs" if line is None else "dies", "us": None}
    result = json.loads(line)
    return {"word": "passed" if result["passed"] else "failed", "us": result["us"]}


def spent_cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def judge(cheat: Cheat) -> dict[str, Any]:
    """Import the file like a harness, and trust the result."""
    import torch

    from tests.security.cheats.naive_evaluator import evaluate

    torch.set_num_threads(1)
    device = "cpu" if interprets() else "cuda"
    torch.manual_seed(0)
    inputs: dict[str, Any] = dict(cheat.task.constexprs)
    for name, value in cheat.task.arguments.items():
        if not isinstance(value, dict):
            inputs[name] = value
        elif "output" not in value:
            inputs[name] = made(torch, value).to(device)
    passed, us = evaluate(
        runner(load(cheat), cheat),
        cheat.task.in_torch,
        inputs,
        reference_first=cheat.reference_first,
        repeats=3 if interprets() else 50,
    )
    return {"passed": passed, "us": us}


def made(torch: ModuleType, given: dict[str, Any]) -> Any:
    """Return a tensor as an argument describes it, from torch's own generator."""
    makers = {"normal": torch.randn, "uniform": torch.rand, "zeros": torch.zeros}
    init = given["init"]
    made = makers[init["kind"]](given["shape"]) * init.get("std", 1)
    return made.half() if given["dtype"] == "fp16" else made


def load(cheat: Cheat) -> ModuleType:
    spec = importlib.util.spec_from_file_location("candidate", FILES / f"{cheat.file}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["candidate"] = module
    spec.loader.exec_module(module)
    return module


def runner(module: ModuleType, cheat: Cheat) -> Callable[..., None]:
    """Return the `run` of a candidate, or a function that launches its kernel."""
    task = cheat.task

    def launch(**arguments: Any) -> None:
        first = task.grid[0]
        grid = (
            first if isinstance(first, int) else -(-arguments["n_elements"] // arguments["BLOCK"])
        )
        module.kernel[(grid,)](**arguments)

    run: Callable[..., None] = getattr(module, "run", launch)
    return run


def works() -> None:
    """Use the device once, as the next candidate would. Ends the process if that fails."""
    import torch

    try:
        torch.ones(1, device="cpu" if interprets() else "cuda").sum().item()
    except RuntimeError:
        os._exit(1)


if __name__ == "__main__":
    import torch  # noqa: F401 - once for all forked processes
    import triton  # noqa: F401

    main(Path(sys.argv[1]))

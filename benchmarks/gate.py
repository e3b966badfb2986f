"""Measures `tritonc gate` when everything is cached: 20 kernels, 4 Tritons, 4 targets.

Each of the 320 cells has a budget for registers, and budgets for instructions by class relative to
a committed baseline. TRITOND_TOOLCHAINS names the Pythons of the other three Tritons, as for a
worker. The first run compiles; it is reported but not counted. Then whole runs of the command are
measured, with its start.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from deployment import Deployment
from mix import KERNELS, Mix
from table import Row, show

BAR_S = 5.0
COUNT = 20
TARGETS = ["cuda:80", "cuda:90", "hip:gfx942", "hip:gfx950"]
TRITONS = ["3.6", "3.7", "3.8", "3.9"]
BUDGETS = """
[budgets]
registers = 512
instructions = "<= 1.05 x baseline"
instruction_classes = "<= 1.05 x baseline + 4"
"""


def main() -> None:
    """Write a gate file, compile it once, then judge it repeatedly."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", help="the URL of a running tritond")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(KERNELS, Path(folder) / KERNELS.name)
        (Path(folder) / "kernels.toml").write_text(gate_file())
        if arguments.url:
            measure(arguments.url, Path(folder), arguments.repeats)
            return
        with Deployment() as deployment:
            port = deployment.serve().port
            measure(f"http://127.0.0.1:{port}", Path(folder), arguments.repeats)


def gate_file() -> str:
    """Return a gate file with 20 kernels of the mix."""
    kernels = {request["kernel"]: request for request in reversed(Mix().real())}
    kernels["quantize_kernel"]["signature"]["q_ptr"] = "*fp8e5:16"  # sm_80 has no e4nv
    text = f"[matrix]\ntargets = {TARGETS}\ntritons = {TRITONS}\n{BUDGETS}"
    for name, request in sorted(kernels.items())[:COUNT]:
        [path] = [path for path in KERNELS.glob("*.py") if f"def {name}(" in path.read_text()]
        constexprs = request["constexprs"] | {"SALT": 1.0}
        text += f"\n[kernels.{name}]\nsource = '{KERNELS.name}/{path.name}'\nkernel = '{name}'\n"
        text += f"signature = {inline(request['signature'])}\n"
        text += f"constexprs = {inline(constexprs)}\noptions = {inline(request['options'])}\n"
    return text


def inline(members: dict[str, object]) -> str:
    """Return an inline table of TOML."""
    return "{" + ", ".join(f"{name} = {json.dumps(value)}" for name, value in members.items()) + "}"


def measure(url: str, folder: Path, repeats: int) -> None:
    """Run the command and print the table."""
    spent_s = run(url, folder, "--update-baseline", "--wait-s", "3600")
    print(f"the first run, which compiles missing kernels: {spent_s:.0f} s", flush=True)
    times = [run(url, folder) for _ in range(repeats)]
    median = statistics.median(times)
    print("runs: " + ", ".join(f"{s:.2f} s" for s in times))
    show([Row(f"gate over {COUNT} x 4 x 4, all hits", f"{median:.2f} s", "", median, BAR_S)])


def run(url: str, folder: Path, *words: str) -> float:
    """Run `tritonc gate`; return its time. Raises RuntimeError unless the gate passes."""
    command = [sys.executable, "-m", "tritonc", "--url", url, "gate", *words]
    started = time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    spent_s = time.perf_counter() - started
    if done.returncode:
        raise RuntimeError(f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    print(done.stdout.strip(), flush=True)
    return spent_s


if __name__ == "__main__":
    main()

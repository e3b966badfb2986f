"""Measures how fast the CPU device runs kernels, compared with Triton's own interpreter.

Each side has its own process. They take turns, kernel by kernel, so that a noisy machine affects
both. Only the run of the grid is timed: no compilation, no creation of buffers. Triton's
interpreter is unchanged, and does not check accesses.

`python cpu_device.py --serve device` and `--serve interpreter` are these processes. They read the
index of a launch and how to run it, one per line, and answer with its milliseconds.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Self

from cpu_launches import CpuLaunch, large, of_the_mix
from table import Row, show

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
BARS = {
    "vector add of 98,432": 60.0,
    "softmax 1024 x 1000": 100.0,
    "layer norm 2048 x 1024": 100.0,
}
MEAN_BAR, RACES_BAR = 30.0, 4.0
PLAIN, RACES, ONE_BY_ONE = "plain", "racecheck", "one by one"


class RunningProcess:
    """One of the two sides. Use it with `with`."""

    def __init__(self, side: str) -> None:
        environment = {
            "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1",
            **({"TRITON_INTERPRET": "1"} if side == "interpreter" else {}),
        }  # fmt: skip
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--serve", side],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | environment,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def run_ms(self, position: int, way: str, repeats: int) -> float:
        """Return the median milliseconds of a launch."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([position, way, repeats]) + "\n")
        self._process.stdin.flush()
        while answer := self._process.stdout.readline():
            if answer.startswith("ms "):
                return float(answer[3:])
        raise RuntimeError("a launch failed; its output is above")


class Device:
    """Runs launches on the CPU device."""

    def __init__(self) -> None:
        from tests.integration.compiler.children import Children

        self._children = Children()
        self._forms: dict[int, Any] = {}

    def times_ms(self, position: int, launch: CpuLaunch, way: str, repeats: int) -> list[float]:
        """Return the milliseconds of `repeats` runs after a first one."""
        from launch.checks.kernel_run import RunOptions
        from launch.cpu.argument_arena import OrderedMemory
        from launch.cpu.grid_run import GridLaunch

        if position not in self._forms:
            self._forms[position] = self._form(launch)
        form = self._forms[position]
        order = _order_of(launch, one_by_one=way == ONE_BY_ONE)
        how = RunOptions([RACES] if way == RACES else [])
        times = []
        for _ in range(repeats + 1):
            memory = OrderedMemory(order, b"")
            made = GridLaunch(form, order, memory, how, exact_from=math.prod(launch.grid))
            started = time.process_time()
            ran = made.run()
            times.append((time.process_time() - started) * 1000)
            assert ran.stopped is None, ran.stopped
        return times[1:]

    def _form(self, launch: CpuLaunch) -> Any:
        from compiler.target import Target
        from compiler.ttir_to_numpy.batched_codegen import run_form
        from compiler.ttir_to_numpy.generic_form import module_of
        from compiler.ttir_to_numpy.module_text import TranslatedKernel
        from compiler.ttir_to_numpy.task import generic_form
        from tests.integration.compiler.kernels import Kernel, compile_kernel

        request = {key: value for key, value in launch.request.items() if key != "source"}
        ones = {n: 1 for n, kind in request["signature"].items() if kind.endswith(":1")}
        sizes = {**request["constexprs"], **ones}
        wanted = {**request, "signature": launch.dtypes, "constexprs": sizes}
        source = Kernel(Path("user.py"), launch.request["source"], wanted)
        made = compile_kernel(self._children, source, stop_after="ttir")
        assert made.failure is None, made.failure
        text = made.stages["source"].decode()
        generic, symbol = generic_form(text, Target("cuda", 90, 32), "source")
        return run_form(
            module_of(generic), TranslatedKernel(symbol, "source", tuple(launch.dtypes)), {}
        )


def _order_of(launch: CpuLaunch, *, one_by_one: bool) -> Any:
    from compiler.target import Target
    from launch.messages import MAX_BATCH_ELEMENTS, RunOrder
    from tests.integration.launch.child_runs import Bound, Buffer

    values: dict[str, Any] = {}
    for name, kind in launch.dtypes.items():
        if name in launch.buffers:
            elements, end = launch.buffers[name]
            values[name] = Buffer((elements,), kind[1:], _init(end), name in launch.outputs)
        else:
            value = launch.scalars[name]
            values[name] = float(value) if kind.startswith("fp") else value
    bound = Bound(values)
    return RunOrder(
        ir=(0, 0), stage="source", target=Target("cuda", 90, 32), files=[],
        allocations=bound.allocations, arguments=bound.arguments, parameters=list(launch.dtypes),
        grid=launch.grid, batch_elements=1 if one_by_one else MAX_BATCH_ELEMENTS,
    )  # fmt: skip


def _init(end: int) -> dict[str, Any]:
    if end:
        return {
            "kind": "randint",
            "seed": {"int": "1"},
            "low": {"int": "0"},
            "high": {"int": str(end)},
        }
    return {"kind": "uniform", "seed": {"int": "1"}, "low": {"int": "0"}, "high": {"int": "1"}}


class Interpreter:
    """Runs launches on Triton's own interpreter."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def times_ms(self, position: int, launch: CpuLaunch, _way: str, repeats: int) -> list[float]:
        """Return the milliseconds of `repeats` runs, after one untimed program."""
        path = self._folder / f"source_{position}.py"
        path.write_text(launch.request["source"])
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        kernel = getattr(module, launch.request["kernel"])
        arguments, _memory = self._arguments(kernel, launch)
        kernel.run(*arguments, grid=(1, 1, 1), warmup=False)
        times = []
        for _ in range(repeats):
            started = time.process_time()
            kernel.run(*arguments, grid=tuple(launch.grid), warmup=False)
            times.append((time.process_time() - started) * 1000)
        return times

    def _arguments(self, kernel: Any, launch: CpuLaunch) -> tuple[list[Any], list[Any]]:
        """Return the arguments, and the memory behind their pointers."""
        from launch.buffers.initial_values import elements

        values: dict[str, Any] = dict(launch.request["constexprs"])
        memory = []
        for name, kind in launch.request["signature"].items():
            kind, _, hint = kind.partition(":")
            if name in launch.buffers:
                count, end = launch.buffers[name]
                array = elements(_init(end), count, kind[1:], b"")
                memory.append(array)
                values[name] = _pointer(array.ctypes.data, kind[1:])
            elif hint == "1":
                values[name] = 1
            else:
                values[name] = _scalar(launch.scalars[name], kind)
        return [values[name] for name in kernel.arg_names], memory


def _pointer(address: int, dtype: str) -> Any:
    """Return a pointer argument of Triton's interpreter to `address`."""
    import numpy as np
    import triton.language as tl
    from triton.runtime.interpreter import TensorHandle

    kind = tl.pointer_type(tl.str_to_ty(dtype, None))
    return tl.tensor(TensorHandle(np.array([address], np.uint64), kind), kind)


def _scalar(value: Any, dtype: str) -> Any:
    """Return a scalar argument of Triton's interpreter."""
    import triton.language as tl
    from triton.runtime.interpreter import interpreter_builder

    name = dtype.replace("i", "int") if dtype[0] in "iu" else dtype
    handle = getattr(interpreter_builder, f"get_{name}")(value)
    return tl.tensor(handle, handle.dtype)


def serve(side: str) -> None:
    launches = [*large(), *of_the_mix()]
    with tempfile.TemporaryDirectory() as folder:
        runner = Device() if side == "device" else Interpreter(Path(folder))
        for line in sys.stdin:
            position, way, repeats = json.loads(line)
            times = runner.times_ms(position, launches[position], way, repeats)
            print(f"ms {statistics.median(times)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", choices=["device", "interpreter"])
    parser.add_argument("--only", default="", help="launches whose name contains this")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each launch on the device")
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments.serve)
        return
    launches = [*large(), *of_the_mix()]
    chosen = [n for n, launch in enumerate(launches) if arguments.only in launch.name]
    with RunningProcess("device") as device, RunningProcess("interpreter") as interpreter:
        rows = [
            compared(position, launches[position].name, device, interpreter, arguments.repeats)
            for position in chosen
        ]
    summarise(rows, [position - len(large()) for position in chosen])


def compared(
    position: int, name: str, device: RunningProcess, interpreter: RunningProcess, repeats: int
) -> dict[str, Any]:
    """Return the milliseconds of one launch in each way."""
    times = {way: device.run_ms(position, way, repeats) for way in (PLAIN, RACES, ONE_BY_ONE)}
    times["interpreter"] = interpreter.run_ms(position, PLAIN, 1)
    again = device.run_ms(position, PLAIN, repeats)
    times[PLAIN] = statistics.mean([times[PLAIN], again])  # before and after the other side
    print(name, {way: round(ms, 2) for way, ms in times.items()}, file=sys.stderr, flush=True)
    return {"name": name, **times}


def summarise(rows: list[dict[str, Any]], of_mix: list[int]) -> None:
    """Print every launch, and the means over the mix."""
    shown = [
        Row(
            row["name"], f"{row[PLAIN]:.2f} ms", f"{row['interpreter']:.0f} ms",
            row["interpreter"] / row[PLAIN], BARS.get(row["name"], 1.0), at_least=True,
        )
        for row in rows
    ]  # fmt: skip
    mixed = [row for row, position in zip(rows, of_mix, strict=True) if position >= 0] or rows

    def mean(over: str, under: str) -> float:
        return statistics.geometric_mean([row[over] / row[under] for row in mixed])

    races = max(rows, key=lambda row: row[RACES] / row[PLAIN])
    note = f"of {len(mixed)} kernels"
    shown += [
        Row("geometric mean", note, "interpreter", mean("interpreter", PLAIN), MEAN_BAR, True),
        Row("race checks, geometric mean", note, "plain", mean(RACES, PLAIN), RACES_BAR),
        Row("race checks, worst", races["name"], "plain", races[RACES] / races[PLAIN], RACES_BAR),
        Row("many programs at once", note, "one by one", mean(ONE_BY_ONE, PLAIN), 1.0, True),
    ]
    show(shown)


if __name__ == "__main__":
    main()

"""Compares launches of files on a GPU with those that `inspect` records without one.

`python benchmarks/launches_of_files.py gpu FOLDER OUT.json`, on a machine with a GPU, torch and
Triton, runs every file of a folder and notes what the JIT specializes on at the first launch of
each kernel. `... compare FOLDER OUT.json` runs the files here, and compares.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

LIMIT_S = 120
ON_GPU = """
import json, runpy, sys
from triton.runtime.jit import JITFunction
path, out = sys.argv[1:3]
seen, pack = {}, JITFunction._pack_args
def packed(self, backend, kwargs, bound, specialization, options):
    made = pack(self, backend, kwargs, bound, specialization, options)
    if self.__name__ not in seen:
        _, signature, constexprs, attrs = made
        seen[self.__name__] = {
            name: [str(kind), repr(constexprs.get((at,))), bool(attrs.get((at,)))]
            for at, (name, kind) in enumerate(signature.items())
        }
        json.dump(seen, open(out, "w"))
    return made
JITFunction._pack_args = packed
sys.argv = [path]
runpy.run_path(path, run_name="__main__")
"""
HERE = """
import json, os, sys
from dataclasses import asdict
from compiler.front.tasks import TASKS
order = {"kernel": None, "target": {"backend": "cuda", "arch": 90, "warp_size": 32}}
for path, out in zip(sys.argv[1::2], sys.argv[2::2]):
    if child := os.fork():
        os.waitpid(child, 0)
        continue
    report = TASKS["launches"](order, open(path, "rb").read(), lambda *_: None)
    json.dump(report["launches"], open(out, "w"), default=asdict)
    os._exit(0)
"""


def main() -> None:
    """Run one of the two modes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mode", choices=("gpu", "compare"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    files = sorted(arguments.folder.glob("*.py"))
    with tempfile.TemporaryDirectory() as folder:
        outs = {file: Path(folder) / f"{file.name}.json" for file in files}
        if arguments.mode == "gpu":
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                list(pool.map(lambda pair: _ran(ON_GPU, *pair), outs.items()))
        else:
            _ran(HERE, *(path for pair in outs.items() for path in pair))
        launches = {
            f.name: json.loads(o.read_text()) if o.exists() else {} for f, o in outs.items()
        }
    if arguments.mode == "gpu":
        arguments.out.write_text(json.dumps(launches, indent=1))
    else:
        _compare(json.loads(arguments.out.read_text()), launches)


def _ran(program: str, *paths: Path) -> None:
    command = [sys.executable, "-c", program, *map(str, paths)]
    try:
        subprocess.run(command, check=False, capture_output=True, timeout=LIMIT_S * len(paths))
    except subprocess.TimeoutExpired:
        print(f"{paths[0].name} took too long", file=sys.stderr)


def _compare(on_gpu: dict[str, Any], here: dict[str, Any]) -> None:
    counts: Counter[str] = Counter()
    for file, kernels in on_gpu.items():
        launches = {launch["kernel"]: launch for launch in here.get(file) or ()}
        for kernel, expected in kernels.items():
            launch = launches.get(kernel)
            differing = ["not launched"] if launch is None else _differing(expected, launch)
            kind = "equal" if not differing else "not launched" if launch is None else "different"
            counts[kind] += 1
            if differing:
                print(f"{file} {kernel}: {', '.join(differing)}")
    total = sum(counts.values())
    print(f"{counts['equal']} of {total} kernels equal, {counts['different']} different, ", end="")
    print(f"{counts['not launched']} not launched here")


def _differing(expected: dict[str, Any], launch: dict[str, Any]) -> list[str]:
    parameters = {each["name"]: each for each in launch["parameters"]}
    return [name for name, facts in expected.items() if not _is_equal(facts, parameters.get(name))]


def _is_equal(facts: list[Any], parameter: dict[str, Any] | None) -> bool:
    kind, value, is_divisible = facts
    if parameter is None:
        return False
    if kind != "constexpr":
        return bool(
            parameter["type"] == kind and ("divisible_by_16" in parameter["hints"]) == is_divisible
        )
    if "equal_to_1" in parameter["hints"]:
        return bool(value == "1")
    return bool(parameter["type"] == "constexpr" and _shown(parameter["value"], value) == value)


def _shown(tagged: Any, otherwise: str) -> str:
    """Return the `repr` of a tagged value; of a dtype or a function, `otherwise`."""
    if not isinstance(tagged, dict):
        return repr(tagged)
    if "int" in tagged:
        return repr(int(tagged["int"]))
    return repr(float.fromhex(tagged["float"])) if "float" in tagged else otherwise


if __name__ == "__main__":
    main()

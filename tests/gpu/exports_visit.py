"""Runs the programs of make_exports.py and the Python exports on a GPU machine.

`python3 tests/gpu/exports_visit.py`: every program launches an exported kernel and checks all of
its results. Needs the driver, and for the Python exports numpy and cuda-bindings.
"""
# ruff: noqa: T201 - a script that reports

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).parents[2] / ".artifacts" / "exports"
PROGRAMS = ("c", "rust", "cuda-inline")
LIMIT_S = 60


def main() -> None:
    """Print a line for every export; the exit status is 0 if all were right."""
    if len(sys.argv) > 1:
        run_python(Path(sys.argv[1]))
        return
    results = list(all_exports())
    for name, said, status in results:
        print(f"{'ok  ' if status == 0 else 'FAIL'} {name:35} {said}")
    failed = [name for name, _, status in results if status != 0]
    print(f"{len(results) - len(failed)} of {len(results)} exports were right")
    sys.exit(bool(failed) or not results)


def all_exports() -> Iterator[tuple[str, str, int]]:
    """Yield name, last output and exit status of every program."""
    for folder in sorted(path for path in FOLDER.iterdir() if path.is_dir()):
        for program in PROGRAMS:
            if (folder / program).exists():
                (folder / program).chmod(0o755)
                yield f"{folder.name} {program}", *ended([str(folder / program)])
        for module in sorted(folder.glob("*.py")):
            yield f"{folder.name} python", *ended([sys.executable, __file__, str(module)])


def ended(command: list[str]) -> tuple[str, int]:
    """Return the last output of a program and its exit status."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=LIMIT_S, check=False, env=os.environ
        )
    except subprocess.TimeoutExpired:
        return f"not within {LIMIT_S} s", 1
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines[-1] if lines else "", done.returncode


def run_python(path: Path) -> None:
    """Launch an exported Python module and check every element."""
    import numpy as np
    from cuda.bindings import driver as cu

    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def on_gpu(array: np.ndarray) -> int:
        error, address = cu.cuMemAlloc(array.nbytes)
        assert error == cu.CUresult.CUDA_SUCCESS, error
        cu.cuMemcpyHtoD(address, array.ctypes.data, array.nbytes)
        return int(address)

    if path.stem == "add_kernel":
        n, at = 98432, np.arange(98432)
        x, y = (at % 1000).astype(np.float32) * 0.5, (at % 77).astype(np.float32) - 3
        out, expected = np.full(n, -1, np.float32), x + y
        kernel = module.AddKernel()
        target = on_gpu(out)
        kernel.launch((-(-n // 1024), 1, 1), on_gpu(x), on_gpu(y), target, n)
    else:
        left, right = np.arange(128 * 256), np.arange(256 * 128)
        a = ((left * 7 + left // 13) % 8).reshape(128, 256).astype(np.float16)
        b = ((right * 5 + right // 11) % 8).reshape(256, 128).astype(np.float16)
        out = np.zeros((128, 128), np.float32)
        expected = a.astype(np.float32) @ b.astype(np.float32)
        kernel = module.Matmul()
        target = on_gpu(out)
        kernel.launch((1, 1, 1), on_gpu(a), on_gpu(b), target, 256)
    (error,) = cu.cuCtxSynchronize()
    assert error == cu.CUresult.CUDA_SUCCESS, error
    cu.cuMemcpyDtoH(out.ctypes.data, target, out.nbytes)
    kernel.unload()
    np.testing.assert_array_equal(out, expected)
    print(f"right: {out.size} elements")


if __name__ == "__main__":
    main()

"""Tries many kernels, a hundred in each process, and counts what was in them.

Such a process is forked from one that is warm: what the compiler keeps does not pile up, and its
death is seen.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from time import process_time

from compiler.front import tasks
from tests.differential.kernels.comparing import Disagreement, disagreements
from tests.differential.kernels.generator import TooManyUndefined, kernel_of
from tests.differential.kernels.kernel import Kernel
from tests.differential.kernels.running import Refused
from tests.differential.kernels.shrinking import shrunk
from tests.differential.kernels.statements import Expected

KERNELS_OF_A_PROCESS = 100


def tried(first: int, count: int) -> Iterator[Counter[str]]:
    """Try the kernels of `count` seeds from `first` on; yield the counts of each process.

    Kernels that disagree are printed.
    """
    tasks.warm_up()
    gc.freeze()
    try:
        for start in range(first, first + count, KERNELS_OF_A_PROCESS):
            yield _in_a_process(start, min(start + KERNELS_OF_A_PROCESS, first + count))
    finally:
        gc.unfreeze()


def _in_a_process(start: int, end: int) -> Counter[str]:
    reading, writing = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.close(reading)
        counts: Counter[str] = Counter()
        try:
            for seed in range(start, end):
                counts += _tried(seed)
        except Exception:  # noqa: BLE001 - the process ends here
            print(f"seed {seed}:\n{traceback.format_exc()}")
        finally:
            os.write(writing, json.dumps(counts).encode())
            sys.stdout.flush()
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        sent = pipe.read()
    os.waitpid(child, 0)
    counts = Counter(json.loads(sent or b"{}"))
    missing = end - start - sum(counts[how] for how in ("kernels", "refused", "undefined"))
    if missing:
        print(f"a process died among the seeds {start} to {end - 1}: {missing} were not tried")
        counts["died"] += 1
    return counts


def _tried(seed: int) -> Counter[str]:
    """Try the kernel of one seed; count it by its contents."""
    started = process_time()
    warnings.simplefilter("ignore")  # Triton's deprecation warnings
    try:
        kernel, wanted = kernel_of(seed)
        found = disagreements(kernel, wanted)
    except TooManyUndefined:
        return Counter({"undefined": 1})
    except Refused as refused:
        print(f"\nseed {seed}: the compiler refused it: {refused}\n{kernel.source()}")
        return Counter({"refused": 1})
    if found:
        _show(found)
    counts = Counter({"kernels": 1, "disagree": int(bool(found))})
    for group in kernel.groups() | ({"rounded sums, forms only"} if wanted is None else set()):
        counts[f"of {group}"] += 1
        counts[f"bad {group}"] += bool(found)
    counts["ms"] += int(1000 * (process_time() - started))
    return counts


def found_after(first: int, count: int, plant: Callable[[], None]) -> int:
    """Return how many kernels it takes to find what `plant` puts into this process, or 0."""
    tasks.warm_up()
    plant()
    warnings.simplefilter("ignore")
    for number in range(count):
        if disagreements(*kernel_of(first + number)):
            return number + 1
    return 0


def _show(found: list[Disagreement]) -> None:
    """Print a kernel that disagrees, and the smallest that was found of it."""
    print(f"\n{found[0]}\nForms that differ: {', '.join(one.way for one in found)}")
    first = found[0]

    def disagrees(kernel: Kernel, wanted: Expected | None) -> bool:
        return any(
            one.way == first.way and one.kind == first.kind for one in disagreements(kernel, wanted)
        )

    smaller = shrunk(found[0].kernel, disagrees)
    print(f"\nSmaller, with the same inputs, grid {smaller.grid}:\n{smaller.source()}", flush=True)


def table(counts: Counter[str]) -> str:
    """Return how many kernels had what in them, and how many of them disagreed."""
    rows = ["", "| kernels with | of | disagree |", "|---|---|---|"]
    groups = sorted(name.removeprefix("of ") for name in counts if name.startswith("of "))
    rows += [
        f"| {group} | {counts[f'of {group}']} | {counts[f'bad {group}']} |" for group in groups
    ]
    rows += [f"| all | {counts['kernels']} | {counts['disagree']} |", ""]
    rows += [
        f"{counts['refused']} refused by the compiler, {counts['undefined']} left out as "
        f"undefined, {counts['died']} processes died, "
        f"{counts['ms'] / max(counts['kernels'], 1):.0f} ms of CPU time each"
    ]
    return "\n".join(rows)

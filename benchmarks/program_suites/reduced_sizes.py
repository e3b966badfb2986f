"""Reduces KernelBench's references to consistent sizes that a CPU runs in seconds.

Integers assigned at the top of a module are halved until they are within a bound; batches have a
smaller bound. Whether the model still runs is tried in a separate process with torch on a CPU. This
executes the reference, so it is for trusted public suites only. The smallest bound that works is
used, without the extra bound for batches if they must equal another size. If no bound works, the
sizes are unchanged.
"""

import ast
import json
import multiprocessing
import os
import resource
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

BOUNDS = (16, 32, 64, 128, 256, 512)
BATCH = 4
_TRY_S = 20
_MAX_BYTES = 8 << 30


def reduced(text: str, kept: Path) -> tuple[str, int | None]:
    """Return `text` with smaller numbers, and the bound; the file `kept` caches results."""
    sizes = json.loads(kept.read_text()) if kept.exists() else None
    if sizes is None:
        sizes = _smallest(text)
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(sizes))
    bound = sizes["bound"]
    return (text if bound is None else bounded(text, bound, sizes["batch"])), bound


def bounded(text: str, bound: int, batch: int) -> str:
    """Return `text` with every integer assigned at the top halved until within `bound`.

    Sizes of a batch are halved until within `batch`.
    """
    tree = ast.parse(text)
    lines = text.encode().splitlines(keepends=True)
    numbers = sorted(_numbers(tree), key=lambda n: (n[0].lineno, n[0].col_offset), reverse=True)
    for number, is_batch in numbers:
        value = _value(number)
        assert value is not None
        while value > (batch if is_batch else bound):
            value = (value + 1) // 2
        if number.lineno == number.end_lineno:
            line = lines[number.lineno - 1]
            head, tail = line[: number.col_offset], line[number.end_col_offset :]
            lines[number.lineno - 1] = head + str(value).encode() + tail
    return b"".join(lines).decode()


def _numbers(tree: ast.Module) -> Iterator[tuple[ast.expr, bool]]:
    """Yield the integers assigned at the top, and whether each is the size of a batch."""
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            is_batch = "batch" in ast.unparse(statement.targets[0]).lower()
            yield from ((number, is_batch) for number in _within(statement.value))


def _within(expression: ast.expr) -> Iterator[ast.expr]:
    if _value(expression) is not None:
        yield expression
    elif isinstance(expression, ast.Tuple | ast.List):
        for element in expression.elts:
            yield from _within(element)


def _value(expression: ast.expr) -> int | None:
    match expression:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            first, second = _value(left), _value(right)
            return None if first is None or second is None else first * second
        case ast.BinOp(left=left, op=ast.LShift(), right=right):
            first, second = _value(left), _value(right)
            return None if first is None or second is None else first << min(second, 40)
    return None


def _smallest(text: str) -> dict[str, int | None]:
    tried = [(bound, BATCH) for bound in BOUNDS] + [(bound, bound) for bound in BOUNDS]
    for bound, batch in tried:
        if _runs(bounded(text, bound, batch)):
            return {"bound": bound, "batch": batch}
    return {"bound": None, "batch": None}


def _runs(text: str) -> bool:
    """Return True if the model of `text` runs on its inputs, in a forked process."""
    import torch

    torch.set_num_threads(1)
    child = multiprocessing.get_context("fork").Process(target=_try, args=(text,))
    child.start()
    child.join(_TRY_S)
    if child.exitcode is None:
        child.kill()
        child.join()
    return child.exitcode == 0


def _try(text: str) -> None:
    import torch

    with suppress(ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (_MAX_BYTES, _MAX_BYTES))
    torch.manual_seed(42)
    names: dict[str, Any] = {"__name__": "reference"}
    try:
        exec(compile(text, "reference.py", "exec"), names)
        with torch.no_grad():
            names["Model"](*names["get_init_inputs"]())(*names["get_inputs"]())
    except Exception:  # noqa: BLE001  (whatever it raises, it does not run at this size)
        os._exit(1)
    os._exit(0)

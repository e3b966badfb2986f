"""IR as Triton 3.6 prints it, in both forms.

It has block pointers and pointers to pointers, which Triton 3.9 no longer has.
"""

from __future__ import annotations

import random
import types
from pathlib import Path

import numpy as np
import pytest

from compiler.ttir_to_numpy.batched_codegen import run_form
from compiler.ttir_to_numpy.generic_form import module_of
from compiler.ttir_to_numpy.ir import inside
from compiler.ttir_to_numpy.module_text import TranslatedKernel, module_text
from compiler.ttir_to_numpy.refusal import Untranslatable
from launch.cpu.device_print_assert import DevicePrints
from launch.cpu.instance_locations import InstanceLocations
from launch.cpu.kernel import Kernel
from launch.cpu.programs import ProgramInstances
from tests.cases import slow_except
from tests.unit.launch.cpu.array_memory import ArrayMemory

FOLDER = Path(__file__).parent / "printed"
PRINTED = (FOLDER / "block_pointers_triton_3.6.mlir").read_text()
"""Adds 1 to the first 16 rows of a tensor, block by block, with boundary checks."""
BLOCK_POINTERS = TranslatedKernel("block_pointers", "source", ("x", "y", "M", "N"))
ROWS, COLUMNS = 11, 40
TABLES = (FOLDER / "pointer_tables_triton_3.6.mlir").read_text()
"""Stores pointers in a table, loads them and dereferences them, in several ways."""
POINTER_TABLES = TranslatedKernel("pointer_tables", "source", ("rows", "x", "y", "n"))
B, SOME = 16, 5


def wanted(x: np.ndarray) -> np.ndarray:
    """Return the kernel's result for `x`, which has fewer rows than a block."""
    return x + 1


def test_the_artifact_reads_and_writes_blocks() -> None:
    text = module_text(module_of(PRINTED), BLOCK_POINTERS, {})
    module = types.ModuleType("translated")
    exec(compile(text, "translated.py", "exec"), module.__dict__)
    x = np.random.default_rng(1).standard_normal((ROWS, COLUMNS)).astype(np.float32)
    y = np.zeros_like(x)

    module.launch(module.__dict__["block_pointers"], (1,), x, y, ROWS, COLUMNS)

    np.testing.assert_array_equal(y, wanted(x))
    assert "b = load_block(p, [0, 1])" in text


def test_the_run_form_reads_and_writes_blocks() -> None:
    form = run_form(module_of(PRINTED), BLOCK_POINTERS, {})
    x = np.random.default_rng(1).standard_normal((ROWS, COLUMNS)).astype(np.float32)
    y = np.zeros_like(x)
    programs, memory = ProgramInstances((3, 1, 1)), ArrayMemory()
    pointers = [memory.pointer(array, "fp32") for array in (x, y)]
    numbers = [np.array([size], np.int32) for size in (ROWS, COLUMNS)]
    kernel = Kernel(
        form,
        programs,
        memory.of(programs),
        DevicePrints(programs, InstanceLocations(form.locations)),
    )

    kernel.run_batch(np.arange(3), [*pointers, *numbers])

    np.testing.assert_array_equal(y, wanted(x))


def check_tables(x: np.ndarray, y: np.ndarray, before: np.ndarray) -> None:
    """Compare the output of the kernel in `TABLES` with the values at the pointers."""
    lanes = np.arange(B)
    first, second = before[3 * B :], before[B : 2 * B]
    rows = np.where(lanes % 2 == 0, first, second)
    np.testing.assert_array_equal(y[:B], first)
    np.testing.assert_array_equal(y[B : 2 * B], second)
    np.testing.assert_array_equal(y[2 * B : 3 * B], rows)
    np.testing.assert_array_equal(y[3 * B : 4 * B], np.where(lanes < SOME, rows, -1))
    np.testing.assert_array_equal(y[4 * B :], np.where(lanes < SOME, rows, before[:B]))
    assert (x[B : 2 * B] == 7).all()


def test_the_artifact_loads_pointers_from_tables() -> None:
    module = types.ModuleType("translated")
    text = module_text(module_of(TABLES), POINTER_TABLES, {})
    exec(compile(text, "translated.py", "exec"), module.__dict__)
    x, y = np.arange(4 * B, dtype=np.float32), np.zeros(5 * B, np.float32)
    before = x.copy()

    module.launch(module.__dict__["pointer_tables"], (1,), np.zeros(B + 1, np.int64), x, y, SOME)

    check_tables(x, y, before)


def test_the_run_form_loads_pointers_from_tables() -> None:
    form = run_form(module_of(TABLES), POINTER_TABLES, {})
    x, y = np.arange(4 * B, dtype=np.float32), np.zeros(5 * B, np.float32)
    before = x.copy()
    programs, memory = ProgramInstances((1, 1, 1)), ArrayMemory()
    table = memory.pointer(np.zeros(B + 1, np.int64), "i64")
    pointers = [table, *[memory.pointer(array, "fp32") for array in (x, y)]]
    kernel = Kernel(
        form,
        programs,
        memory.of(programs),
        DevicePrints(programs, InstanceLocations(form.locations)),
    )

    kernel.run_batch(np.arange(1), [*pointers, np.array([SOME], np.int32)])

    check_tables(x, y, before)


@pytest.mark.parametrize("seed", slow_except([5], [5, 6, 7, 8]))
def test_reading_what_was_damaged_ends(seed: int) -> None:
    """Missing, doubled and moved pieces: the reader accepts the IR or names the error."""
    chooser = random.Random(seed)
    read = 0
    for _ in range(100):
        text = PRINTED
        for _ in range(chooser.randrange(1, 4)):
            start, other = (chooser.randrange(len(text)) for _ in range(2))
            size = chooser.randrange(1, 40)
            piece = chooser.choice(["", text[other : other + size], text[start : start + size] * 2])
            text = text[:start] + piece + text[start + size :]
        try:
            read += len(list(inside(module_of(text)))) > 0
        except Untranslatable:
            continue

    assert 0 < read < 100


@pytest.mark.parametrize("count", ["2n", "999999999", "-1", "٣"])
def test_a_count_of_results_that_is_none_is_refused(count: str) -> None:
    text = f'"builtin.module"() ({{\n  %0:{count} = "tt.splat"() : () -> i32\n}}) : () -> ()\n'

    with pytest.raises(Untranslatable, match=r"%0 names .* results, which is not a number"):
        module_of(text)

"""IR as Triton 3.6 prints it: block pointers, which Triton 3.9 no longer has, in both forms."""

from __future__ import annotations

import random
import types
from pathlib import Path

import numpy as np

from compiler.numpy_module.generic_form import module_of
from compiler.numpy_module.ir import inside
from compiler.numpy_module.module_text import ToldKernel as Told
from compiler.numpy_module.module_text import module_text
from compiler.numpy_module.refusal import Untranslatable
from compiler.numpy_module.run_form import run_form
from launch.cpu.kernel import Kernel
from launch.cpu.places import Places
from launch.cpu.programs import Programs
from launch.cpu.tells import Tells
from tests.unit.launch.cpu.array_memory import ArrayMemory

PRINTED = (Path(__file__).parent / "printed/block_pointers_triton_3.6.mlir").read_text()
"""Adds 1 to the first 16 rows of a tensor, block after block, checked against its edges."""
TOLD = Told("block_pointers", "source", ("x", "y", "M", "N"))
ROWS, COLUMNS = 11, 40


def wanted(x: np.ndarray) -> np.ndarray:
    """What the kernel makes of `x`, whose rows are fewer than a block has."""
    return x + 1


def test_the_artifact_reads_and_writes_blocks() -> None:
    text = module_text(module_of(PRINTED), TOLD, {})
    module = types.ModuleType("told")
    exec(compile(text, "told.py", "exec"), module.__dict__)
    x = np.random.default_rng(1).standard_normal((ROWS, COLUMNS)).astype(np.float32)
    y = np.zeros_like(x)

    module.launch(module.__dict__["block_pointers"], (1,), x, y, ROWS, COLUMNS)

    np.testing.assert_array_equal(y, wanted(x))
    assert "b = load_block(p, [0, 1])" in text


def test_the_run_form_reads_and_writes_blocks() -> None:
    form = run_form(module_of(PRINTED), TOLD, {})
    x = np.random.default_rng(1).standard_normal((ROWS, COLUMNS)).astype(np.float32)
    y = np.zeros_like(x)
    programs, memory = Programs((3, 1, 1)), ArrayMemory()
    pointers = [memory.pointer(array, "fp32") for array in (x, y)]
    numbers = [np.array([size], np.int32) for size in (ROWS, COLUMNS)]
    kernel = Kernel(form, programs, memory.of(programs), Tells(programs, Places(form.places)))

    kernel.run_batch(np.arange(3), [*pointers, *numbers])

    np.testing.assert_array_equal(y, wanted(x))


def test_reading_what_was_damaged_ends() -> None:
    """Pieces left out, doubled and moved: it is read, or refused by name."""
    chooser = random.Random(5)
    read = 0
    for _ in range(400):
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

    assert 0 < read < 400

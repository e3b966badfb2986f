"""What is tried: kernels of a package drawn at random, with guesses of how they are launched."""

import random
from dataclasses import asdict
from pathlib import Path
from typing import Any

from corpus.guesses import guesses
from corpus.kernels import Kernel, kernels_in
from corpus.packages import Package

Plan = dict[str, Any]


def drawn(package: Package, root: Path) -> list[Kernel]:
    """Return the kernels of a package in an order that is random and always the same."""
    kernels = list(kernels_in(package.name, root, package.folders))
    random.Random(0).shuffle(kernels)
    return kernels


def plan_of(kernel: Kernel) -> Plan:
    """Return what a kernel is tried with, as JSON has it."""
    tried = [asdict(guess) for guess in guesses(kernel)]
    return {"id": kernel.id, "file": kernel.file, "name": kernel.name, "guesses": tried}

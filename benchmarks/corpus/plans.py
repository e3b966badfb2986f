"""Plans: kernels drawn at random from a package, with guesses of their launches."""

import random
from dataclasses import asdict
from pathlib import Path
from typing import Any

from corpus.guesses import guesses
from corpus.kernels import Kernel, kernels_in
from corpus.packages import Package

Plan = dict[str, Any]


def drawn(package: Package, root: Path) -> list[Kernel]:
    """Return the kernels of a package in a random but fixed order."""
    kernels = list(kernels_in(package.name, root, package.folders))
    random.Random(0).shuffle(kernels)
    return kernels


def plan_of(kernel: Kernel) -> Plan:
    """Return the plan for a kernel as JSON."""
    tried = [asdict(guess) for guess in guesses(kernel)]
    return {"id": kernel.id, "file": kernel.file, "name": kernel.name, "guesses": tried}

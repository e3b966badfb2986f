"""Measures the execution of files of public packages, by the CPU time of the sandboxed children.

Draws files with a `@triton.jit` function from each unpacked package, and posts them as `tritonc`
does: the file and its packages first, then the modules that the service asks for, until it asks for
no more. Compares the last execution with `compile` of the same texts by Python itself.
"""

import argparse
import asyncio
import random
import re
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "client"))
sys.path.insert(0, str(Path(__file__).parent.parent))

from tritonc.packages.package import Package

from compiler.messages.orders import ParametersOrder
from compiler.target import STANDARD_TARGET, parse_target
from worker.compile.child_task import carry_out
from worker.pool.pool import Pool
from worker.pool.zygote_client import ZygoteToolchain

ROOT = Path(__file__).parent.parent
KERNEL = re.compile(r"^@triton\.jit.*\n(?:@.*\n)*def (\w+)", re.MULTILINE)
DEADLINE_S = 600.0
SHOWN = 3


@dataclass
class PostedFile:
    """The rounds of one file: the CPU time of each execution, and what was sent at last."""

    name: str
    cpu_s: list[float] = field(default_factory=list)
    modules: int = 0
    size_bytes: int = 0
    compile_s: float = 0.0
    end: str = ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "packages", type=Path, nargs="+", help="folders of unpacked packages, or files"
    )
    parser.add_argument("--files", type=int, default=40, help="of each package")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    asyncio.run(measure(arguments.packages, arguments.files, arguments.seed))


async def measure(packages: Sequence[Path], files: int, seed: int) -> None:
    pool = Pool(ZygoteToolchain(Path(sys.executable), ROOT), spares={})
    await pool.start()
    try:
        for package in packages:
            drawn = draw(package, files, seed)
            show(package.name, [await post(pool, path) for path in drawn])
    finally:
        await pool.close()


def draw(package: Path, files: int, seed: int) -> list[Path]:
    paths = [package] if package.is_file() else sorted(package.rglob("*.py"))
    with_kernel = [path for path in paths if KERNEL.search(path.read_text(errors="replace"))]
    drawn = random.Random(seed).sample(with_kernel, min(files, len(with_kernel)))
    return sorted(drawn)


async def post(pool: Pool, path: Path) -> PostedFile:
    """Post a file until the service asks for no more modules."""
    text = path.read_text()
    match = KERNEL.search(text)
    assert match is not None
    package, posted = Package.of_file(path, text), PostedFile(path.name)
    while True:
        order = ParametersOrder(
            kernel=match[1], target=parse_target(STANDARD_TARGET), **package.members
        )
        outcome = await carry_out(pool, order, text.encode(), deadline_s=DEADLINE_S)
        posted.cpu_s.append(outcome.usage.cpu_s if outcome.usage is not None else 0.0)
        failure = outcome.failure or {}
        posted.end = "" if outcome.result is not None else failure.get("slug", outcome.detail)
        if not package.supply(failure.get("needs", ())):
            break
    texts = [text, *package.files.values()]
    posted.modules = len(texts)
    posted.size_bytes = sum(len(module_text.encode()) for module_text in texts)
    posted.compile_s = compile_s(texts)
    return posted


def compile_s(texts: Sequence[str]) -> float:
    """Return the CPU time in which Python compiles these texts, without running them."""
    began_s = time.process_time()
    for text in texts:
        try:
            compile(text, "posted.py", "exec", dont_inherit=True)
        except SyntaxError:
            continue  # the child reads it and fails, too
    return time.process_time() - began_s


def show(package: str, posted: Sequence[PostedFile]) -> None:
    last = [file.cpu_s[-1] for file in posted]
    total = sum(sum(file.cpu_s) for file in posted)
    executed = [file for file in posted if not file.end]
    ratio = sum(last) / sum(file.compile_s for file in posted)
    print(
        f"{package}: {len(posted)} files, {len(executed)} executed; rounds: "
        f"{statistics.mean(len(file.cpu_s) for file in posted):.1f}, most "
        f"{max(len(file.cpu_s) for file in posted)}; CPU of the last round: median "
        f"{statistics.median(last):.3f} s, worst {max(last):.2f} s, {ratio:.1f} x compile(); "
        f"of all rounds {total:.1f} s"
    )
    for file in sorted(posted, key=lambda each: -max(each.cpu_s))[:SHOWN]:
        rounds = ", ".join(f"{cpu_s:.2f}" for cpu_s in file.cpu_s)
        print(
            f"  {file.name}: {file.modules} modules, {file.size_bytes >> 10} KiB, compile() "
            f"{file.compile_s:.2f} s; rounds {rounds} s {file.end}"
        )


if __name__ == "__main__":
    main()

"""Builds a case from a candidate: compiled, translated to NumPy, with a deterministic launch."""

import json
import re
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from compiler.abi import abi_of
from compiler.compilation import Parameter
from compiler.target import Target
from tests.gpu.oracle.candidates import Candidate, Guess
from tests.gpu.oracle.guessed_launches import GuessedLaunch, launches
from tests.gpu.oracle.watched import Nondeterministic, WatchedLaunch, watched
from tests.integration.compiler.children import ChildEnd, Children
from tests.integration.compiler.kernels import Compiled, Kernel, compile_kernel
from tests.integration.compiler.ttir_to_numpy.translated import header

ARCH = 90
COMPILER_S, RUN_S, SEARCH_S = 40, 2.0, 15.0
ATTEMPTS, GUESSES = 18, 3
ENOUGH = 64
"""Changed elements that end the search for a launch."""
MAX_BYTES = 1 << 18
"""Most bytes that a launch may change: the GPU's results travel over the network."""


class Compilers(Children):
    """Child processes with a limit of CPU time."""

    def run(self, header: dict[str, Any], body: bytes) -> ChildEnd:
        return super().run(header | {"most_cpu_s": COMPILER_S}, body)


class NoCase(Exception):
    """There is nothing to compare; the message explains why."""


@dataclass(frozen=True)
class _Found:
    guess: Guess
    text: str
    launch: dict[str, Any]
    made: WatchedLaunch
    score: float


def built(children: Compilers, candidate: Candidate, folder: Path) -> dict[str, Any]:
    """Write a candidate's case to a new folder below `folder`; return its description.

    Raises NoCase.
    """
    reasons: Counter[str] = Counter()
    found = None
    started, compiled_count = monotonic(), 0
    for guess in candidate.guesses:
        if compiled_count == GUESSES or monotonic() - started > 2 * SEARCH_S:
            break
        compiled = _compiled(children, candidate, guess, "ttir")
        if compiled.failure is not None:
            said = compiled.failure.get("diagnostics") or [compiled.failure]
            last = str(said[-1].get("message", ""))[-80:]
            reasons[f"does not compile: {last}"] += 1
            continue
        compiled_count += 1
        order = header("source", {"user.py": candidate.source}) | {
            "parameters": list(guess.signature)
        }
        ended = children.run(order, compiled.stages["source"])
        if "numpy" not in ended.stages and candidate.launch is not None:
            # its accesses are known to be right, so the GPU's result is worth knowing
            launch = launch_of(guess, candidate.launch)
            found = _Found(guess, "", launch, WatchedLaunch([], [], {"not translated"}), 0.0)
            break
        if "numpy" not in ended.stages:
            reasons[f"not translated: {(ended.last or {}).get('message', 'died')}"[:160]] += 1
            continue
        text = ended.stages["numpy"].decode()
        found = _searched(candidate, guess, text, reasons)
        if found is not None:
            break
    if found is None:
        raise NoCase("; ".join(f"{count} x {reason}" for reason, count in reasons.most_common(4)))
    compiled = _compiled(children, candidate, found.guess, "cubin")
    if compiled.failure is not None or compiled.back is None:
        raise NoCase(f"no cubin: {(compiled.failure or {}).get('slug')}")
    return _written(candidate, found, compiled, folder)


def _compiled(children: Compilers, candidate: Candidate, guess: Guess, until: str) -> Compiled:
    request = {"kernel": candidate.kernel, "files": candidate.files, "arch": ARCH, **asdict(guess)}
    return compile_kernel(
        children, Kernel(Path("user.py"), candidate.source, request), stop_after=until
    )


def _searched(
    candidate: Candidate, guess: Guess, text: str, reasons: Counter[str]
) -> _Found | None:
    axes = {int(axis) for axis in re.findall(r"program_id\((\d)\)", text)}
    best, started = None, monotonic()
    tried = (
        [candidate.launch] if candidate.launch else launches(guess, axes, candidate.seed, ATTEMPTS)
    )
    for guessed in tried:
        if monotonic() - started > SEARCH_S:
            reasons["no time left"] += 1
            break
        launch = launch_of(guess, guessed)
        try:
            made = watched(text, candidate.kernel, launch, RUN_S)
            score = 1.0 if candidate.launch else _score(made)
        except IndexError as error:
            reasons[f"leaves a buffer ({str(error)[:8]})"] += 1
            continue
        except Nondeterministic as error:
            reasons[str(error)[:60]] += 1
            continue
        except Exception as error:  # noqa: BLE001 - counted, and reported in the end
            reasons[f"{type(error).__name__}: {error}"[:120]] += 1
            continue
        if score > 0 and (best is None or score > best.score):
            best = _Found(guess, text, launch, made, score)
        if best is not None and best.score >= 1:
            break
        if score == 0:
            reasons["writes nothing that can be compared"] += 1
    return best


def _score(made: WatchedLaunch) -> float:
    """Return the value of a launch as a test: 1 is enough, 0 is worthless."""
    changed = finite = size = 0
    different = False
    for before, after in zip(made.before, made.after, strict=True):
        places = before.view(np.uint8).reshape(-1, before.itemsize) != after.view(np.uint8).reshape(
            -1, after.itemsize
        )
        at = np.flatnonzero(places.any(axis=1))
        if not at.size:
            continue
        values = after[at].astype(np.float64)
        changed += at.size
        size += at.size * after.itemsize
        finite += int(np.isfinite(values).sum())
        good = values[np.isfinite(values)]
        different |= good.size > 1 and bool((good != good[0]).any())
    if not changed or size > MAX_BYTES:
        return 0.0
    share = finite / changed
    return (min(1.0, changed / ENOUGH) * share if share > 0.9 else 0.3 * share) * (
        1.0 if different else 0.4
    )


def launch_of(guess: Guess, guessed: GuessedLaunch) -> dict[str, Any]:
    """Return grid, allocations and bound arguments as JSON."""
    allocations: list[dict[str, Any]] = []
    arguments: dict[str, Any] = {}
    for name, kind in guess.signature.items():
        if name in guessed.scalars:
            value = guessed.scalars[name]
            tagged: Any = {"float": float(value).hex()} if kind[0] in "fb" else {"int": str(value)}
            arguments[name] = {
                "kind": "scalar", "value": bool(value) if kind == "i1" else tagged, "dtype": kind
            }  # fmt: skip
        elif name in guessed.contents:
            dtype, shape = kind[1:], [guessed.elements]
            block: list[int] = []
            if kind.startswith("tensordesc"):
                dtype, _, blocks = kind[len("tensordesc<") : -2].partition("[")
                block = [int(size) for size in blocks.split(",")]
                shape = [4, 16, 256, 256][-len(block) :] if len(block) > 1 else [4096]
            elements = int(np.prod(shape))
            strides = [int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]
            allocations.append({
                "name": name, "dtype": dtype, "elements": elements, "align_bytes": 128,
                "init": guessed.contents[name], "output": True, "body": None,
            })  # fmt: skip
            base = {
                "kind": "buffer", "allocation": len(allocations) - 1, "shape": shape,
                "strides": strides, "offset": 0, "dtype": dtype, "output": True,
            }  # fmt: skip
            arguments[name] = base if not block else {
                "kind": "descriptor", "base": base, "block_shape": block, "padding": "zero"
            }  # fmt: skip
    return {"grid": list(guessed.grid), "allocations": allocations, "arguments": arguments}


def _written(
    candidate: Candidate, found: _Found, compiled: Compiled, parent: Path
) -> dict[str, Any]:
    guess = found.guess
    parameters = [
        Parameter(name=name, type=kind, role="runtime", hints=[], value=None)
        for name, kind in guess.signature.items()
    ]
    assert compiled.back is not None
    abi = abi_of(Target("cuda", ARCH, 32), parameters, compiled.back["metadata"])
    case = {
        "id": candidate.id, "origin": candidate.origin, "kernel": candidate.kernel,
        "abi": abi.to_json(), **found.launch, "guess": asdict(guess),
        "notes": sorted(found.made.notes), "score": found.score,
    }  # fmt: skip
    folder = parent / candidate.id
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kernel.cubin").write_bytes(compiled.stages["cubin"])
    (folder / "source.ttir").write_bytes(compiled.stages["source"])
    (folder / "told.py").write_text(found.text)
    request = {"source": candidate.source, "files": candidate.files}
    (folder / "request.json").write_text(json.dumps(request))
    np.savez_compressed(folder / "cpu.npz", *[one.view(np.uint8) for one in found.made.after])
    (folder / "case.json").write_text(json.dumps(case))
    return case

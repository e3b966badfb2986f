"""Requests of program benchmarks to a tritond, and the stored parts of its answers."""

import asyncio
import contextlib
import itertools
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

SAMPLES = Path(__file__).parents[1] / "kernels" / "programs"
WAIT_S = 60
UNDER_WAY = {"queued", "running"}
NEW, OLD = ({"kind": "model", "class": name} for name in ("ModelNew", "Model"))
KERNELBENCH_TOLERANCE = {"rtol": 1e-2, "atol": 1e-2}
SMALLER = (
    ("2048, 4096", "8, 64"), ("2048, 2048", "128, 128"), ("8, 32, 64, 64", "1, 32, 8, 8"),
    ("1024, 1024", "8, 64"), ("[4096]", "[64]"), ("return [1024]", "return [64]"),
    ("return [8, 64]", "return [64, 64]"),
)  # fmt: skip
"""Sizes of the samples, and smaller ones for the CPU device."""

Body = dict[str, Any]


@dataclass(frozen=True)
class PostedModel:
    """A model to evaluate: the class `name` of `source`, with `Model` of `reference`."""

    name: str
    source: str
    entry: Body
    reference: str

    def body(self, device: Any, **more: Any) -> Body:
        """Return the body of POST /v1/programs."""
        return {
            "source": self.source,
            "entry": self.entry,
            "reference": {"source": self.reference, "entry": OLD},
            "tolerance": KERNELBENCH_TOLERANCE,
            "device": device,
            **more,
        }

    def eager(self) -> Body:
        """Return the model's request to eager_models.py."""
        is_new = self.entry is NEW
        reference = self.reference if is_new else None
        return {"name": self.name, "source": self.source, "class": self.entry["class"],
                "reference": reference}  # fmt: skip


def samples(small: bool = False) -> list[PostedModel]:
    """Return the eight programs of `benchmarks/kernels/programs`."""
    models = []
    for path in sorted(SAMPLES.glob("*.py")):
        text = path.read_text()
        for size, smaller in SMALLER if small else ():
            text = text.replace(size, smaller)
        models.append(PostedModel(path.stem, text, NEW, text))
    return models


def kernelbench(folder: Path) -> list[PostedModel]:
    """Return the references of levels 1 to 3 against themselves, with mixed levels."""
    models = []
    for path in folder.glob("KernelBench/level[123]/*.py"):
        text, number = path.read_text(), int(path.stem.partition("_")[0])
        name = f"{path.parent.name}/{path.stem}"
        models.append((number * (2 if "level3" in name else 1), PostedModel(name, text, OLD, text)))
    return [
        model for _, model in sorted(models, key=lambda numbered: (numbered[0], numbered[1].name))
    ]


def pairs(folder: Path) -> list[PostedModel]:
    """Return each `<name>.py` with a `ModelNew` and its `<name>_reference.py`."""
    models = []
    for path in sorted(folder.glob("*.py")):
        reference = path.with_name(f"{path.stem}_reference.py")
        if reference.exists():
            model = PostedModel(path.stem, path.read_text(), NEW, reference.read_text())
            models.append(model)
    return models


@dataclass(frozen=True)
class Evaluated:
    """A finished program, and the time of its request."""

    model: PostedModel
    program: Body
    wall_s: float

    @property
    def outcome(self) -> str:
        """The verdict, or the reason why there is none."""
        problem = self.program.get("problem") or {}
        slug = problem.get("reason") or problem.get("slug") or problem.get("type")
        return str(self.program.get("verdict") or slug or self.program.get("title"))

    @property
    def why(self) -> str:
        """The findings of a program that did not pass."""
        problem = self.program.get("problem") or {}
        findings = self.program.get("findings") or []
        reported = [
            f"{finding['kind']} at {finding['line']}: {finding['message']}"
            for finding in findings[:2]
        ]
        text = problem.get("detail") or self.program.get("detail") or "; ".join(reported)
        return " ".join(str(text).split())[:240]

    @property
    def flags(self) -> list[str]:
        """The kinds of its flags."""
        return [flag["kind"] for flag in self.program.get("flags") or []]

    @property
    def method(self) -> str | None:
        """The timing method of the whole program."""
        return (self.program.get("timing") or {}).get("method")

    def median_us(self, of_reference: bool = False) -> float | None:
        """Return the median of the whole program, None if it was not timed."""
        timed = (self.program.get("reference") or {}) if of_reference else self.program
        timing = timed.get("timing")
        return timing["median_us"] if timing else None


class Evaluator:
    """A tritond that evaluates programs on one device."""

    def __init__(self, client: httpx.AsyncClient, device: Any) -> None:
        self._client = client
        self.device = device

    async def until_ready(self, within_s: float) -> None:
        """Wait until a program is accepted. Raises RuntimeError if none ever is."""
        end = time.monotonic() + within_s
        sample = samples(small=True)[0]
        answer: Body = {}
        while time.monotonic() < end:
            with contextlib.suppress(httpx.TransportError):
                answer = (await self.evaluate(sample)).program
            if "state" in answer:
                return
            await asyncio.sleep(0.5)
        raise RuntimeError(f"no program is accepted: {answer}")

    async def evaluate(self, model: PostedModel, **more: Any) -> Evaluated:
        """Return the evaluation of a model; `more` are further members of its request."""
        begun = time.monotonic()
        body = model.body(self.device, **more)
        posted = await self._client.post("/v1/programs", json=body, params={"wait": WAIT_S})
        program: Body = posted.json()
        while program.get("state") in UNDER_WAY:
            answer = await self._client.get(program["url"], params={"wait": WAIT_S})
            program = answer.json()
        return Evaluated(model, program, time.monotonic() - begun)

    async def all(
        self,
        models: Sequence[PostedModel],
        callers: int,
        until: float,
        seeds: Iterable[int] = itertools.repeat(42),
        **more: Any,
    ) -> AsyncIterator[Evaluated]:
        """Yield evaluations as they end, several at once; none starts after `until`."""
        waiting, ended = zip(models, seeds, strict=False), asyncio.Queue[Evaluated | None]()

        async def call() -> None:
            for model, seed in waiting:
                if time.monotonic() > until:
                    break
                await ended.put(await self.evaluate(model, seed=seed, **more))
            await ended.put(None)

        async with asyncio.TaskGroup() as group:
            for _ in range(callers):
                group.create_task(call())
            going = callers
            while going:
                evaluated = await ended.get()
                if evaluated is None:
                    going -= 1
                else:
                    yield evaluated

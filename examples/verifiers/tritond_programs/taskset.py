"""Each task: a model in torch, to be written again with Triton kernels. tritond says what it is worth.

The reward is made of the program's reward block; nothing that the model wrote runs in the trainer.
"""

import re
from pathlib import Path
from typing import Any

import tritonc
import verifiers.v1 as vf

PROMPT = """Rewrite this model with Triton kernels.

```python
{reference}
```

Answer with one Python module in a single code block. It has a class `ModelNew` that is made with the
same arguments as `Model`, holds the same parameters, and whose `forward` launches `@triton.jit`
kernels in the place of torch's operations."""
CHEATS = frozenset(
    {"no_kernel", "dead_launch", "cached_result", "constant_output", "returned_input"}
    | {"unwritten_output", "precomputed"}
)
"""Flags of programs that are worth nothing, however right their outputs are."""
_BLOCK = re.compile(r"```(?:python|py)?[ \t]*\n(.*?)```", re.DOTALL)


class ProgramData(vf.TaskData):
    """One task: the reference, a module in KernelBench's form."""

    reference: str


class ProgramTaskConfig(vf.TaskConfig):
    """How programs are evaluated; the service is that of TRITOND_URL, with TRITOND_API_KEY."""

    timeout_s: float = 60
    """Of each run."""
    compiled_reward: float = 0.1
    """For a program that is recorded and whose kernels compile, if it is not right."""
    speedup_weight: float = 0.5
    """For each time that it is faster again, where times are taken: on GPUs."""


class ProgramTask(vf.Task[ProgramData, vf.State, ProgramTaskConfig]):
    """Scores the last reply of a rollout."""

    @vf.reward(weight=1.0)
    async def program(self, trace: vf.Trace) -> float:
        """Return 1 for what is right and no cheat, more for what is faster, little for the rest."""
        source = code_of(trace.last_reply)
        if source is None:
            return 0.0
        program = await self._evaluated(source)
        trace.info["program"] = program
        reward = program["reward"]
        trace.record_metrics(
            {
                "compiled": float(reward["compiled"]),
                "correct": float(reward["correct"]),
                "flags": float(len(reward["flags"])),
            }
        )
        return worth(reward, self.config)

    async def _evaluated(self, source: str) -> dict[str, Any]:
        async with tritonc.AsyncClient() as client:
            program = await client.program(
                source,
                reference=self.data.reference,
                timeout_s=self.config.timeout_s,
                check=False,
            )
        return program.raw


def code_of(reply: str) -> str | None:
    """Return the last code block of a reply, None where there is none."""
    blocks = _BLOCK.findall(reply)
    return blocks[-1] if blocks else None


def worth(reward: dict[str, Any], config: ProgramTaskConfig) -> float:
    """Return what a reward block is worth."""
    if not reward["compiled"]:
        return 0.0
    if not reward["correct"]:
        return config.compiled_reward
    if CHEATS.intersection(reward["flags"]):
        return 0.0
    speedup = reward["speedup"] or 1.0  # null on the CPU device
    return 1.0 + config.speedup_weight * max(0.0, speedup - 1.0)


class TritondProgramsConfig(vf.TasksetConfig):
    """Which references there are."""

    folder: Path = Path("examples/programs")
    """Modules with `Model`, `get_inputs` and `get_init_inputs`, as KernelBench's levels have them."""
    pattern: str = "*_reference.py"
    """Which files of the folder are references; `**/*.py` for KernelBench."""
    task: ProgramTaskConfig = ProgramTaskConfig()


class TritondProgramsTaskset(vf.Taskset[ProgramTask, TritondProgramsConfig]):
    """A task for each reference in the folder."""

    def load(self) -> list[ProgramTask]:
        """Return the tasks, by the names of their files."""
        paths = sorted(self.config.folder.glob(self.config.pattern))
        if not paths:
            raise FileNotFoundError(f"{self.config.folder} has no {self.config.pattern}")
        return [ProgramTask(_data(path), self.config.task) for path in paths]


def _data(path: Path) -> ProgramData:
    reference = path.read_text()
    prompt = PROMPT.format(reference=reference.strip())
    return ProgramData(id=path.stem, name=path.stem, prompt=prompt, reference=reference)

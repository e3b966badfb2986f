"""Tasks: rewrite a torch model with Triton kernels. tritond evaluates the result.

The reward comes from the program's reward block. The trainer never runs the model's code.
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
    {"dead_launch", "constant_output", "returned_input", "unwritten_output", "precomputed"}
)
"""Flags of programs that get no reward, as those that are serious for the service."""
_BLOCK = re.compile(r"```(?:python|py)?[ \t]*\n(.*?)```", re.DOTALL)


class ProgramData(vf.TaskData):
    """One task: the reference, a module in KernelBench's form."""

    reference: str


class ProgramTaskConfig(vf.TaskConfig):
    """Settings of the evaluation; TRITOND_URL and TRITOND_API_KEY select the service."""

    timeout_s: float = 60
    """Time limit of each run."""
    compiled_reward: float = 0.1
    """Reward of a wrong program that can be recorded and whose kernels compile."""
    speedup_weight: float = 0.5
    """Reward for each unit of speed-up above 1, if it was timed on a GPU."""


class ProgramTask(vf.Task[ProgramData, vf.State, ProgramTaskConfig]):
    """Scores the last reply of a rollout."""

    @vf.reward(weight=1.0)
    async def program(self, trace: vf.Trace) -> float:
        """Return 1 for a correct program without cheats, more if it is faster, otherwise little.

        Raises RuntimeError if the reference failed, so that nothing was judged.
        """
        source = code_of(trace.last_reply)
        if source is None:
            return 0.0
        program = await self._evaluated(source)
        trace.info["program"] = program
        reward = program["reward"]
        if reward is None:
            raise RuntimeError(f"the reference of {self.data.name} failed: {program['url']}")
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
    """Return the last code block of a reply, None if there is none."""
    blocks = _BLOCK.findall(reply)
    return blocks[-1] if blocks else None


def worth(reward: dict[str, Any], config: ProgramTaskConfig) -> float:
    """Return the reward for a reward block."""
    if not reward["compiled"] or reward["serious"] or CHEATS.intersection(reward["flags"]):
        return 0.0
    if not reward["correct"]:
        return config.compiled_reward
    speedup = reward["speedup"] or 1.0  # null on the CPU device
    return 1.0 + config.speedup_weight * max(0.0, speedup - 1.0)


class TritondProgramsConfig(vf.TasksetConfig):
    """The references of the taskset."""

    folder: Path = Path("examples/programs")
    """Modules with `Model`, `get_inputs` and `get_init_inputs`, as in KernelBench's levels."""
    pattern: str = "*_reference.py"
    """Pattern of the reference files in the folder; `**/*.py` for KernelBench."""
    task: ProgramTaskConfig = ProgramTaskConfig()


class TritondProgramsTaskset(vf.Taskset[ProgramTask, TritondProgramsConfig]):
    """A task for each reference in the folder."""

    def load(self) -> list[ProgramTask]:
        """Return the tasks, sorted by file name."""
        paths = sorted(self.config.folder.glob(self.config.pattern))
        if not paths:
            raise FileNotFoundError(f"{self.config.folder} has no {self.config.pattern}")
        return [ProgramTask(_data(path), self.config.task) for path in paths]


def _data(path: Path) -> ProgramData:
    reference = path.read_text()
    prompt = PROMPT.format(reference=reference.strip())
    return ProgramData(id=path.stem, name=path.stem, prompt=prompt, reference=reference)

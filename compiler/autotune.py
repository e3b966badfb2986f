"""The contents of a kernel's `@triton.autotune` and `@triton.heuristics`, for exchange.

It is what executing the file for one target gave: the same file may say otherwise for another.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from compiler.diagnostic import Assumption
from compiler.messages.autotuning import HeuristicReport, TunedConfigMessage


class TunedConfig(BaseModel, TunedConfigMessage):
    """One `triton.Config`, values as a request may write them, in the order of its mapping.

    `values` are those of its mapping, `options` Triton's own (`num_warps`, ...). `unsaid` are
    keywords whose values no request can say, `sets_aside` what is not carried out: `pre_hook`,
    `ir_override`.
    """

    model_config = ConfigDict(frozen=True)


class Heuristic(BaseModel, HeuristicReport):
    """One value that `@triton.heuristics` sets: by `expression` over arguments, else `why_not`.

    `outside`: it is above the autotuner, and does not see what that chooses. `line` is 0 where
    it is not of the posted files.
    """

    model_config = ConfigDict(frozen=True)


class AutotuneReading(BaseModel):
    """The decorators of one kernel: configurations and heuristics; `line` is that of its `def`.

    `key`, `reset_to_zero` and `restore_value` name arguments; `hooks` are those that user code gave
    the autotuner, by Triton's names: none of them is called here. `source_hash` is Triton's own of
    the kernel's text.
    """

    model_config = ConfigDict(frozen=True)

    kernel: str
    line: int
    target: str
    parameters: list[str]
    is_autotuned: bool
    configs: list[TunedConfig]
    key: list[str]
    reset_to_zero: list[str]
    restore_value: list[str]
    hooks: list[str]
    heuristics: list[Heuristic]
    source_hash: str
    assumptions: list[Assumption] = Field(default_factory=list)


class TimedVariant(BaseModel):
    """A variant that was timed, with all its constexprs and options as its request has them.

    `us` is its median time and the bounds of that, in microseconds.
    """

    model_config = ConfigDict(frozen=True)

    constexprs: dict[str, Any]
    options: dict[str, Any]
    us: tuple[float, float, float]


class TunedResults(BaseModel):
    """A sweep's results for one set of arguments: the winner, and other timed variants.

    `arguments` are the values that a call passes, by name, `dtypes` torch's names of its tensors'
    types; `untyped` are tensors of a type that torch has not, `unsaid` all other arguments.
    """

    model_config = ConfigDict(frozen=True)

    winner: TimedVariant
    others: list[TimedVariant]
    arguments: dict[str, Any]
    dtypes: dict[str, str]
    untyped: list[str]
    unsaid: list[str]

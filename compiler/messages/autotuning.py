"""Orders to children about a kernel's autotuner, and their reports.

Standard library only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compiler.diagnostic import Assumption
from compiler.messages.orders import Execution, Order
from compiler.target import Target

MAX_CONFIGS = 10_000
"""The maximum number of variants in a sweep: further configurations are not reported."""
CONFIG_OPTIONS = ("num_warps", "num_ctas", "num_stages", "maxnreg")
"""Attributes of a `triton.Config` that are not parameters of the kernel."""
PRUNING_HOOKS = ("early_config_prune", "perf_model")
"""Arguments of `prune_configs_by` that leave configurations out."""


@dataclass(frozen=True, kw_only=True)
class AutotuneOrder(Execution, Order):
    """Execute a source, and ask the kernel's autotuner what it would try."""

    task = "autotune"
    profile = "front"


@dataclass(frozen=True, kw_only=True)
class TunedConfigMessage:
    """One `triton.Config`: the keywords it launches with as tagged JSON, in Triton's own order.

    `values` are those of its mapping, `options` Triton's (`num_warps`, ...). `unsaid` are keywords
    whose values are no JSON; `sets_aside` what is not carried out here (`pre_hook`, `ir_override`).
    """

    values: dict[str, Any]
    options: dict[str, Any]
    unsaid: list[str]
    sets_aside: list[str]


@dataclass(frozen=True, kw_only=True)
class HeuristicReport:
    """One entry of `@triton.heuristics`: its plain expression over arguments, or why it has none.

    `outside`: it is above the autotuner, so that it does not see what that chooses.
    """

    name: str
    line: int
    expression: str | None
    why_not: str | None
    outside: bool


@dataclass(frozen=True, kw_only=True)
class AutotuneReport:
    """The effects of a kernel's decorators at a launch.

    `line` is that of the kernel's `def`; `hooks` are those of the autotuner that user code gave it,
    by Triton's names. `configs` are cut off, `config_count` is not. `source_hash` is what Triton
    names the kernel by in the file that it caches an autotuner's results in.
    """

    kernel: str
    line: int
    parameters: list[str]
    is_autotuned: bool
    configs: list[TunedConfigMessage]
    config_count: int
    key: list[str]
    reset_to_zero: list[str]
    restore_value: list[str]
    hooks: list[str]
    heuristics: list[HeuristicReport]
    source_hash: str
    assumptions: list[Assumption]


@dataclass(frozen=True, kw_only=True)
class AutotuneCacheOrder(Order):
    """Write the file in which Triton's autotuner caches its results, and name the folder it is in.

    `configs` are all that the decorator lists, `timings` those with times; of each, `values` and
    `options` are tagged, as in a TunedConfigMessage, and `ms` is a time with bounds. `key` has the
    tagged values of the tuning key, `dtypes` torch's names of the tensors' types.
    """

    task = "autotune_cache"
    profile = "back"
    stages = frozenset({"autotune_cache"})
    kernel: str
    source_hash: str
    target: Target
    configs: Sequence[Mapping[str, Any]]
    key: Sequence[Any]
    dtypes: Sequence[str]
    timings: Sequence[Mapping[str, Any]]

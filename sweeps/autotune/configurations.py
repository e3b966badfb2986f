"""From a reading of a kernel's autotuner to the variants of a sweep: one for each configuration.

Whatever else an autotuner does than launch (hooks, pruning) is not done here; each such thing is an
assumption that the answer states.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import orjson

from compiler.autotune import AutotuneReading, TunedConfig
from compiler.diagnostic import USER_FILE, Assumption
from compiler.messages.autotuning import PRUNING_HOOKS
from compiler.rejection import FieldError, RequestRejected

AT: Final = "/space/autotune"
_HOOKS: Final = ("pre_hook", "post_hook")
_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Configurations:
    """The variants, each as an item of a space's `variants`, and what taking them assumes."""

    variants: tuple[dict[str, dict[str, Any]], ...]
    assumptions: tuple[Assumption, ...]


def configurations(reading: AutotuneReading, at: str = AT) -> Configurations:
    """Return what the autotuner tries, each once.

    Raises RequestRejected at `at` where the kernel has no autotuner, and where no configuration can
    be written as a request.
    """
    if not reading.is_autotuned:
        message = (
            f"{reading.kernel} (line {reading.line}) has no @triton.autotune; give the space as "
            "a product or as variants"
        )
        raise RequestRejected(FieldError(at, message))
    variants: dict[bytes, dict[str, dict[str, Any]]] = {}
    for config in reading.configs:
        if not config.unsaid and "ir_override" not in config.sets_aside:
            variant = variant_of(config, reading.parameters)
            variants.setdefault(orjson.dumps(variant, option=orjson.OPT_SORT_KEYS), variant)
    if not variants:
        message = f"none of the {len(reading.configs)} configurations of {reading.kernel} is usable"
        raise RequestRejected(FieldError(at, f"{message}: {'; '.join(_left_out(reading))}"))
    return Configurations(tuple(variants.values()), tuple(_assumptions(reading)))


def variant_of(config: TunedConfig, parameters: list[str]) -> dict[str, dict[str, Any]]:
    """Return what a configuration changes: parameters are constexprs, all else options."""
    own = {name: value for name, value in config.values.items() if name in parameters}
    others = {name: value for name, value in config.values.items() if name not in parameters}
    return {"constexprs": own, "options": {**config.options, **others}}


def _assumptions(reading: AutotuneReading) -> Iterator[Assumption]:
    yield from reading.assumptions
    for message in (*_left_out(reading), *_not_done(reading)):
        yield Assumption(USER_FILE, reading.line, message)


def _left_out(reading: AutotuneReading) -> Iterator[str]:
    """Yield why configurations are no variants."""
    for index, config in enumerate(reading.configs[:_SHOWN]):
        if config.unsaid:
            names = ", ".join(config.unsaid)
            yield f"configuration {index} is left out: no request can hold its value of {names}"
    more = sum(1 for config in reading.configs[_SHOWN:] if config.unsaid)
    if more:
        yield f"{more} more configurations are left out, for values that no request can hold"
    overriding = sum("ir_override" in config.sets_aside for config in reading.configs)
    if overriding:
        yield f"{overriding} configurations are left out: their ir_override names a file elsewhere"


def _not_done(reading: AutotuneReading) -> Iterator[str]:
    """Yield what an autotuner would do that a sweep does not."""
    pruning = [hook for hook in PRUNING_HOOKS if hook in reading.hooks]
    if pruning:
        yield (
            f"prune_configs_by is ignored ({', '.join(pruning)}): all configurations are "
            "variants, which it may leave out"
        )
    hooked = sum("pre_hook" in config.sets_aside for config in reading.configs)
    if hooked:
        yield (
            f"the pre_hook of {hooked} configurations is not run: the arguments that it "
            "changes (such as the block shape of a tensor descriptor) stay as posted"
        )
    if hooks := [hook for hook in _HOOKS if hook in reading.hooks]:
        yield f"the autotuner's {' and '.join(hooks)} are not run"
    for what, names in (
        ("reset_to_zero", reading.reset_to_zero),
        ("restore_value", reading.restore_value),
    ):
        if names:
            yield (
                f"{what} ({', '.join(names)}) is not needed: each variant is launched on separate "
                "buffers, as the request initialises them"
            )

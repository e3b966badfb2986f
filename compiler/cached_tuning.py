"""Predicts the key under which Triton's autotuner looks a result up in its cache, if any.

It follows `Autotuner.run` and `check_disk_cache` of Triton 3.6 to 3.9: what these put into the key
must be known for certain, or nothing is written.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from compiler.autotune import AutotuneReading, TimedVariant, TunedResults
from compiler.constexpr import canonical_value
from compiler.messages.autotuning import CONFIG_OPTIONS, PRUNING_HOOKS, AutotuneCacheOrder
from compiler.target import parse_target

_ELSE: Final = "take the winners as `triton-config`"


class NotCacheable(Exception):
    """Triton would not find, or not read, such a file; the message explains why, and what to do."""


def autotune_cache_order(
    reading: AutotuneReading, results: TunedResults, resolved: Mapping[str, Any]
) -> AutotuneCacheOrder:
    """Return the data that a child needs to write the file.

    `resolved` are all options that the winner was compiled with. Raises NotCacheable.
    """
    for why in _obstacles(reading):
        raise NotCacheable(f"{reading.kernel} (line {reading.line}): {why}; {_ELSE}")
    if results.untyped:
        message = f"torch has no type for {', '.join(results.untyped)}, which would be in the key"
        raise NotCacheable(f"{reading.kernel} (line {reading.line}): {message}; {_ELSE}")
    winner = _config(reading, results.winner, resolved)
    if winner is None:
        named = ", ".join(_configured(reading))
        message = f"the winner lacks some of {named}, which its configurations set"
        raise NotCacheable(f"{reading.kernel} (line {reading.line}): {message}; {_ELSE}")
    return AutotuneCacheOrder(
        kernel=reading.kernel,
        source_hash=reading.source_hash,
        target=parse_target(reading.target),
        configs=[
            {"values": _tagged(config.values), "options": _tagged(config.options)}
            for config in reading.configs
        ],
        key=list(_key(reading, results)),
        dtypes=[results.dtypes[name] for name in reading.parameters if name in results.dtypes],
        timings=[
            winner | {"ms": _ms(results.winner)},
            *_slower(reading, results, resolved),
        ],
    )


def _obstacles(reading: AutotuneReading) -> Iterator[str]:
    if not reading.is_autotuned:
        yield "it has no @triton.autotune that would read a cache"
    elif len(reading.configs) == 1:
        yield "it has one configuration, which Triton takes without looking into any cache"
    for index, config in enumerate(reading.configs):
        if "pre_hook" in config.sets_aside:
            yield f"configuration {index} has a pre_hook, with which Triton reads no cache"
        if config.unsaid:
            names = ", ".join(config.unsaid)
            yield f"configuration {index} has values of {names} without a predictable text"
    if pruning := [hook for hook in PRUNING_HOOKS if hook in reading.hooks]:
        yield (
            f"prune_configs_by ({', '.join(pruning)}) decides at the launch which configurations "
            "are in the key"
        )


def _configured(reading: AutotuneReading) -> list[str]:
    return list(dict.fromkeys(name for config in reading.configs for name in config.values))


def _computed(reading: AutotuneReading) -> set[str]:
    """Return the names that heuristics set after the autotuner has looked at the arguments."""
    return {item.name for item in reading.heuristics if not item.outside}


def _key(reading: AutotuneReading, results: TunedResults) -> Iterator[Any]:
    """Yield the tagged values of the tuning key: those of its names that a call passes."""
    set_later = {*_configured(reading), *_computed(reading)}
    for name in reading.key:
        if name in set_later:
            continue
        if name in results.dtypes or name in results.unsaid:
            message = f"its key has {name}, whose text in the key is not predictable"
            raise NotCacheable(f"{reading.kernel} (line {reading.line}): {message}; {_ELSE}")
        if name in results.arguments:
            yield canonical_value(results.arguments[name], "")


def _config(
    reading: AutotuneReading, variant: TimedVariant, resolved: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return the configuration that a variant is, tagged; None where it has too little.

    Raises NotCacheable for a value that Triton cannot read back.
    """
    settings = {**variant.options, **variant.constexprs}
    names = _configured(reading)
    if not settings.keys() >= set(names):
        return None
    values = _tagged({name: settings[name] for name in names})
    for name, value in values.items():
        if isinstance(value, dict) and not value.keys() <= {"int", "float"}:
            message = f"{name} is not a number, string or boolean, and Triton's file is JSON"
            raise NotCacheable(f"{reading.kernel} (line {reading.line}): {message}; {_ELSE}")
    options = {name: variant.options.get(name, resolved.get(name)) for name in CONFIG_OPTIONS}
    options = {name: value for name, value in options.items() if value is not None}
    return {"values": values, "options": _tagged(options)}


def _slower(
    reading: AutotuneReading, results: TunedResults, resolved: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield the other configurations with their times: those that leave the winner the first.

    A time of an early round, with few repeats, may be below that of the winner.
    """
    taken = {name for name in CONFIG_OPTIONS if name not in results.winner.options}
    fixed = _beside(reading, results.winner)
    for variant in results.others:
        if taken & variant.options.keys() or _beside(reading, variant) != fixed:
            continue
        config = _config(reading, variant, resolved)
        if config is not None and _ms(variant) > _ms(results.winner):
            yield config | {"ms": _ms(variant)}


def _beside(reading: AutotuneReading, variant: TimedVariant) -> dict[str, Any]:
    """Return the arguments of a variant outside of its configuration: those of the call itself."""
    own = {*_configured(reading), *_computed(reading), *CONFIG_OPTIONS}
    return {k: v for k, v in {**variant.options, **variant.constexprs}.items() if k not in own}


def _ms(variant: TimedVariant) -> list[float]:
    """Return a variant's times as Triton's benchmark does: in milliseconds, the median first."""
    return [round(us / 1000, 9) for us in variant.us]


def _tagged(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: canonical_value(value, "") for name, value in values.items()}

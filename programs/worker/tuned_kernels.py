"""Warnings about autotuned kernels on the CPU device: they name the configurations that ran."""

from collections.abc import Mapping
from types import MappingProxyType

from programs.tape.schema import LaunchVariant, Tape, TapeKernel, TapeLaunch

_MOST_WARNINGS = 100
_MOST_SHOWN_CHARS = 200
_NOTHING: Mapping[int, set[int]] = MappingProxyType({})
_UNSAID_OPTIONS = frozenset({"num_ctas"})


def tuned_warnings(
    tape: Tape, numbers: Mapping[int, int], further: Mapping[int, set[int]] = _NOTHING
) -> list[str]:
    """Return a warning for each autotuned kernel; `numbers` are the variants that ran, by op.

    `further` ones ran in replays of their own.
    """
    also: dict[str, set[int]] = {}
    for index, tried in further.items():
        launch = tape.ops[index]
        assert isinstance(launch, TapeLaunch)
        also.setdefault(launch.kernel, set()).update(tried)
    ran: dict[str, dict[int, LaunchVariant]] = {}
    most: dict[str, int] = {}
    for index, number in numbers.items():
        launch = tape.ops[index]
        assert isinstance(launch, TapeLaunch)
        ran.setdefault(launch.kernel, {}).setdefault(number, launch.variants[number])
        most[launch.kernel] = max(len(launch.variants), most.get(launch.kernel, 0))
    names = list(most)[:_MOST_WARNINGS]
    return [
        _warning(tape.kernels[name], ran[name], also.get(name, set()), most[name]) for name in names
    ]


def _warning(
    kernel: TapeKernel, variants: Mapping[int, LaunchVariant], also: set[int], count: int
) -> str:
    said = f"{kernel.name} ({kernel.file}:{kernel.line}) is autotuned: "
    ran = list(variants.values())
    first, last = variant_text(ran[0]), variant_text(ran[-1])
    if len(ran) > 1:
        said += f"the first call ran {first}, the second {last}."
    else:
        said += f"only {first} ran."
    if further := len(also - variants.keys()):
        said += f" Of its other configurations, {further} ran in replays of the first call."
    left = count - len(variants.keys() | also)
    if left <= 0:
        return said
    return (
        f"{said} {left} of its {count} configurations did not run, and a GPU may choose one of "
        "these. To judge one here, list it first in the autotuner's configs."
    )


def variant_text(variant: LaunchVariant) -> str:
    """Return the constants and options of a configuration for a message."""
    said = {**variant.constexprs, **variant.options}
    words = [f"{name}={value}" for name, value in said.items() if name not in _UNSAID_OPTIONS]
    text = ", ".join(words) or "its own"
    return text if len(text) <= _MOST_SHOWN_CHARS else text[: _MOST_SHOWN_CHARS - 3] + "..."

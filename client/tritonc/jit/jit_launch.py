"""A launch in Triton's own terms: a jit function, tensors, and a grid that may be a function.

The user's own Python (grids, heuristics) runs in this process, as in `kernel[grid](...)`.
This package does not need Triton and torch.
"""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tritonc.jit.jit_source import package_of_function, text_of
from tritonc.packages.package import Package

_LAYERS = 8  # of decorators; no kernel has more


@dataclass(slots=True)
class JitLaunch:
    """A launch of `function`, split into passed arguments and fixed values."""

    function: Any
    arguments: dict[str, Any]
    constexprs: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def source(self) -> dict[str, Any]:
        """The compile source: the text of the function's file, and its name in it.

        Raises OSError for a kernel defined in an interactive interpreter.
        """
        return {"source": text_of(self.function), "kernel": self.function.fn.__name__}

    def grid(self, grid: Any) -> list[int | str]:
        """Return the grid; a function is called, as Triton does.

        Raises TypeError if it is not a grid.
        """
        if callable(grid):
            grid = grid({**self.arguments, **self.constexprs, **self.options})
        if isinstance(grid, int | str):
            grid = (grid,)
        if not isinstance(grid, Sequence):
            raise TypeError(f"{grid!r} is not a grid; pass (programs,) or a function for it")
        return [extent if isinstance(extent, str) else int(extent) for extent in grid]


def is_jit(source: Any) -> bool:
    """Return True for a function under `@triton.jit`, with or without other decorators."""
    return hasattr(source, "fn")


def package_of(source: Any) -> Package:
    """Return the package of a function under `@triton.jit`. Raises OSError as `text_of`."""
    return package_of_function(_undecorated(source)[0])


def jit_launch(
    source: Any,
    arguments: Mapping[str, Any] | Sequence[Any],
    constexprs: Mapping[str, Any] | None,
    options: Mapping[str, Any] | None,
) -> JitLaunch:
    """Split the launch of a jit function into its parts.

    `arguments` are by position or by name, and may include constexprs and options such as
    `num_warps`. `@triton.heuristics` are evaluated, and the only configuration of an
    `@triton.autotune` is used. Raises TypeError if there are several configurations and none is
    chosen, and for more arguments than parameters.
    """
    function, configs, heuristics = _undecorated(source)
    parameters = inspect.signature(function.fn).parameters
    by_name = _named(function.fn.__name__, list(parameters), arguments)
    named = {**by_name, **dict(constexprs or {})}
    fixed = {n for n, parameter in parameters.items() if _is_constexpr(parameter.annotation)}
    fixed |= set(constexprs or {})
    named, chosen = _configured(function.fn.__name__, configs, named)
    for name, heuristic in heuristics.items():
        named[name] = heuristic(dict(named))
        fixed.add(name)
    launch = JitLaunch(function, {}, options={**chosen, **dict(options or {})})
    for name, value in named.items():
        if name not in parameters:
            launch.options.setdefault(name, value)
        elif name in fixed:
            launch.constexprs[name] = value
        else:
            launch.arguments[name] = value
    return launch


def _undecorated(source: Any) -> tuple[Any, Sequence[Any], dict[str, Any]]:
    """Return the jit function, and the configurations and heuristics of its decorators."""
    configs: Sequence[Any] = ()
    heuristics: dict[str, Any] = {}
    for _ in range(_LAYERS):
        if not hasattr(source.fn, "fn"):
            return source, configs, heuristics
        configs = getattr(source, "configs", None) or configs
        heuristics |= getattr(source, "values", None) or {}
        source = source.fn
    raise TypeError(f"{source!r} is not a function under @triton.jit")


def _named(
    kernel: str, parameters: Sequence[str], arguments: Mapping[str, Any] | Sequence[Any]
) -> dict[str, Any]:
    if isinstance(arguments, Mapping):
        return dict(arguments)
    if len(arguments) > len(parameters):
        raise TypeError(f"{kernel} takes {len(parameters)} arguments, not {len(arguments)}")
    return dict(zip(parameters, arguments, strict=False))


def _configured(
    kernel: str, configs: Sequence[Any], named: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments completed by the configuration, and its options."""
    if not configs:
        return dict(named), {}
    missing = {name for config in configs for name in config.kwargs} - named.keys()
    if len(configs) > 1 and missing:
        raise TypeError(
            f"{kernel} has {len(configs)} configurations of @triton.autotune; choose one by giving "
            f"{', '.join(sorted(missing))}, or try them all with Client.sweep(..., "
            '{"autotune": True})'
        )
    if len(configs) > 1:
        return dict(named), {}
    known = ("num_warps", "num_stages", "num_ctas", "maxnreg")
    chosen = {name: getattr(configs[0], name, None) for name in known}
    chosen = {n: value for n, value in chosen.items() if value is not None and n not in named}
    return {**configs[0].kwargs, **named}, chosen


def _is_constexpr(annotation: Any) -> bool:
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return str(name).rpartition(".")[2] == "constexpr"

"""The tasks that a child can run, and a zygote's preparation before it forks.

Most autotuned kernels make their list of configurations by code, which only executing it shows. So
`autotune` runs the user's Python, as `front` does, but no function that would act at a launch.
"""

import gc
import hashlib
import json
import linecache
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from triton import knobs
from triton.runtime.autotuner import Autotuner, Config, Heuristics

from compiler.back import contexts, triton_api
from compiler.back.back import back
from compiler.back.derive_tasks import (
    derived_text,
    diff,
    export,
    hot_lines,
    instructions,
    lines,
    log,
)
from compiler.back.describe import describe, facts
from compiler.back.passes import passes
from compiler.back.posted_ir import lower_posted_ir
from compiler.back.triton_cache import triton_cache
from compiler.back.type_layouts import layouts
from compiler.diagnostic import USER_FILE, Failure
from compiler.explain.task import explain
from compiler.front import ast_source, module, standard_library, triton_knobs
from compiler.front.ast_source import decode
from compiler.front.cache_key import cache_key
from compiler.front.diagnosis import module_errors
from compiler.front.front import front
from compiler.front.heuristic_text import NotPlain, place_of, plain_expression
from compiler.front.jit_function import load_kernel, parameters, unwrap
from compiler.front.module import Loaded
from compiler.front.script.recorded_launches import launches
from compiler.front.standard_library import PRELOADED, preload
from compiler.front.stubs import driver_stub, torch_stub, triton_modules
from compiler.front.stubs.triton_modules import absence
from compiler.messages import autotuning, orders
from compiler.messages.autotuning import (
    CONFIG_OPTIONS,
    MAX_CONFIGS,
    PRUNING_HOOKS,
    AutotuneCacheOrder,
    AutotuneOrder,
    AutotuneReport,
    HeuristicReport,
    TunedConfigMessage,
)
from compiler.messages.orders import BackOrder, FrontOrder, ReadOrder
from compiler.messages.reports import FrontReport
from compiler.messages.script_launches import LaunchesOrder
from compiler.messages.wire import Send, Task, task_of
from compiler.reading.read_source import read_source
from compiler.target import STANDARD_TARGET, Target, common_targets, parse_target
from compiler.ttir_to_numpy.task import numpy

_MAX_LAYERS = 10
_SET_ASIDE = ("pre_hook", "ir_override")
_MAX_NAME = 150
"""Length of the kernel's name in the file's name, as Triton truncates it."""


def autotune(order: AutotuneOrder, body: bytes, send: Send) -> AutotuneReport:
    """Return the effects of the kernel's decorators at a launch.

    Raises `Failure`: as loading the source does, and for two autotuners on one kernel.
    """
    del send
    loaded, function = load_kernel(order, body.decode())
    _check_complete(loaded, function, order)
    layers = _layers(loaded, function, order.kernel)
    tuner = _only_tuner(layers, function)
    configs = list(tuner.configs) if tuner is not None else []
    return AutotuneReport(
        kernel=function.__name__,
        line=triton_api.definition_line(function),
        parameters=list(function.arg_names),
        is_autotuned=tuner is not None,
        configs=[_config(config) for config in configs[:MAX_CONFIGS]],
        config_count=len(configs),
        key=_names(tuner, "keys"),
        reset_to_zero=_names(tuner, "reset_to_zero"),
        restore_value=_names(tuner, "restore_value"),
        hooks=list(_hooks(tuner)),
        heuristics=list(_heuristics(layers, tuner)),
        source_hash=str(function.cache_key),
        assumptions=loaded.assumptions.made,
    )


def _check_complete(loaded: Loaded, function: Any, order: AutotuneOrder) -> None:
    """Raise `Failure` for a kernel whose tuner was left out: its configurations are not known."""
    modules = loaded.modules_lacked_by(function)
    if not modules:
        return
    message = f"the decorators of {function.__name__} need {' or '.join(modules)}, which is missing"
    missing = Failure("missing_module", "frontend", message, module_errors.of_assumptions(loaded))
    missing.needs = modules if order.module is None else []
    raise missing


def _layers(loaded: Loaded, function: Any, name: str | None) -> list[Any]:
    """Return the autotuners and heuristics around `function`, the outermost first."""
    namespace = vars(loaded.module)
    values: Iterable[Any] = [namespace.get(name or ""), *namespace.values()]
    if name is not None and "." in name:
        owner, _, attribute = name.partition(".")
        values = [getattr(namespace.get(owner), attribute, None)]
    for value in values:
        if unwrap(value) is function and value is not function:
            return list(_around(value))
    return []


def _around(value: Any) -> Iterator[Any]:
    for _ in range(_MAX_LAYERS):
        if isinstance(value, (Autotuner, Heuristics)):
            yield value
        if not hasattr(value, "fn") or isinstance(value, triton_api.JITFunction):
            return
        value = value.fn


def _only_tuner(layers: Sequence[Any], function: Any) -> Autotuner | None:
    tuners = [layer for layer in layers if isinstance(layer, Autotuner)]
    if len(tuners) > 1:
        message = (
            f"{function.__name__} has {len(tuners)} @triton.autotune, whose "
            "configurations cannot be combined; keep one"
        )
        raise Failure("compile_error", "frontend", message)
    return tuners[0] if tuners else None


def _config(config: Any) -> TunedConfigMessage:
    if not isinstance(config, Config):
        message = f"@triton.autotune has a {type(config).__name__} among its configurations"
        raise Failure("compile_error", "frontend", message)
    values = {str(name): ast_source.encode(value) for name, value in config.kwargs.items()}
    options = {name: getattr(config, name, None) for name in CONFIG_OPTIONS}
    plain = {name: value for name, value in values.items() if not _is_object(value)}
    return TunedConfigMessage(
        values=plain,
        options={name: ast_source.encode(v) for name, v in options.items() if v is not None},
        unsaid=[name for name in values if name not in plain],
        sets_aside=[name for name in _SET_ASIDE if getattr(config, name, None) is not None],
    )


def _is_object(value: Any) -> bool:
    """Return whether tagged JSON is of something that only its `repr` is known of."""
    if isinstance(value, dict):
        return "object" in value or any(map(_is_object, value.get("tuple", ())))
    return False


def _names(tuner: Autotuner | None, attribute: str) -> list[str]:
    return [str(name) for name in getattr(tuner, attribute, None) or []]


def _hooks(tuner: Autotuner | None) -> Iterator[str]:
    """Yield the names of the hooks that user code gave the autotuner."""
    if tuner is None:
        return
    for name in ("pre_hook", "post_hook"):
        if getattr(tuner, f"user_defined_{name}", False):
            yield name
    for name in PRUNING_HOOKS:
        if getattr(tuner, name, None) is not None:
            yield name


def _heuristics(layers: Sequence[Any], tuner: Autotuner | None) -> Iterator[HeuristicReport]:
    """Yield the heuristics in the order in which a launch evaluates them."""
    inside = tuner is None
    for layer in layers:
        inside = inside or layer is tuner
        if not isinstance(layer, Heuristics):
            continue
        for name, function in layer.values.items():
            expression = why_not = None
            try:
                expression = plain_expression(function)
            except NotPlain as refused:
                why_not = str(refused)
            file, line = place_of(function)
            if file != USER_FILE and why_not is not None:
                why_not = f"{why_not} ({file})"
            yield HeuristicReport(
                name=str(name),
                line=line,
                expression=expression,
                why_not=why_not,
                outside=not inside,
            )


# The file that `@triton.autotune(cache_results=True)` loads elsewhere.
#
# Triton names the folder of that file by a hash over texts: of itself, of its back end for the
# target, of the kernel, of the tuning key and of all configurations. This Triton makes these texts
# by its own classes; no user Python runs here.


def autotune_cache(order: AutotuneCacheOrder, body: bytes, send: Send) -> None:
    """Send `{"folder", "file", "text"}`: the file, and the folder of Triton's cache it belongs in.

    Raises `Failure` (`not_derivable`) for a configuration that has another text elsewhere.
    """
    del body
    configs = [_stored_config(item) for item in order.configs]
    tuning_key = (*(_value(item) for item in order.key), *order.dtypes)
    backend = triton_api.make_backend(triton_api.target_of(order.target))
    digest = _cache_digest(order.source_hash, backend, tuning_key, configs)
    timings = [(vars(_stored_config(item)), item["ms"]) for item in order.timings]
    written = {
        "folder": triton_api.cache_folder(digest),
        "file": f"{order.kernel[:_MAX_NAME]}.autotune.json",
        "text": json.dumps({"key": tuning_key, "configs_timings": timings}, default=str),
    }
    send({"kind": "stage", "stage": "autotune_cache", "ms": 0.0}, json.dumps(written).encode())


def _cache_digest(
    source_hash: str, backend: Any, tuning_key: tuple[Any, ...], configs: list[Config]
) -> str:
    """Return the hash that `Autotuner.check_disk_cache` makes, no variable being set."""
    texts = [
        triton_api.triton_key(),
        backend.hash(),
        source_hash,
        str(sorted({}.items())),
        str(tuning_key),
        *map(str, configs),
    ]
    return hashlib.sha256("-".join(texts).encode()).hexdigest()


def _stored_config(item: Mapping[str, Any]) -> Config:
    values = {name: _value(value) for name, value in item["values"].items()}
    options = {name: _value(value) for name, value in item["options"].items()}
    return Config(values, **options)


def _value(tagged: Any) -> Any:
    def function(name: str) -> Any:
        message = (
            f"the configurations name the function {name}, whose text in Triton's key depends on "
            "the module that it is imported as"
        )
        raise Failure("not_derivable", "autotune_cache", message)

    return decode(tagged, function)


__all__ = ["TASKS", "forget", "prewarm", "warm_up"]

TASKS: dict[str, Task] = dict(
    [
        task_of(orders.ReadOrder, read_source),
        task_of(orders.FrontOrder, front),
        task_of(orders.ParametersOrder, parameters),
        task_of(autotuning.AutotuneOrder, autotune),
        task_of(LaunchesOrder, launches),
        task_of(autotuning.AutotuneCacheOrder, autotune_cache),
        task_of(orders.BackOrder, back),
        task_of(orders.PostedOrder, lower_posted_ir),
        task_of(orders.DescribeOrder, describe),
        task_of(orders.DerivedTextOrder, derived_text),
        task_of(orders.LinesOrder, lines),
        task_of(orders.InstructionsOrder, instructions),
        task_of(orders.ExplanationOrder, explain),
        task_of(orders.DiffOrder, diff),
        task_of(orders.HotLinesOrder, hot_lines),
        task_of(orders.LogOrder, log),
        task_of(orders.PassesOrder, passes),
        task_of(orders.LayoutsOrder, layouts),
        task_of(orders.NumpyOrder, numpy),
        task_of(orders.ExportOrder, export),
        task_of(orders.CacheKeyOrder, cache_key),
        task_of(orders.TritonCacheOrder, triton_cache),
    ]
)
_caches: list[Any] = []
"""The `lru_cache`s of our modules: their content comes from user texts."""


_SOURCE = b"""import triton
import triton.language as tl

@triton.jit
def twice(x):
    return x + x

@triton.jit
def warm(x_ptr, n, BLOCK: tl.constexpr = 64):
    total = tl.zeros((BLOCK,), tl.float32)
    for i in range(n):
        total += twice(tl.load(x_ptr + tl.arange(0, BLOCK)))
    tl.store(x_ptr + tl.arange(0, BLOCK), total + tl.sum(total))
"""
_TARGET = parse_target(STANDARD_TARGET)
_OPTIONS = {"enable_fp_fusion": True}


def forget() -> None:
    """Empty every cache that our tasks or the standard library's reader of texts may fill."""
    for cache in _caches:
        cache.cache_clear()
    linecache.clearcache()


def _found_caches() -> Iterator[Any]:
    for name, loaded in list(sys.modules.items()):
        if name.startswith("compiler."):
            things = list(vars(loaded).values())
            yield from (thing for thing in things if hasattr(thing, "cache_clear"))


def warm_up() -> None:
    """Import all that a child may need and run one compilation of every kind.

    Starts ptxas twice for its version.

    To be called once in a zygote, before it forks; leaves no thread and no file behind.
    """
    contexts.disable_reproducers()
    with absence(torch_stub.LIBRARY):
        preload(PRELOADED)
    standard_library.keep()
    for tool in (knobs.nvidia.ptxas, knobs.nvidia.ptxas_blackwell):
        tool.version.strip()
    facts()
    triton_knobs.initial_state()
    triton_api.load_libraries()
    prewarm("parse")
    for target in common_targets():
        _compile(target, target.stages[-1])
    for target in common_targets():  # afterwards, since compiling takes the context
        _prepare_context(target)
    module.forget_earlier()
    _caches[:] = _found_caches()
    driver_stub.forget()
    triton_api.forget_files()
    triton_modules.keep("triton")
    triton_modules.keep_texts("triton.language")
    gc.collect()


def prewarm(profile: str) -> None:
    """Run a tiny task of `profile`'s kind (parse, front, back) to take its page faults early."""
    if profile == "parse":
        read_source(ReadOrder(), _SOURCE)
    elif profile == "front":
        _front(_TARGET)
    else:
        _compile(_TARGET, "ptx")
    if profile != "parse":
        _prepare_context(_TARGET)


def _prepare_context(target: Target) -> None:
    contexts.prepare(triton_api.make_backend(triton_api.target_of(target)))


def _front(target: Target) -> tuple[FrontReport, bytes]:
    artifacts: dict[str, bytes] = {}

    def keep(header: dict[str, Any], body: bytes) -> None:
        artifacts[header["stage"]] = body

    order = FrontOrder(
        kernel="warm",
        signature={"x_ptr": "*fp32", "n": "i32"},
        constexprs={},
        hints={"x_ptr": ["divisible_by_16"]},
        options=_OPTIONS,
        target=target,
    )
    return front(order, _SOURCE, keep), artifacts["ttir"]


def _compile(target: Target, stop_after: str) -> None:
    made, ttir = _front(target)
    order = BackOrder(
        locations=made.locations, options=_OPTIONS, target=target, stop_after=stop_after
    )
    back(order, ttir, lambda *_: None)

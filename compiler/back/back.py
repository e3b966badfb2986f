"""The task that lowers TTIR to machine code.

Never runs user Python; sends each stage as soon as it is made.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from compiler.back import (
    amdgcn,
    contexts,
    failing_operation,
    ir_module,
    locations,
    mlir_log,
    ptxas,
    tool_process,
    triton_api,
)
from compiler.diagnostic import Diagnostic, Failure, diagnostic
from compiler.messages.orders import BackOrder
from compiler.messages.reports import BackReport, BlockLocations, Lowered
from compiler.messages.wire import Send

METADATA = (
    "name", "num_warps", "num_ctas", "num_stages", "warp_size", "maxnreg", "shared", "tmem_size",
    "global_scratch_size", "global_scratch_align", "profile_scratch_size", "profile_scratch_align",
    "tensordesc_meta", "launch_cooperative_grid", "launch_pdl",
)  # fmt: skip


@dataclass
class _Lowering:
    """One module on its way down, and what has been learnt of it."""

    backend: Any
    options: Any
    language: str
    text: str
    """The text of the last module that was MLIR."""
    stages: dict[str, Callable[..., Any]]
    metadata: dict[str, Any]
    send: Send
    sources: dict[str, str]
    timings_ms: dict[str, float] = field(default_factory=dict)
    resources: dict[str, int] | None = None
    parameter_sizes_bytes: list[int] | None = None
    facts: dict[str, Lowered] = field(default_factory=dict)

    def note(self, stage: str) -> None:
        """Keep the facts known now: all that a lowering reports that ends with `stage`."""
        known = {name: self.metadata.get(name) for name in METADATA}
        metadata = known | {"parameter_sizes_bytes": self.parameter_sizes_bytes}
        self.facts[stage] = Lowered(metadata=metadata, resources=self.resources)

    def lower(self, name: str, module: Any) -> Any:
        """Run one stage, send its artifact and return it. Raises `Failure`."""
        started = perf_counter()
        try:
            made = self._make(name, module)
            artifact = made if isinstance(made, bytes) else str(made).encode()
        except (Failure, MemoryError):
            raise
        except Exception as error:
            raise _failure(name, error, failing_operation.located(self._failed(name))) from error
        self.timings_ms[name] = spent_ms(started)
        if name in failing_operation.MLIR_STAGES:
            self.text = artifact.decode()
        if name == "ptx":
            self.parameter_sizes_bytes = parameter_sizes_bytes(str(made))
        elif name == "amdgcn":
            self.parameter_sizes_bytes = amdgcn.parameter_sizes_bytes(str(made))
            self.resources = amdgcn.resources(str(made))
        self.send({"kind": "stage", "stage": name, "ms": self.timings_ms[name]}, artifact)
        return made

    def _failed(self, name: str) -> failing_operation.FailedStage:
        """Describe the stage that failed, for the search of its cause."""
        unchanged = dict(vars(self.options))

        def lower(module: Any, changes: Mapping[str, Any]) -> None:
            options = self.backend.parse_options({**unchanged, **changes})
            stages = triton_api.stages_of(self.backend, options, self.language)
            stages[name](module, self.metadata | vars(options))

        return failing_operation.FailedStage(
            name=name,
            before=self.text,
            options=unchanged,
            sources=self.sources,
            parse=lambda text: locations.parse(text, contexts.new_context(self.backend)),
            lower=lower,
        )

    def _make(self, name: str, module: Any) -> Any:
        match name:
            case "cubin":
                return self._assemble(module)
            case "hsaco":
                return amdgcn.assemble(module, self.stages[name], self.metadata)
            case "ptx" | "amdgcn":
                with tool_process.exhaust_descriptors():
                    return self.stages[name](module, self.metadata)
        return self.stages[name](module, self.metadata)

    def _assemble(self, ptx: str) -> bytes:
        assembled = ptxas.assemble(ptx, self.stages["cubin"], self.sources)
        self.resources = assembled.resources
        return assembled.cubin


def back(order: BackOrder, body: bytes, send: Send) -> BackReport:
    """Lower the IR text `body`, sending every artifact on the way. Raises `Failure`."""
    language, text = order.language, body.decode()
    ir_module.check_size(text, language, order.ir_bounds)
    backend = triton_api.make_backend(triton_api.target_of(order.target))
    context = contexts.new_context(backend)
    started = perf_counter()
    module = _parse(text, context, language, order.locations)
    return lowered(module, text, backend, order, send, spent_ms(started))


def lowered(
    module: Any, text: str, backend: Any, order: BackOrder, send: Send, parse_ms: float
) -> BackReport:
    """Lower a module that was parsed from `text` as `order` asks. Raises `Failure`.

    The facts of the report are, by stage, those that ending there would have given.
    """
    language, files = order.language, order.files
    try:
        options = backend.parse_options({**order.options} | ir_module.options_of(module, language))
    except AssertionError as error:  # how Triton refuses three warps, for example
        message = f"Triton refuses the module's attributes: {error}"
        raise Failure(
            "compile_error", language, message, [diagnostic("error", language, message)]
        ) from error
    stages = triton_api.stages_of(backend, options, language)
    metadata = {"target": backend.target, **vars(options)}
    sources = {f"/kernel/{path}": files[path] for path in files}
    lowering = _Lowering(backend, options, language, text, stages, metadata, send, sources)
    lowering.timings_ms["parse"] = parse_ms
    lowering.note(language)
    with contexts.without_reproducers():
        for name in _names_of(list(stages), order):
            module = lowering.lower(name, module)
            lowering.note(name)
    return BackReport(facts=lowering.facts, timings_ms=lowering.timings_ms)


def parameter_sizes_bytes(ptx: str) -> list[int]:
    """Return the sizes of the entry's parameters, in order."""
    entry = ptx.partition(".entry")[2].partition(")")[0]
    return [
        int(array) if array else int(bits) // 8
        for bits, array in re.findall(
            r"\.param\b.*?\.[busf](\d+)\b.*?(?:\[(\d+)\])?,?$", entry, re.MULTILINE
        )
    ]


def spent_ms(started: float) -> float:
    """Return the milliseconds since `started` (of `perf_counter`), to the microsecond."""
    return round((perf_counter() - started) * 1000, 3)


def _parse(text: str, context: Any, language: str, places: BlockLocations | None) -> Any:
    try:
        module = locations.parse(text, context)
        if places is not None:
            locations.restore(module, context, places)
    except (RuntimeError, ValueError) as error:
        raise _failure(language, error) from error
    return module


def _names_of(names: list[str], order: BackOrder) -> list[str]:
    """Return the stages to run: from the one after (or, to canonicalize, with) the language."""
    language = order.language
    start = names.index(language) + (not order.canonicalize) if language in names else 0
    stop = order.stop_after or names[-1]
    end = names.index(stop) + 1 if stop in names else start
    return names[start : max(start, end)]


def _failure(stage: str, error: Exception, located: Sequence[Diagnostic] = ()) -> Failure:
    words = str(error).strip() or type(error).__name__
    message = f"lowering to {stage} failed: {words}"
    shown = stage if stage in mlir_log.STAGES else "ttgir"
    slug = "assembler_failed" if stage == "hsaco" else "lowering_failed"
    return Failure(slug, stage, message, located or [diagnostic("error", shown, message)])

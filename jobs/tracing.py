"""Spans of OpenTelemetry: one trace from a request to its answer, through the queue and a worker.

Off unless OpenTelemetry's own variables name an endpoint; then the extra `otel` must be installed.
A job carries `traceparent` (W3C), so its worker goes on with the trace of the request that made it.
Children know nothing of it: spans of their stages are made here, of the times they report.
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_HEADER: Final = "traceparent"
_NS_PER_S: Final = 1_000_000_000

Tracer = Any
"""Of OpenTelemetry, whose types are there only where it is installed."""
_TRACER: ContextVar[Tracer | None] = ContextVar("tracer", default=None)


class TracingMissing(Exception):
    """The environment asks for traces, and OpenTelemetry is not installed."""


def start(part: str) -> None:
    """Export spans of this process, a `part` of tritond, if the environment names an endpoint.

    Call it before the event loop starts: tasks know the tracer by their context. Raises
    TracingMissing.
    """
    named = next((name for name in ENDPOINTS if os.environ.get(name)), None)
    if named is None:
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise TracingMissing(
            f"{named} is set, but OpenTelemetry is not installed; "
            "run `pip install 'tritond[otel]'`, or unset it"
        ) from None
    provider = TracerProvider(resource=Resource.create({"service.name": f"tritond-{part}"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    _TRACER.set(provider.get_tracer("tritond"))


def is_on() -> bool:
    """Return True if this process exports spans."""
    return _TRACER.get() is not None


def traceparent() -> str:
    """Return the header that names the span of this task; "" where there is none."""
    if _TRACER.get() is None:
        return ""
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return carrier.get(_HEADER, "")


@contextmanager
def span(
    name: str, attributes: Mapping[str, Any], parent: str | None = None, *, of_server: bool = False
) -> Iterator[Any]:
    """Trace the block, as a part of this task's span, or of the one that the header `parent` names.

    Yields the span, None where tracing is off.
    """
    tracer = _TRACER.get()
    if tracer is None:
        yield None
        return
    from opentelemetry.trace import SpanKind

    kind = SpanKind.SERVER if of_server else SpanKind.INTERNAL
    context = None if parent is None else _context_of(parent)
    with tracer.start_as_current_span(
        name, context=context, kind=kind, attributes=dict(attributes)
    ) as started:
        yield started


def past_span(name: str, began_s: float, ended_s: float, parent: str | None = None) -> None:
    """Trace what is over, by its times in seconds since 1970."""
    tracer = _TRACER.get()
    if tracer is None:
        return
    context = None if parent is None else _context_of(parent)
    past = tracer.start_span(name, context=context, start_time=int(began_s * _NS_PER_S))
    past.end(int(max(began_s, ended_s) * _NS_PER_S))


def past_steps(times_ms: Mapping[str, float]) -> None:
    """Trace steps that followed one another until now, by the times they took."""
    if _TRACER.get() is None:
        return
    ended_s = time.time()
    began_s = ended_s - sum(times_ms.values()) / 1000
    for name, ms in times_ms.items():
        past_span(name, began_s, began_s + ms / 1000)
        began_s += ms / 1000


def _context_of(header: str) -> Any:
    from opentelemetry.context import Context
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    # an empty or hostile header does not count: the span begins a trace
    return TraceContextTextMapPropagator().extract({_HEADER: header}, Context())

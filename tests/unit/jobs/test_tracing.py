"""Tracing is off unless an endpoint is named, and then reports what is missing."""

import pytest

from jobs import tracing


def test_without_an_endpoint_there_are_no_spans(monkeypatch: pytest.MonkeyPatch):
    for name in tracing.ENDPOINTS:
        monkeypatch.delenv(name, raising=False)
    tracing.start("service")

    assert not tracing.is_on()
    assert tracing.traceparent() == ""
    with tracing.span("attempt", {}, "00-hostile") as span:
        assert span is None
    tracing.past_steps({"ptx": 1.0})


@pytest.mark.parametrize("name", tracing.ENDPOINTS)
def test_an_endpoint_without_opentelemetry_is_refused(monkeypatch: pytest.MonkeyPatch, name: str):
    monkeypatch.setenv(name, "http://127.0.0.1:4318")

    with pytest.raises(tracing.TracingMissing, match=r"pip install 'tritond\[otel\]'"):
        tracing.start("service")
